package db

import (
	"context"
	"time"
)

// PurgeEvents does what a running poller does now and then.
func (d *DB) PurgeEvents(ctx context.Context) error {
	s := d.engine.(*sqliteStore)
	conn, err := s.read.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	p := &poller{store: s, conn: conn}
	if err := p.catchUp(ctx); err != nil {
		return err
	}
	p.purge(ctx)
	return nil
}

// SetBatchTime is for the function of a Write: the writer waits for that.
func (d *DB) SetBatchTime(limit time.Duration) { d.engine.(*sqliteStore).writer.limit = limit }

package db

import "context"

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

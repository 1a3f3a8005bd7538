package db

import (
	"context"
	"reflect"
	"runtime"
)

// Write runs fn in one transaction. When it returns nil the changes are durable and visible to every
// reader, and the AfterCommit hooks and this node's subscribers have run; when it returns an error
// nothing was written, except that a connection lost during the commit leaves the outcome unknown.
// A conflict with another writer runs fn again, so fn must set its results rather than add to them.
// A panic in fn undoes the transaction and goes on to the caller. Writes do not nest.
func (d *DB) Write(ctx context.Context, fn func(tx Tx) error) error {
	if insideWrite() {
		panic("db: Write was called inside Write: use the Tx at hand")
	}
	if err := d.enter(); err != nil {
		return err
	}
	defer d.writing.Done()
	t, err := d.engine.write(ctx, witnessed(ctx, fn))
	if err != nil {
		if t != nil { // the commit may have happened: what was remembered of it must go
			d.tell(t)
		}
		return err
	}
	d.committed(t)
	return nil
}

type witnessKey struct{}

// WithWitness has fn run at the end of every transaction that Write makes under the context: for a
// record that must exist if and only if something was written.
func WithWitness(ctx context.Context, fn func(tx Tx) error) context.Context {
	return context.WithValue(ctx, witnessKey{}, fn)
}

func witnessed(ctx context.Context, fn func(tx Tx) error) func(tx Tx) error {
	witness, ok := ctx.Value(witnessKey{}).(func(tx Tx) error)
	if !ok {
		return fn
	}
	return func(tx Tx) error {
		if err := fn(tx); err != nil {
			return err
		}
		return witness(tx)
	}
}

// committed runs what was waiting for the commit: hooks first, then subscribers.
func (d *DB) committed(t *tx) {
	for _, fn := range t.hooks {
		d.hub.guard("hook", fn)
	}
	d.tell(t)
}

func (d *DB) tell(t *tx) {
	for _, e := range t.events {
		d.hub.tell(e)
	}
}

// call is the one frame under which every fn runs; insideWrite looks for it.
//
//go:noinline
func call(fn func(Tx) error, t *tx) error { return fn(t) }

var callEntry = reflect.ValueOf(call).Pointer()

// insideWrite reports whether the caller runs in an fn. On SQLite it would wait for its own end, so
// it is worth a microsecond to say so at once, and the same on both databases.
func insideWrite() bool {
	var frames [40]uintptr
	for _, pc := range frames[:runtime.Callers(3, frames[:])] {
		if f := runtime.FuncForPC(pc - 1); f != nil && f.Entry() == callEntry {
			return true
		}
	}
	return false
}

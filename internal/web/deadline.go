package web

import (
	"context"
	"sync/atomic"
	"time"
)

// deadlineContext ends at an instant like that of context.WithDeadline, but starts a timer only once
// somebody waits for the end. Most requests are answered from memory, and for those the timer would be
// a tenth of the work.
type deadlineContext struct {
	context.Context
	at    time.Time
	armed atomic.Pointer[armedDeadline]
}

type armedDeadline struct {
	context.Context
	cancel context.CancelFunc
}

func withDeadline(parent context.Context, at time.Time) *deadlineContext {
	return &deadlineContext{Context: parent, at: at}
}

// arm makes the context that others can wait for.
func (d *deadlineContext) arm() *armedDeadline {
	if armed := d.armed.Load(); armed != nil {
		return armed
	}
	ctx, cancel := context.WithDeadline(d.Context, d.at)
	armed := &armedDeadline{ctx, cancel}
	if !d.armed.CompareAndSwap(nil, armed) {
		cancel()
		return d.armed.Load()
	}
	return armed
}

// cancel frees the timer, if there is one, and ends what still waits.
func (d *deadlineContext) cancel() {
	if armed := d.armed.Load(); armed != nil {
		armed.cancel()
	}
}

// Deadline is the instant, or that of the parent where it comes first.
func (d *deadlineContext) Deadline() (time.Time, bool) {
	if at, ok := d.Context.Deadline(); ok && at.Before(d.at) {
		return at, true
	}
	return d.at, true
}

// Done starts the timer.
func (d *deadlineContext) Done() <-chan struct{} { return d.arm().Done() }

// Err tells whether the end has come, whether or not somebody waits for it.
func (d *deadlineContext) Err() error {
	if armed := d.armed.Load(); armed != nil {
		return armed.Err()
	}
	if err := d.Context.Err(); err != nil {
		return err
	}
	if !time.Now().Before(d.at) {
		return d.arm().Err()
	}
	return nil
}

// Value lets package context find the armed one, so that contexts made from this one hang on it
// without a goroutine in between.
func (d *deadlineContext) Value(key any) any {
	if armed := d.armed.Load(); armed != nil {
		return armed.Value(key)
	}
	return d.Context.Value(key)
}

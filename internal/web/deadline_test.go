package web

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"
)

func TestADeadlineEndsWhetherOrNotSomebodyWaits(t *testing.T) {
	past := withDeadline(t.Context(), time.Now().Add(-time.Second))
	if !errors.Is(past.Err(), context.DeadlineExceeded) {
		t.Errorf("the error is %v", past.Err())
	}
	<-past.Done()

	soon := withDeadline(t.Context(), time.Now().Add(time.Millisecond))
	<-soon.Done()
	wantEqual(t, "error", soon.Err(), context.DeadlineExceeded)
}

func TestADeadlineFollowsItsParent(t *testing.T) {
	parent, leave := context.WithCancel(context.WithValue(t.Context(), clock{}, "kept"))
	idle, waiting := withDeadline(parent, time.Now().Add(time.Hour)), withDeadline(parent, time.Now().Add(time.Hour))
	done := waiting.Done()
	wantEqual(t, "error", waiting.Err(), nil)
	leave()
	<-done
	wantEqual(t, "error of who waits", waiting.Err(), context.Canceled)
	wantEqual(t, "error of who does not", idle.Err(), context.Canceled)
	wantEqual(t, "value", waiting.Value(clock{}), any("kept"))
	wantEqual(t, "value", idle.Value(clock{}), any("kept"))

	near, cancel := context.WithDeadline(t.Context(), time.Now().Add(time.Minute))
	defer cancel()
	at, _ := withDeadline(near, time.Now().Add(time.Hour)).Deadline()
	nearest, _ := near.Deadline()
	wantEqual(t, "deadline", at, nearest)
}

func TestContextsOfADeadlineNeedNoGoroutine(t *testing.T) {
	d := withDeadline(t.Context(), time.Now().Add(time.Hour))
	before := runtime.NumGoroutine()
	for range 100 {
		_, cancel := context.WithCancel(d)
		defer cancel()
	}
	if grown := runtime.NumGoroutine() - before; grown > 10 {
		t.Errorf("%d goroutines watch the deadline", grown)
	}
	child, cancel := context.WithCancel(d)
	defer cancel()
	d.cancel()
	<-child.Done()
}

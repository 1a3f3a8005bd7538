package api

import (
	"time"

	"steward/internal/db"
	"steward/internal/web"
)

// done answers a call that has nothing to show.
func done(err error) (*web.Reply[web.None], error) {
	if err != nil {
		return nil, err
	}
	return web.Done(""), nil
}

func optionalTime(t *db.Time) *time.Time {
	if t == nil {
		return nil
	}
	return &t.Time
}

// given is the value of an optional field, or zero where it was left out or null.
func given[T any](value *T) T {
	if value == nil {
		var zero T
		return zero
	}
	return *value
}

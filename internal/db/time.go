package db

import (
	"database/sql/driver"
	"fmt"
	"time"
)

// timeLayout has a fixed width, so that instants stored as text sort as instants.
const timeLayout = "2006-01-02T15:04:05.000000Z"

// Time is an instant as both databases keep it: UTC, in microseconds. It is text in SQLite and
// TIMESTAMPTZ in PostgreSQL, and RFC 3339 with Z in JSON.
type Time struct{ time.Time }

// At makes a Time of t, cut to what the databases keep.
func At(t time.Time) Time { return Time{t.UTC().Truncate(time.Microsecond)} }

// Value implements driver.Valuer.
func (t Time) Value() (driver.Value, error) { return t.UTC().Format(timeLayout), nil }

// Scan implements sql.Scanner.
func (t *Time) Scan(src any) error {
	switch v := src.(type) {
	case time.Time:
		t.Time = v.UTC()
		return nil
	case string:
		parsed, err := time.Parse(time.RFC3339Nano, v)
		if err != nil {
			return fmt.Errorf("scan time: %w", err)
		}
		t.Time = parsed.UTC()
		return nil
	default:
		return fmt.Errorf("scan time: cannot read %T", src)
	}
}

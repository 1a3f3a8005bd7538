package db_test

import (
	"database/sql"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"steward/internal/db"
	"steward/internal/db/dbtest"
)

const valuesTable = `CREATE TABLE kinds (
	id UUID PRIMARY KEY, flag BOOLEAN NOT NULL, at TIMESTAMPTZ NOT NULL, maybe_at TIMESTAMPTZ,
	maybe_id UUID, text TEXT NOT NULL, maybe_text TEXT, small INTEGER NOT NULL, large BIGINT NOT NULL)`

type values struct {
	ID        uuid.UUID  `db:"id"`
	Flag      bool       `db:"flag"`
	At        db.Time    `db:"at"`
	MaybeAt   *db.Time   `db:"maybe_at"`
	MaybeID   *uuid.UUID `db:"maybe_id"`
	Text      string     `db:"text"`
	MaybeText *string    `db:"maybe_text"`
	Small     int        `db:"small"`
	Large     int64      `db:"large"`
}

func (v values) insert(t *testing.T, tx db.Tx) error {
	_, err := tx.Exec(t.Context(), `INSERT INTO kinds VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
		v.ID, v.Flag, v.At, v.MaybeAt, v.MaybeID, v.Text, v.MaybeText, v.Small, v.Large)
	return err
}

func TestValuesComeBackAsTheyWere(t *testing.T) {
	now, id, text := db.At(time.Now()), uuid.New(), "text"
	first := db.At(time.Date(1969, 7, 20, 20, 17, 40, 0, time.UTC))
	rows := map[string]values{
		"all set":        {ID: uuid.New(), Flag: true, At: now, MaybeAt: &first, MaybeID: &id, Text: "ünï'\"\n\tcödé 日本", MaybeText: &text, Small: 1 << 30, Large: 1 << 62},
		"null and empty": {ID: uuid.New(), At: first},
		"negative":       {ID: uuid.Nil, At: db.At(time.Date(9999, 12, 31, 23, 59, 59, 999999000, time.UTC)), Text: "-1", Small: -5, Large: -1 << 62},
	}
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		must(t, d.Write(t.Context(), exec(valuesTable)))
		for name, want := range rows {
			must(t, d.Write(t.Context(), func(tx db.Tx) error { return want.insert(t, tx) }))
			got, err := db.One[values](t.Context(), d, `SELECT * FROM kinds WHERE id = $1`, want.ID)
			must(t, err)
			wantSame(t, name, got, want)
			// A condition on each finds it again.
			n, err := db.One[int](t.Context(), d, `SELECT COUNT(*) FROM kinds WHERE id = $1 AND flag = $2 AND at = $3 AND text = $4 AND large = $5`,
				want.ID, want.Flag, want.At, want.Text, want.Large)
			must(t, err)
			if n != 1 {
				t.Errorf("%s: %d rows match their own values", name, n)
			}
		}
	})
}

func wantSame(t *testing.T, name string, got, want values) {
	t.Helper()
	if got.ID != want.ID || got.Flag != want.Flag || !got.At.Equal(want.At.Time) || got.At.Location() != time.UTC ||
		got.Text != want.Text || got.Small != want.Small || got.Large != want.Large {
		t.Errorf("%s: got %+v, want %+v", name, got, want)
	}
	same := func(a, b bool) bool { return a == b }
	if !same(got.MaybeAt == nil, want.MaybeAt == nil) || got.MaybeAt != nil && !got.MaybeAt.Equal(want.MaybeAt.Time) ||
		!same(got.MaybeID == nil, want.MaybeID == nil) || got.MaybeID != nil && *got.MaybeID != *want.MaybeID ||
		!same(got.MaybeText == nil, want.MaybeText == nil) || got.MaybeText != nil && *got.MaybeText != *want.MaybeText {
		t.Errorf("%s: got %+v, want %+v", name, got, want)
	}
}

func TestInstantsSortAsInstants(t *testing.T) {
	base := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	instants := []time.Time{
		base.Add(-24 * time.Hour), base, base.Add(time.Microsecond), base.Add(100 * time.Millisecond),
		base.Add(999999 * time.Microsecond), base.Add(time.Second), base.AddDate(0, 0, 30), base.AddDate(7000, 0, 0),
	}
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		must(t, d.Write(t.Context(), func(tx db.Tx) error {
			must(t, exec(valuesTable)(tx))
			for i, at := range instants {
				v := values{ID: uuid.New(), At: db.At(at.In(time.FixedZone("east", 5*3600))), Small: i}
				if i%2 == 0 { // a bare time.Time is as good
					_, err := tx.Exec(t.Context(), `INSERT INTO kinds (id, flag, at, text, small, large) VALUES ($1, $2, $3, '', $4, 0)`,
						v.ID, true, at.In(time.FixedZone("west", -5*3600)), i)
					must(t, err)
					continue
				}
				must(t, v.insert(t, tx))
			}
			return nil
		}))
		order, err := db.All[int](t.Context(), d, `SELECT small FROM kinds ORDER BY at`)
		must(t, err)
		if want := []int{0, 1, 2, 3, 4, 5, 6, 7}; !slices.Equal(order, want) {
			t.Errorf("sorted %v", order)
		}
		before, err := db.One[int](t.Context(), d, `SELECT COUNT(*) FROM kinds WHERE at < $1`, db.At(instants[3]))
		must(t, err)
		if before != 3 {
			t.Errorf("%d are before the fourth", before)
		}
		latest, err := db.One[db.Time](t.Context(), d, `SELECT MAX(at) FROM kinds`)
		must(t, err)
		if !latest.Equal(instants[7]) {
			t.Errorf("the latest is %s", latest)
		}
	})
}

func TestOneAndAll(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ctx := t.Context()
		if _, err := db.One[string](ctx, d, `SELECT name FROM apps`); !errors.Is(err, sql.ErrNoRows) {
			t.Errorf("One of no row: %v", err)
		}
		if none, err := db.All[string](ctx, d, `SELECT name FROM apps`); err != nil || none == nil || len(none) != 0 {
			t.Errorf("All of no row: %v, %v", none, err)
		}
		must(t, writeNamed(ctx, d, "a"))
		must(t, writeNamed(ctx, d, "b"))
		if all, err := db.All[string](ctx, d, `SELECT name FROM apps ORDER BY name`); err != nil || !slices.Equal(all, []string{"a", "b"}) {
			t.Errorf("All: %v, %v", all, err)
		}
		if _, err := db.One[string](ctx, d, `SELECT name FROM apps`); err == nil {
			t.Error("One of two rows was accepted")
		}
		type small struct {
			Name string `db:"name"`
		}
		if _, err := db.All[small](ctx, d, `SELECT name, id FROM apps`); err == nil {
			t.Error("a column without a field was accepted")
		}
		if _, err := db.All[small](ctx, d, `SELECT nothing FROM apps`); err == nil {
			t.Error("a column that does not exist was accepted")
		}
		must(t, d.Write(ctx, func(tx db.Tx) error {
			id, err := db.One[uuid.UUID](ctx, tx, `UPDATE apps SET description = 'x' WHERE name = $1 RETURNING id`, "a")
			if id == uuid.Nil {
				t.Error("RETURNING gave no id")
			}
			return err
		}))
	})
}

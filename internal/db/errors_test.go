package db_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"

	"steward/internal/db"
	"steward/internal/db/dbtest"
)

var kinds = map[string]func(error) bool{
	"unique": db.IsUnique, "foreign key": db.IsForeignKey, "busy": db.IsBusy,
	"serialisation": db.IsSerialisation, "unavailable": db.IsUnavailable,
}

// wantKind checks that err, also wrapped, is of one kind and of no other; "" is of none.
func wantKind(t *testing.T, err error, want string) {
	t.Helper()
	for name, is := range kinds {
		if got := is(fmt.Errorf("wrapped: %w", err)); got != (name == want) {
			t.Errorf("%v: is %s = %v", err, name, got)
		}
	}
}

func TestEveryErrorHasItsKind(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ctx := t.Context()
		tenant, child := uuid.Must(uuid.NewV7()), uuid.Must(uuid.NewV7())
		insertTenant := func(id uuid.UUID, key string, parent *uuid.UUID) func(db.Tx) error {
			return func(tx db.Tx) error {
				now := db.At(time.Now())
				_, err := tx.Exec(ctx, `INSERT INTO tenants (id, name, identifier, identifier_key, parent_id, created_at, updated_at)
					VALUES ($1, 'Name', $2, $2, $3, $4, $4)`, id, key, parent, now)
				return err
			}
		}
		missing := uuid.Must(uuid.NewV7())
		must(t, d.Write(ctx, insertTenant(tenant, "first", nil)))
		must(t, d.Write(ctx, insertTenant(child, "second", &tenant)))
		for _, c := range []struct {
			name, kind string
			do         func(db.Tx) error
		}{
			{"a primary key twice", "unique", insertTenant(tenant, "third", nil)},
			{"a unique index twice", "unique", insertTenant(missing, "first", nil)},
			{"a parent that is missing", "foreign key", insertTenant(uuid.New(), "fourth", &missing)},
			{"a parent that is needed", "foreign key", func(tx db.Tx) error {
				_, err := tx.Exec(ctx, `DELETE FROM tenants WHERE id = $1`, tenant)
				return err
			}},
			{"a column that may not be null", "", exec(`INSERT INTO tenants (id) VALUES (NULL)`)},
			{"a sentence that is not SQL", "", exec(`INSRT`)},
			{"an error of the caller", "", func(db.Tx) error { return errRefused }},
		} {
			t.Run(c.name, func(t *testing.T) { wantKind(t, d.Write(ctx, c.do), c.kind) })
		}
	})
}

func TestErrorsThatAreOfNoKind(t *testing.T) {
	for _, err := range []error{nil, sql.ErrNoRows, context.Canceled, context.DeadlineExceeded, errors.New("other")} {
		wantKind(t, err, "")
	}
	wantKind(t, db.ErrClosed, "unavailable")
}

func TestALockThatIsNotToBeHadIsBusy(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		dir := t.TempDir()
		d := open(t, db.Options{DataDir: dir})
		impatient, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "steward.db")+"?_busy_timeout=0")
		must(t, err)
		defer impatient.Close()
		must(t, d.Write(t.Context(), func(db.Tx) error {
			_, err := impatient.Exec("BEGIN IMMEDIATE")
			wantKind(t, err, "busy")
			return nil
		}))
	})
	t.Run("postgres", func(t *testing.T) {
		d := openPostgres(t)
		must(t, writeNamed(t.Context(), d, "row"))
		const lock = `SELECT id FROM apps FOR UPDATE NOWAIT`
		held, release, done := make(chan struct{}), make(chan struct{}), make(chan error)
		go func() {
			done <- d.Write(t.Context(), func(tx db.Tx) error {
				err := exec(lock)(tx)
				close(held)
				<-release
				return err
			})
		}()
		<-held
		wantKind(t, d.Write(t.Context(), exec(lock)), "busy")
		close(release)
		must(t, <-done)
	})
}

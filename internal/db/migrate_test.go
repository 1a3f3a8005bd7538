package db_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"steward/internal/db"
	"steward/internal/db/dbtest"
)

func TestAFreshStoreIsMigratedOnceAndSaysSo(t *testing.T) {
	dbtest.EachEmpty(t, func(t *testing.T, o db.Options) {
		d, err := db.Open(t.Context(), o)
		must(t, err)
		defer d.Close()
		must(t, d.Ping(t.Context()))
		if err := d.Migrated(t.Context()); !errors.Is(err, db.ErrNotMigrated) {
			t.Errorf("an empty store is %v", err)
		}
		must(t, d.Migrate(t.Context()))
		must(t, d.Migrated(t.Context()))
		must(t, d.Migrate(t.Context()))
		must(t, writeNamed(t.Context(), d, "row"))
	})
}

func TestManyNodesMayMigrateAtOnce(t *testing.T) {
	dbtest.EachEmpty(t, func(t *testing.T, o db.Options) {
		var wait sync.WaitGroup
		for range 8 {
			wait.Go(func() {
				d, err := db.Open(t.Context(), o)
				if err != nil {
					t.Error(err)
					return
				}
				defer d.Close()
				if err := errors.Join(d.Migrate(t.Context()), d.Migrated(t.Context()), writeNamed(t.Context(), d, "row")); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		wantCount(t, open(t, o), "row", 8)
	})
}

func TestAStoreOfANewerProgramIsRefused(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		must(t, d.Write(t.Context(), exec(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, TRUE)`)))
		for name, err := range map[string]error{"Migrated": d.Migrated(t.Context()), "Migrate": d.Migrate(t.Context())} {
			if err == nil || !strings.Contains(err.Error(), "newer program") {
				t.Errorf("%s returned %v", name, err)
			}
		}
	})
}

func TestTheDatabaseURLIsChecked(t *testing.T) {
	for _, url := range []string{"mysql://localhost/x", "steward.db", "postgres://user:secret@host:port/x"} {
		_, err := db.Open(t.Context(), db.Options{URL: url, DataDir: t.TempDir()})
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

package db_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"steward/internal/db"
)

const raiseConflict = `DO $$ BEGIN RAISE EXCEPTION 'conflict' USING ERRCODE = '40001'; END $$`

func TestConflictsAreTriedAgain(t *testing.T) {
	d := openPostgres(t)
	attempts := 0
	must(t, d.Write(t.Context(), func(tx db.Tx) error {
		tx.AfterCommit(func() { attempts += 100 })
		must(t, insertNamed(t.Context(), tx, "row"))
		if attempts++; attempts < 3 {
			return exec(raiseConflict)(tx)
		}
		return nil
	}))
	if attempts != 103 { // three attempts, and the hook of the last alone
		t.Errorf("attempts and hooks: %d", attempts)
	}
	if s := d.Stats(); s.Retries != 2 || s.Writes != 1 {
		t.Errorf("stats: %+v", s)
	}
	wantCount(t, d, "row", 1)
}

func TestConflictsAreNotTriedForEver(t *testing.T) {
	d := openPostgres(t)
	attempts := 0
	err := d.Write(t.Context(), func(tx db.Tx) error {
		attempts++
		return exec(raiseConflict)(tx)
	})
	if !db.IsSerialisation(err) || attempts != 10 {
		t.Errorf("%d attempts, then %v", attempts, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err = d.Write(ctx, func(tx db.Tx) error {
		defer cancel()
		return exec(raiseConflict)(tx)
	})
	if !db.IsSerialisation(err) {
		t.Errorf("cancelled between two attempts: %v", err)
	}
}

func TestADeadlockEndsWell(t *testing.T) {
	d := openPostgres(t)
	must(t, writeNamed(t.Context(), d, "a"))
	must(t, writeNamed(t.Context(), d, "b"))
	const update = `UPDATE apps SET description = description || 'x' WHERE name = $1`
	var met, wait sync.WaitGroup
	met.Add(2)
	for _, order := range [][2]string{{"a", "b"}, {"b", "a"}} {
		var first sync.Once
		wait.Go(func() {
			err := d.Write(t.Context(), func(tx db.Tx) error {
				if _, err := tx.Exec(t.Context(), update, order[0]); err != nil {
					return err
				}
				first.Do(met.Done)
				met.Wait() // both hold what the other wants
				_, err := tx.Exec(t.Context(), update, order[1])
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	n, err := db.One[int](t.Context(), d, `SELECT COUNT(*) FROM apps WHERE description = 'xx'`)
	must(t, err)
	if n != 2 {
		t.Errorf("%d rows have both updates, want 2", n)
	}
}

func TestAListenerThatLostItsConnectionResyncsAndHearsAgain(t *testing.T) {
	d := openPostgres(t)
	resynced := make(chan bool, 10)
	d.OnResync(func() { resynced <- d.Listening() })
	heard := ear(d, "topic")
	must(t, d.Start(t.Context()))
	must(t, d.Write(t.Context(), func(tx db.Tx) error {
		n, err := db.One[int](t.Context(), tx, `SELECT COUNT(pg_terminate_backend(pid)) FROM pg_stat_activity
			WHERE datname = current_database() AND query LIKE 'LISTEN %'`)
		if n != 1 {
			t.Errorf("%d listeners were ended, want 1", n)
		}
		return err
	}))
	select {
	case listening := <-resynced:
		if listening {
			t.Error("what was remembered counted again before it was dropped")
		}
	case <-time.After(20 * time.Second):
		t.Fatal("no resync")
	}
	// Another node, by hand.
	must(t, d.Write(t.Context(), exec(`SELECT pg_notify('steward', 'another topic and payload')`)))
	hear(t, heard, "and payload")
}

func TestALostServerIsUnavailable(t *testing.T) {
	_, err := db.Open(t.Context(), db.Options{URL: "postgres://nobody:secret@127.0.0.1:1/none"})
	if !db.IsUnavailable(err) || strings.Contains(err.Error(), "secret") {
		t.Errorf("no server: %v", err)
	}
	d := openPostgres(t)
	err = d.Write(t.Context(), exec(`SELECT pg_terminate_backend(pg_backend_pid())`))
	if !db.IsUnavailable(err) {
		t.Errorf("a connection lost in a transaction: %v", err)
	}
	must(t, writeNamed(t.Context(), d, "after"))
}

func TestAWaitForAConnectionEndsWithItsContext(t *testing.T) {
	d := openPostgres(t)
	held, release := make(chan struct{}, 100), make(chan struct{})
	var wait sync.WaitGroup
	for range d.Stats().Write.Max {
		wait.Go(func() {
			d.Write(t.Context(), func(db.Tx) error { held <- struct{}{}; <-release; return nil })
		})
	}
	eventually(t, 20*time.Second, "all connections are taken", func() bool { return len(held) == d.Stats().Write.Max })
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error)
	go func() { left <- writeNamed(ctx, d, "row") }()
	eventually(t, 20*time.Second, "one waits", func() bool { return d.Stats().Write.Waits > 0 })
	// Reads have connections of their own.
	wantCount(t, d, "row", 0)
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("returned %v", err)
	}
	close(release)
	wait.Wait()
}

func TestPostgresIsBackedUpWithItsOwnTools(t *testing.T) {
	err := openPostgres(t).Backup(t.Context(), "unused")
	if err == nil || !strings.Contains(err.Error(), "pg_dump") {
		t.Errorf("Backup returned %v", err)
	}
}

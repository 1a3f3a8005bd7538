package db_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"steward/internal/db"
	"steward/internal/db/dbtest"
)

var errRefused = errors.New("refused by the test")

func TestWriteIsAllOrNothing(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ctx := t.Context()
		must(t, writeNamed(ctx, d, "kept"))
		err := d.Write(ctx, func(tx db.Tx) error {
			must(t, insertNamed(ctx, tx, "undone"))
			wantCount(t, tx, "undone", 1)
			return errRefused
		})
		if !errors.Is(err, errRefused) {
			t.Errorf("Write returned %v, want the error of its function", err)
		}
		wantCount(t, d, "kept", 1)
		wantCount(t, d, "undone", 0)
	})
}

func TestReadersSeeEveryWriteThatReturned(t *testing.T) {
	dbtest.TwoNodes(t, func(t *testing.T, a, b *db.DB) {
		for i := range 50 {
			must(t, writeNamed(t.Context(), a, "row"))
			wantCount(t, a, "row", i+1)
			wantCount(t, b, "row", i+1)
		}
	})
}

func TestTheReadPoolRefusesToWrite(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		if _, err := d.Exec(t.Context(), `DELETE FROM apps`); err == nil {
			t.Error("Exec outside of Write was let through")
		}
		rows, err := d.Query(t.Context(), `DELETE FROM apps RETURNING id`)
		if err == nil {
			rows.Close()
			t.Error("a Query that deletes was let through")
		}
	})
}

func TestPanicUndoesTheTransactionAndReachesTheCaller(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ctx := t.Context()
		func() {
			defer func() {
				if p := recover(); p != "as expected" {
					t.Errorf("recovered %v", p)
				}
			}()
			d.Write(ctx, func(tx db.Tx) error {
				must(t, insertNamed(ctx, tx, "undone"))
				panic("as expected")
			})
		}()
		must(t, writeNamed(ctx, d, "after"))
		wantCount(t, d, "undone", 0)
		wantCount(t, d, "after", 1)
	})
}

func TestEndOfTheGoroutineUndoesTheTransaction(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ctx := t.Context()
		var wait sync.WaitGroup
		wait.Go(func() {
			d.Write(ctx, func(tx db.Tx) error {
				must(t, insertNamed(ctx, tx, "undone"))
				runtime.Goexit() // as t.Fatal does
				return nil
			})
		})
		wait.Wait()
		must(t, writeNamed(ctx, d, "after"))
		wantCount(t, d, "undone", 0)
	})
}

func TestWriteInsideWriteIsRefusedAtOnce(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		defer func() {
			if p := fmt.Sprint(recover()); !strings.Contains(p, "inside Write") {
				t.Errorf("recovered %v", p)
			}
		}()
		d.Write(t.Context(), func(db.Tx) error { return writeNamed(t.Context(), d, "nested") })
	})
}

func TestTxIsOfNoUseAfterItsWrite(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ctx := t.Context()
		var leaked db.Tx
		must(t, d.Write(ctx, func(tx db.Tx) error { leaked = tx; return nil }))
		_, err := leaked.Exec(ctx, `DELETE FROM apps`)
		_, queryErr := leaked.Query(ctx, `SELECT 1`)
		rowErr := leaked.QueryRow(ctx, `SELECT 1`).Scan(new(int))
		for _, err := range []error{err, queryErr, rowErr} {
			if !errors.Is(err, sql.ErrTxDone) {
				t.Errorf("a statement on a finished Tx returned %v", err)
			}
		}
		must(t, writeNamed(ctx, d, "after"))
	})
}

func TestRowsOfAStatementMustBeClosedBeforeTheNext(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ctx := t.Context()
		must(t, writeNamed(ctx, d, "one"))
		must(t, writeNamed(ctx, d, "two"))
		err := d.Write(ctx, func(tx db.Tx) error {
			rows, err := tx.Query(ctx, `SELECT name FROM apps`)
			must(t, err)
			defer rows.Close()
			rows.Next()
			return insertNamed(ctx, tx, "between")
		})
		if err == nil {
			t.Error("a statement ran while the rows of another were open")
		}
		wantCount(t, d, "between", 0)
	})
}

func TestRowsLeftOpenDoNotHarmTheNextWrite(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ctx := t.Context()
		must(t, writeNamed(ctx, d, "one"))
		must(t, writeNamed(ctx, d, "two"))
		var left *sql.Rows
		must(t, d.Write(ctx, func(tx db.Tx) (err error) {
			left, err = tx.Query(ctx, `UPDATE apps SET description = 'seen' RETURNING name`)
			left.Next()
			return err
		}))
		must(t, d.Write(ctx, func(tx db.Tx) error {
			tx.QueryRow(ctx, `SELECT name FROM apps`) // and never scanned
			return nil
		}))
		must(t, writeNamed(ctx, d, "after"))
		if left.Next() {
			t.Error("rows outlived their transaction")
		}
		wantCount(t, d, "after", 1)
	})
}

func TestHooksRunInOrderAfterTheCommit(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ctx := t.Context()
		var order []string
		d.Subscribe("order", func(payload string) { order = append(order, payload) })
		must(t, d.Write(ctx, func(tx db.Tx) error {
			must(t, tx.Notify(ctx, "order", "subscriber"))
			tx.AfterCommit(func() {
				wantCount(t, d, "row", 1)
				order = append(order, "first")
			})
			tx.AfterCommit(func() { panic("one hook must not stop the others") })
			tx.AfterCommit(func() {
				must(t, writeNamed(ctx, d, "by a hook"))
				order = append(order, "last")
			})
			return insertNamed(ctx, tx, "row")
		}))
		if want := []string{"first", "last", "subscriber"}; !slices.Equal(order, want) {
			t.Errorf("order %v, want %v", order, want)
		}
		wantCount(t, d, "by a hook", 1)
	})
}

func TestHooksOfAFailedWriteNeverRun(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ctx := t.Context()
		d.Subscribe("topic", func(string) { t.Error("a subscriber heard of a failed write") })
		err := d.Write(ctx, func(tx db.Tx) error {
			tx.AfterCommit(func() { t.Error("a hook of a failed write ran") })
			must(t, tx.Notify(ctx, "topic", "payload"))
			return errRefused
		})
		if !errors.Is(err, errRefused) {
			t.Error(err)
		}
	})
}

func TestCancelledCallers(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		t.Run("before the call are not run", func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			err := d.Write(ctx, func(db.Tx) error { t.Error("it ran"); return nil })
			if !errors.Is(err, context.Canceled) {
				t.Errorf("returned %v", err)
			}
		})
		t.Run("between two statements write nothing", func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			err := d.Write(ctx, func(tx db.Tx) error {
				must(t, insertNamed(ctx, tx, "undone"))
				cancel()
				return insertNamed(ctx, tx, "undone")
			})
			if !errors.Is(err, context.Canceled) {
				t.Errorf("returned %v", err)
			}
			wantCount(t, d, "undone", 0)
		})
		t.Run("leave readers alone", func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := db.All[int](ctx, d, `SELECT 1`); !errors.Is(err, context.Canceled) {
				t.Errorf("a cancelled read returned %v", err)
			}
			wantCount(t, d, "undone", 0)
		})
	})
}

func TestTenThousandWritersAtOnce(t *testing.T) {
	const writers = 10_000
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		begin := time.Now()
		var wait sync.WaitGroup
		for range writers {
			wait.Go(func() {
				if err := writeNamed(t.Context(), d, "row"); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		wantCount(t, d, "row", writers)
		s := d.Stats()
		t.Logf("%.0f writes/s, %.1f writes a commit", writers/time.Since(begin).Seconds(), float64(s.Writes)/float64(s.Commits))
	})
}

func TestCloseLetsBegunWritesFinishAndRefusesOthers(t *testing.T) {
	dbtest.EachEmpty(t, func(t *testing.T, o db.Options) {
		d := open(t, o)
		must(t, d.Start(t.Context()))
		var mu sync.Mutex
		acknowledged := 0
		var wait sync.WaitGroup
		for range 8 {
			wait.Go(func() {
				for {
					err := writeNamed(context.Background(), d, "row")
					if errors.Is(err, db.ErrClosed) {
						return
					}
					if err != nil {
						t.Errorf("a write beside Close returned %v", err)
						return
					}
					mu.Lock()
					acknowledged++
					mu.Unlock()
				}
			})
		}
		eventually(t, 10*time.Second, "some were written", func() bool { return d.Stats().Writes > 50 })
		must(t, d.Close())
		wait.Wait()
		must(t, d.Close()) // twice does no harm
		wantCount(t, open(t, o), "row", acknowledged)
	})
}

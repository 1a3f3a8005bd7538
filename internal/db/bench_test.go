package db_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"steward/internal/db"
	"steward/internal/db/dbtest"
)

// BenchmarkWrite is one durable row a transaction.
func BenchmarkWrite(b *testing.B) {
	dbtest.Bench(b, func(b *testing.B, d *db.DB) {
		for _, writers := range []int{1, 16, 64} {
			b.Run(fmt.Sprintf("%d writers", writers), func(b *testing.B) {
				b.ReportAllocs()
				before := d.Stats()
				spread(b, writers, func(ctx context.Context) error {
					return d.Write(ctx, func(tx db.Tx) error {
						return insertNamed(ctx, tx, "row")
					})
				})
				after := d.Stats()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
				b.ReportMetric(float64(after.Writes-before.Writes)/float64(after.Commits-before.Commits), "writes/commit")
			})
		}
	})
}

// BenchmarkRead is one row by its id.
func BenchmarkRead(b *testing.B) {
	type app struct {
		ID        uuid.UUID `db:"id"`
		AppID     string    `db:"app_id"`
		Name      string    `db:"name"`
		IsActive  bool      `db:"is_active"`
		CreatedAt db.Time   `db:"created_at"`
		DeletedAt *db.Time  `db:"deleted_at"`
	}
	const byID = `SELECT id, app_id, name, is_active, created_at, deleted_at FROM apps WHERE id = $1`
	dbtest.Bench(b, func(b *testing.B, d *db.DB) {
		must(b, writeNamed(b.Context(), d, "row"))
		id, err := db.One[uuid.UUID](b.Context(), d, `SELECT id FROM apps`)
		must(b, err)
		b.Run("scan", func(b *testing.B) {
			b.ReportAllocs()
			spread(b, 1, func(ctx context.Context) error {
				var a app
				return d.QueryRow(ctx, byID, id).Scan(&a.ID, &a.AppID, &a.Name, &a.IsActive, &a.CreatedAt, &a.DeletedAt)
			})
		})
		b.Run("scan uncancellable", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var a app
				must(b, d.QueryRow(context.Background(), byID, id).Scan(&a.ID, &a.AppID, &a.Name, &a.IsActive, &a.CreatedAt, &a.DeletedAt))
			}
		})
		b.Run("One", func(b *testing.B) {
			b.ReportAllocs()
			spread(b, 1, func(ctx context.Context) error {
				_, err := db.One[app](ctx, d, byID, id)
				return err
			})
		})
	})
}

// spread runs op b.N times in so many goroutines.
func spread(b *testing.B, goroutines int, op func(context.Context) error) {
	var left atomic.Int64
	left.Store(int64(b.N))
	var wait sync.WaitGroup
	b.ResetTimer()
	for range goroutines {
		wait.Go(func() {
			for left.Add(-1) >= 0 {
				if err := op(b.Context()); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wait.Wait()
	b.StopTimer()
}

package db_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"

	"steward/internal/db"
)

// TestMain lets the test binary play another process on the same SQLite file.
func TestMain(m *testing.M) {
	job := os.Getenv("STEWARD_TEST_CHILD")
	if job == "" {
		os.Exit(m.Run())
	}
	if err := jobs[job](context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, job+":", err)
		os.Exit(1)
	}
}

var jobs = map[string]func(context.Context) error{
	"migrate": func(ctx context.Context) error {
		d, err := openChild(ctx)
		if err != nil {
			return err
		}
		return d.Close()
	},
	"notify": func(ctx context.Context) error {
		d, err := openChild(ctx)
		if err != nil {
			return err
		}
		err = d.Write(ctx, func(tx db.Tx) error { return tx.Notify(ctx, "command", "") })
		fmt.Println(time.Now().Format(time.RFC3339Nano))
		return err
	},
	"write": writeForEver,
}

func openChild(ctx context.Context) (*db.DB, error) {
	d, err := db.Open(ctx, db.Options{DataDir: os.Getenv("STEWARD_TEST_DIR")})
	if err != nil {
		return nil, err
	}
	return d, d.Migrate(ctx)
}

// writeForEver prints the id of every row once it was acknowledged, until it is killed.
func writeForEver(ctx context.Context) error {
	d, err := openChild(ctx)
	if err != nil {
		return err
	}
	failed := make(chan error)
	for range 8 {
		go func() {
			for {
				id, now := uuid.Must(uuid.NewV7()), db.At(time.Now())
				err := d.Write(ctx, func(tx db.Tx) error {
					_, err := tx.Exec(ctx, insertApp, id, id, id, "row", now, now)
					return err
				})
				if err != nil {
					failed <- err
				}
				os.Stdout.WriteString(id.String() + "\n")
			}
		}()
	}
	return <-failed
}

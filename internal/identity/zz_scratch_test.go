package identity

import (
	"log/slog"
	"testing"
	"time"

	"steward/internal/db"
)

func TestZZ(t *testing.T) {
	d, err := db.Open(t.Context(), db.Options{DataDir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	if err != nil { t.Fatal(err) }
	if err := d.Migrate(t.Context()); err != nil { t.Fatal(err) }
	s := time.Now()
	d.Close()
	t.Log("close", time.Since(s))
}

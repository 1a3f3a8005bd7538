package db_test

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	osexec "os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"steward/internal/db"
)

// These tests start the test binary again, as another process on the same file; see TestMain.

func child(t *testing.T, job, dir string) *osexec.Cmd {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	c := osexec.CommandContext(t.Context(), self)
	c.Env = append(os.Environ(), "STEWARD_TEST_CHILD="+job, "STEWARD_TEST_DIR="+dir)
	c.Stderr = t.Output()
	return c
}

func TestWhatWasAcknowledgedSurvivesAKill(t *testing.T) {
	dir := t.TempDir()
	writer := child(t, "write", dir)
	out, err := writer.StdoutPipe()
	must(t, err)
	must(t, writer.Start())
	var ids []uuid.UUID
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil { // a line cut short by the kill was not acknowledged to us
			if err != io.EOF && !errors.Is(err, fs.ErrClosed) {
				t.Fatal(err)
			}
			break
		}
		ids = append(ids, uuid.MustParse(strings.TrimSpace(line)))
		if len(ids) == 500 {
			must(t, writer.Process.Kill())
		}
	}
	writer.Wait()
	if len(ids) < 500 {
		t.Fatalf("only %d rows were written", len(ids))
	}
	d := open(t, db.Options{DataDir: dir})
	for _, id := range ids {
		if _, err := db.One[string](t.Context(), d, `SELECT name FROM apps WHERE id = $1`, id); err != nil {
			t.Errorf("row %s was acknowledged and is gone: %v", id, err)
		}
	}
	must(t, writeNamed(t.Context(), d, "after"))
}

func TestAnotherProcessIsHeardWithinASecond(t *testing.T) {
	dir := t.TempDir()
	d := open(t, db.Options{DataDir: dir})
	heard := make(chan time.Time, 1)
	d.Subscribe("command", func(string) { heard <- time.Now() })
	must(t, d.Start(t.Context()))
	output, err := child(t, "notify", dir).Output() // it prints when it had committed
	must(t, err)
	told, err := time.Parse(time.RFC3339Nano, strings.TrimSpace(string(output)))
	must(t, err)
	select {
	case at := <-heard:
		if late := at.Sub(told); late > time.Second {
			t.Errorf("heard after %s", late)
		}
	case <-time.After(10 * time.Second):
		t.Error("never heard")
	}
}

func TestManyProcessesMayStartAtOnce(t *testing.T) {
	dir := t.TempDir()
	var all []*osexec.Cmd
	for range 6 {
		c := child(t, "migrate", dir)
		must(t, c.Start())
		all = append(all, c)
	}
	for _, c := range all {
		must(t, c.Wait())
	}
	d, err := db.Open(t.Context(), db.Options{DataDir: dir})
	must(t, err)
	defer d.Close()
	must(t, d.Migrated(t.Context()))
}

package db_test

import (
	"strings"
	"testing"
	"time"

	"steward/internal/db"
	"steward/internal/db/dbtest"
)

// ear collects what a node hears on a topic.
func ear(d *db.DB, topic string) chan string {
	heard := make(chan string, 100)
	d.Subscribe(topic, func(payload string) { heard <- payload })
	return heard
}

func hear(t *testing.T, heard chan string, want string) {
	t.Helper()
	select {
	case got := <-heard:
		if got != want {
			t.Errorf("heard %q, want %q", got, want)
		}
	case <-time.After(10 * time.Second):
		t.Errorf("never heard %q", want)
	}
}

func silent(t *testing.T, heard chan string) {
	t.Helper()
	select {
	case got := <-heard:
		t.Errorf("heard %q, want nothing", got)
	default:
	}
}

func notify(t *testing.T, d *db.DB, topic string, payloads ...string) {
	t.Helper()
	must(t, d.Write(t.Context(), func(tx db.Tx) error {
		for _, p := range payloads {
			if err := tx.Notify(t.Context(), topic, p); err != nil {
				return err
			}
		}
		return nil
	}))
}

func TestThisNodeHearsItsOwnWordBeforeWriteReturnsAndOnlyOnce(t *testing.T) {
	dbtest.TwoNodes(t, func(t *testing.T, a, b *db.DB) {
		own, marker := ear(a, "topic"), ear(a, "marker")
		notify(t, a, "topic", "own")
		select {
		case <-own:
		default:
			t.Fatal("Write returned before the word was told")
		}
		// What b says arrives on the same way after what a said, so a has by then passed over its own.
		notify(t, b, "marker", "")
		hear(t, marker, "")
		silent(t, own)
	})
}

func TestTheOtherNodeHearsWithinASecond(t *testing.T) {
	dbtest.TwoNodes(t, func(t *testing.T, a, b *db.DB) {
		words := []string{"", "a word", "two\nlines, ünïcödé and 'quotes'", strings.Repeat("x", 3900)}
		heard, other := ear(b, "topic"), ear(b, "other")
		notify(t, a, "topic", words...)
		began := time.Now()
		for _, want := range words {
			hear(t, heard, want)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %s", took)
		}
		silent(t, other)
	})
}

func TestTheSameWordTwiceInATransactionIsToldOnce(t *testing.T) {
	dbtest.TwoNodes(t, func(t *testing.T, a, b *db.DB) {
		own, others := ear(a, "topic"), ear(b, "topic")
		notify(t, a, "topic", "again", "again", "last")
		for _, heard := range []chan string{own, others} {
			hear(t, heard, "again")
			hear(t, heard, "last")
		}
	})
}

func TestAFailedWriteTellsNobody(t *testing.T) {
	dbtest.TwoNodes(t, func(t *testing.T, a, b *db.DB) {
		heard := ear(b, "topic")
		a.Write(t.Context(), func(tx db.Tx) error {
			must(t, tx.Notify(t.Context(), "topic", "undone"))
			return errRefused
		})
		notify(t, a, "topic", "done")
		hear(t, heard, "done")
	})
}

func TestWordsThatCannotBeToldAreRefused(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		for name, word := range map[string][2]string{
			"a payload over the limit": {"topic", strings.Repeat("x", 4001)},
			"a topic of two words":     {"two words", ""},
			"no topic":                 {"", "payload"},
		} {
			err := d.Write(t.Context(), func(tx db.Tx) error { return tx.Notify(t.Context(), word[0], word[1]) })
			if err == nil {
				t.Errorf("%s was accepted", name)
			}
		}
	})
}

func TestListening(t *testing.T) {
	dbtest.EachEmpty(t, func(t *testing.T, o db.Options) {
		d := open(t, o)
		if d.Listening() {
			t.Error("it listens before Start")
		}
		must(t, d.Start(t.Context()))
		if !d.Listening() {
			t.Error("it does not listen after Start")
		}
		must(t, d.Close())
		if d.Listening() {
			t.Error("it listens after Close")
		}
	})
}

package identity

import (
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"steward/internal/db"
	"steward/internal/db/dbtest"
)

func TestKeysHaveAFormThatScannersKnow(t *testing.T) {
	form := regexp.MustCompile(`^stw_[a-z0-9]{8}_[0-9A-Za-z]{43}$`)
	seen := map[string]bool{}
	for range 1000 {
		prefix, key := newSecretKey()
		if !form.MatchString(key) || key[:12] != prefix || len(key) != keyLength || !isAPIKey(key) || seen[key] {
			t.Fatalf("unexpected key %s with the prefix %s", key, prefix)
		}
		seen[key] = true
	}
}

func TestAKeyMayDoWhatBothItAndItsMakerMay(t *testing.T) {
	for _, c := range []struct {
		name             string
		key, maker, want []string
	}{
		{"some of it", []string{"a:x", "b:x"}, []string{"b:x", "c:x"}, []string{"b:x"}},
		{"nothing", []string{"a:x"}, []string{"b:x"}, nil},
		{"a maker who may do everything", []string{"a:x", "b:x"}, []string{"*"}, []string{"a:x", "b:x"}},
		{"a key that may do everything", []string{"*"}, []string{"a:x"}, []string{"a:x"}},
		{"both may do everything", []string{"*"}, []string{"*"}, []string{"*"}},
		{"a maker who may do nothing any more", []string{"*", "a:x"}, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := common(c.key, c.maker); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestUsesOfKeysAreBoundedAndEachWrittenOnce(t *testing.T) {
	var uses keyUses
	ids := make([]uuid.UUID, keyUsePending+50)
	starts := 0
	for i := range ids {
		ids[i] = uuid.New()
		for range 2 {
			if uses.add(ids[i]) {
				starts++
			}
		}
	}
	if starts != 1 || len(uses.pending) != keyUsePending {
		t.Errorf("%d writers were started for %d keys", starts, len(uses.pending))
	}
	written := map[uuid.UUID]bool{}
	for some := uses.take(); len(some) > 0; some = uses.take() {
		if len(some) > keyUseBatch {
			t.Fatalf("%d keys in one statement", len(some))
		}
		for _, id := range some {
			if written[id] {
				t.Fatal("a use is written twice")
			}
			written[id] = true
		}
	}
	if len(written) != keyUsePending || !uses.add(ids[0]) {
		t.Errorf("%d uses were written, or the next one starts nobody", len(written))
	}
}

func TestRememberedKeysAreBounded(t *testing.T) {
	var refs keyRefs
	for i := range maxKeyRefs + 10 {
		refs.put(uuid.NewString(), apiKeyRef{ID: uuid.UUID{byte(i)}})
	}
	if len(refs.refs) != maxKeyRefs {
		t.Errorf("%d keys are remembered", len(refs.refs))
	}
}

// Another node may have written the use of a key that this one still has to write.
func TestTheUseOfAKeyIsWrittenAtMostOnceAMinute(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ctx, id, at := t.Context(), uuid.New(), db.At(time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC))
		write := func(statement string, args ...any) {
			t.Helper()
			if err := d.Write(ctx, func(tx db.Tx) error { _, err := tx.Exec(ctx, statement, args...); return err }); err != nil {
				t.Fatal(err)
			}
		}
		write(`INSERT INTO tenants (id, name, identifier, identifier_key, created_at, updated_at) VALUES ($1, 't', 't', 't', $2, $2)`, id, at)
		write(`INSERT INTO users (id, email, email_key, created_at, updated_at) VALUES ($1, 'u', 'u', $2, $2)`, id, at)
		write(`INSERT INTO api_keys (id, tenant_id, name, name_key, prefix, hash, permissions, created_by, created_by_email, created_at, updated_at)
			VALUES ($1, $1, 'k', 'k', 'p', 'h', '[]', $1, 'u', $2, $2)`, id, at)
		for _, c := range []struct{ used, kept time.Duration }{{0, 0}, {59 * time.Second, 0}, {time.Minute, time.Minute}, {90 * time.Second, time.Minute}, {2 * time.Minute, 2 * time.Minute}} {
			used := db.At(at.Add(c.used))
			if err := d.Write(ctx, func(tx db.Tx) error {
				return setKeysUsed(ctx, tx, []uuid.UUID{id, uuid.New()}, used, db.At(used.Add(-keyUseEvery)))
			}); err != nil {
				t.Fatal(err)
			}
			if kept, err := db.One[db.Time](ctx, d, `SELECT last_used_at FROM api_keys WHERE id = $1`, id); err != nil || !kept.Equal(at.Add(c.kept)) {
				t.Errorf("used after %s, written as %s (%v)", c.used, kept, err)
			}
		}
	})
}

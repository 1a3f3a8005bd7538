package identity

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"steward/internal/db"
	"steward/internal/db/dbtest"
)

// handClock is a clock that only the test moves.
type handClock struct{ nanos atomic.Int64 }

func newHandClock() *handClock {
	c := &handClock{}
	c.nanos.Store(time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC).UnixNano())
	return c
}

func (c *handClock) now() time.Time          { return time.Unix(0, c.nanos.Load()).UTC() }
func (c *handClock) advance(d time.Duration) { c.nanos.Add(int64(d)) }

func testVault(t testing.TB, masterKey string) *Vault {
	t.Helper()
	v, err := NewVault(masterKey)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func openTestRing(t testing.TB, d *db.DB, masterKey string, clock *handClock) *Keyring {
	t.Helper()
	k, err := tryRing(t, d, masterKey, clock)
	if err != nil {
		t.Fatal(err)
	}
	k.pause = time.Millisecond
	return k
}

func tryRing(t testing.TB, d *db.DB, masterKey string, clock *handClock) (*Keyring, error) {
	t.Helper()
	return OpenKeyring(t.Context(), KeyringOptions{
		DB: d, Vault: testVault(t, masterKey), Log: slog.New(slog.DiscardHandler), Now: clock.now,
	})
}

// sqliteRing is a keyring on a store of its own, for tests that are not about the store.
func sqliteRing(t testing.TB, clock *handClock) *Keyring {
	t.Helper()
	d, err := db.Open(t.Context(), db.Options{DataDir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	if err := d.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return openTestRing(t, d, "", clock)
}

func published(t *testing.T, k *Keyring) []jose.JSONWebKey {
	t.Helper()
	var set jose.JSONWebKeySet
	if err := json.Unmarshal(k.JWKS(), &set); err != nil {
		t.Fatal(err)
	}
	return set.Keys
}

func TestFirstStartMakesOneKeyOfEachUse(t *testing.T) {
	dbtest.TwoNodes(t, func(t *testing.T, a, b *db.DB) {
		clock := newHandClock()
		var rings [6]*Keyring
		var group sync.WaitGroup
		for i := range rings {
			group.Go(func() {
				var err error
				if rings[i], err = tryRing(t, []*db.DB{a, b}[i%2], "", clock); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if t.Failed() {
			return
		}
		for _, ring := range rings {
			if string(ring.JWKS()) != string(rings[0].JWKS()) {
				t.Fatal("two nodes that started at once have different keys")
			}
		}
		keys := published(t, rings[0])
		if len(keys) != 2 {
			t.Fatalf("%d keys are published", len(keys))
		}
		for _, key := range keys {
			wantAlg := map[string]string{"sig": "ES256", "enc": "RSA-OAEP-256"}[key.Use]
			id, err := thumbprint(key.Key)
			if err != nil || key.KeyID != id || key.Algorithm != wantAlg || !key.IsPublic() {
				t.Errorf("published %q with algorithm %q, use %q, public %v", key.KeyID, key.Algorithm, key.Use, key.IsPublic())
			}
		}
		if strings.Contains(string(rings[0].JWKS()), `"d"`) {
			t.Error("a private part is published")
		}
	})
}

func TestRotationRefusesNoToken(t *testing.T) {
	dbtest.TwoNodes(t, func(t *testing.T, a, b *db.DB) {
		clock := newHandClock()
		here, there := openTestRing(t, a, "", clock), openTestRing(t, b, "", clock)
		signHere := NewSigner(SignerOptions{Keyring: here, Issuer: testIssuer, Now: clock.now})
		signThere := NewSigner(SignerOptions{Keyring: there, Issuer: testIssuer, Now: clock.now})
		old := mustSign(t, signThere, tenantClaims(clock))
		if err := here.Rotate(t.Context()); err != nil {
			t.Fatal(err)
		}
		fresh := mustSign(t, signHere, tenantClaims(clock))
		// The other node may not have heard of it yet: it must find the key by itself.
		for name, token := range map[string]string{"old": old, "fresh": fresh} {
			for node, signer := range map[string]*Signer{"here": signHere, "there": signThere} {
				if _, err := signer.Verify(token); err != nil {
					t.Errorf("the %s token %s: %v", name, node, err)
				}
			}
		}
		waitFor(t, func() bool { return string(there.JWKS()) == string(here.JWKS()) })
		if keys := published(t, here); len(keys) != 4 {
			t.Errorf("%d keys are published after a rotation", len(keys))
		}
	})
}

func TestOldKeysGoWhenTheirLastTokenHasEnded(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		clock := newHandClock()
		ring := openTestRing(t, d, "", clock)
		old := ring.keys.Load()
		clock.advance(time.Hour)
		if err := ring.Rotate(t.Context()); err != nil {
			t.Fatal(err)
		}
		clock.advance(tenantTokenTTL)
		purge(t, ring)
		if len(published(t, ring)) != 4 || ring.known(old.signing.id, useSign) == nil {
			t.Error("the old keys went while their tokens were alive")
		}
		clock.advance(retireMargin)
		if ring.known(old.signing.id, useSign) != nil {
			t.Error("the old signing key still counts")
		}
		purge(t, ring)
		if ring.keys.Load().byID[old.signing.id] != nil || ring.known(old.opening[0].id, useEncrypt) == nil {
			t.Error("after the access tokens' time only the signing key should have gone")
		}
		clock.advance(encryptGrace)
		purge(t, ring)
		if len(published(t, ring)) != 2 {
			t.Errorf("%d keys are left", len(published(t, ring)))
		}
	})
}

func purge(t *testing.T, k *Keyring) {
	t.Helper()
	if err := k.PurgeKeys(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestRotationsAtOnceLeaveOneCurrentKey(t *testing.T) {
	dbtest.TwoNodes(t, func(t *testing.T, a, b *db.DB) {
		clock := newHandClock()
		rings := []*Keyring{openTestRing(t, a, "", clock), openTestRing(t, b, "", clock)}
		var group sync.WaitGroup
		for i := range 4 {
			group.Go(func() {
				if err := rings[i%2].Rotate(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		rows, err := listKeys(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		current := map[string]int{}
		for _, row := range rows {
			if row.IsCurrent {
				current[row.Use]++
			}
		}
		if current[useSign] != 1 || current[useEncrypt] != 1 {
			t.Errorf("current keys: %v", current)
		}
	})
}

const (
	masterKeyA = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	masterKeyB = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

func TestMasterKeyWrapsTheKeys(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		clock := newHandClock()
		plain := openTestRing(t, d, "", clock)
		wrapped := openTestRing(t, d, masterKeyA, clock)
		if string(plain.JWKS()) != string(wrapped.JWKS()) {
			t.Error("wrapping changed the keys")
		}
		rows, err := listKeys(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			if !strings.HasPrefix(row.Private, "v1:") {
				t.Errorf("key %s lies in the clear", row.ID)
			}
		}
		for name, masterKey := range map[string]string{"no": "", "another": masterKeyB} {
			_, err := tryRing(t, d, masterKey, clock)
			if err == nil || !strings.Contains(err.Error(), "STEWARD_MASTER_KEY") {
				t.Errorf("with %s master key: %v", name, err)
			}
		}
	})
}

func TestUnchangedKeysKeepWhatWasVerified(t *testing.T) {
	ring := sqliteRing(t, newHandClock())
	before := ring.keys.Load()
	if err := ring.reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if ring.keys.Load() != before {
		t.Error("reading the same rows made a new set")
	}
}

func TestMadeUpKeyIdsShareReadings(t *testing.T) {
	ring := sqliteRing(t, newHandClock())
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() {
			if found, err := ring.find(strings.Repeat("x", thumbprintLength), useSign); found != nil || err != nil {
				t.Errorf("found %v, %v", found, err)
			}
		})
	}
	group.Wait()
	if found, _ := ring.find(ring.keys.Load().signing.id, useEncrypt); found != nil {
		t.Error("a signing key was found for encryption")
	}
}

func TestAStoreThatIsDownIsNotAnUnknownKey(t *testing.T) {
	ring := sqliteRing(t, newHandClock())
	if err := ring.db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := ring.find(strings.Repeat("x", thumbprintLength), useSign); err == nil {
		t.Error("no error")
	}
	if err := ring.reload(context.Background()); err == nil || ring.JWKS() == nil {
		t.Error("the old keys must serve on")
	}
}

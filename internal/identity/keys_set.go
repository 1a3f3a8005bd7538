package identity

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// keySet is one state of the ring; it never changes, and is replaced only when the rows changed.
type keySet struct {
	rows    []keyRow
	byID    map[string]*key
	signing *key
	opening []*key // for encrypted passwords, the current one first
	jwks    []byte
}

type key struct {
	id       string
	use      string
	private  crypto.Signer // *ecdsa.PrivateKey or *rsa.PrivateKey
	retireAt time.Time     // zero: current
}

// counts reports whether the key is still accepted.
func (k *key) counts(now time.Time) bool { return k.retireAt.IsZero() || now.Before(k.retireAt) }

// reload takes over what the store holds. An unchanged store leaves the set as it is, and with it
// everything that was verified under it.
func (k *Keyring) reload(ctx context.Context) error {
	k.loading.Lock()
	defer k.loading.Unlock()
	rows, err := listKeys(ctx, k.db)
	if err != nil {
		return err
	}
	if old := k.keys.Load(); old != nil && slices.EqualFunc(old.rows, rows, keyRow.equal) {
		return nil
	}
	set, err := k.readSet(rows)
	if err != nil {
		return fmt.Errorf("load keys: %w", err)
	}
	k.keys.Store(set)
	return nil
}

// follow reloads after a change elsewhere. Where that fails the old set serves on: an unknown key id
// or the next purge tries again.
func (k *Keyring) follow() {
	ctx, cancel := context.WithTimeout(context.Background(), reloadTime)
	defer cancel()
	if err := k.reload(ctx); err != nil {
		k.log.Error("keys could not be reloaded", "error", err)
	}
}

// find returns the key that counts under the id, or nil. Before it gives up it asks the store, in
// case another node has rotated a moment ago; all who ask at once share one reading, and readings
// keep a pause, so that made-up ids cost nothing.
func (k *Keyring) find(id, use string) (*key, error) {
	for range 2 { // the first reading shared may have begun before the key was written
		if found := k.known(id, use); found != nil || len(id) != thumbprintLength {
			return found, nil
		}
		if _, err, _ := k.unknown.Do("", k.reloadSlowly); err != nil {
			return nil, err
		}
	}
	return k.known(id, use), nil
}

func (k *Keyring) known(id, use string) *key {
	found := k.keys.Load().byID[id]
	if found == nil || found.use != use || !found.counts(k.now()) {
		return nil
	}
	return found
}

func (k *Keyring) reloadSlowly() (any, error) {
	time.Sleep(k.pause)
	ctx, cancel := context.WithTimeout(context.Background(), reloadTime)
	defer cancel()
	return nil, k.reload(ctx)
}

// readSet opens the rows. One that cannot be opened stops the whole: a node that signs but cannot
// verify would sign people out at random.
func (k *Keyring) readSet(rows []keyRow) (*keySet, error) {
	set := &keySet{rows: rows, byID: map[string]*key{}}
	var published []*key
	for _, row := range rows {
		opened, err := k.readKey(row)
		if err != nil {
			return nil, err
		}
		set.byID[row.ID] = opened
		published = append(published, opened)
		switch {
		case row.Use == useEncrypt:
			set.opening = append(set.opening, opened)
		case row.IsCurrent:
			set.signing = opened
		}
	}
	if set.signing == nil || len(set.opening) == 0 {
		return nil, errors.New("the store holds no current keys")
	}
	var err error
	set.jwks, err = publish(published)
	return set, err
}

func (k *Keyring) readKey(row keyRow) (*key, error) {
	der, err := k.vault.Open(row.ID, row.Private)
	if err != nil {
		return nil, err
	}
	parsed, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, fmt.Errorf("key %s: %w", row.ID, err)
	}
	opened := &key{id: row.ID, use: row.Use}
	if row.RetireAt != nil {
		opened.retireAt = row.RetireAt.Time
	}
	switch private := parsed.(type) {
	case *ecdsa.PrivateKey:
		opened.private = private
		if row.Use == useSign && private.Curve == elliptic.P256() {
			return opened, nil
		}
	case *rsa.PrivateKey:
		opened.private = private
		if row.Use == useEncrypt {
			return opened, nil
		}
	}
	return nil, fmt.Errorf("key %s: a %T cannot serve as %q", row.ID, parsed, row.Use)
}

// publish renders the key set for other services.
func publish(keys []*key) ([]byte, error) {
	algorithms := map[string]string{useSign: string(jose.ES256), useEncrypt: string(jose.RSA_OAEP_256)}
	var set jose.JSONWebKeySet
	for _, k := range keys {
		set.Keys = append(set.Keys, jose.JSONWebKey{
			Key: k.private.Public(), KeyID: k.id, Use: k.use, Algorithm: algorithms[k.use],
		})
	}
	return json.Marshal(set)
}

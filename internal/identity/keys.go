package identity

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	_ "crypto/sha256" // thumbprints
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"
	"golang.org/x/sync/singleflight"

	"steward/internal/audit"
	"steward/internal/db"
)

// What a key is for.
const (
	useSign    = "sig" // ES256, signs access tokens
	useEncrypt = "enc" // RSA-OAEP-256, opens encrypted passwords
)

const (
	topicKeys = "keys"
	// retireMargin covers the nodes that learn late of a rotation and still sign with the old key.
	retireMargin = 10 * time.Minute
	// encryptGrace is how long a client may keep using the public key it fetched.
	encryptGrace = 24 * time.Hour
	// thumbprintLength is that of every key id: 32 bytes in base64.
	thumbprintLength = 43
	// reloadPause bounds how often unknown key ids make the store be asked.
	reloadPause = 100 * time.Millisecond
	// reloadTime bounds one reading of the few rows.
	reloadTime = 5 * time.Second
)

// KeyringOptions is what a keyring is made of; all but Generate is required.
type KeyringOptions struct {
	DB    *db.DB
	Vault *Vault
	Log   *slog.Logger
	Now   func() time.Time
	// Generate makes the key pair for a use; nil means fresh ones. Tests that start many programs hand
	// out one again, because an RSA key takes longer than the rest of a start.
	Generate func(use string) (crypto.Signer, error)
}

// Keyring holds the keys that sign tokens and open encrypted passwords. Every node has the same
// ones; they live in the store and are kept in memory.
type Keyring struct {
	db      *db.DB
	vault   *Vault
	log     *slog.Logger
	now     func() time.Time
	keys    atomic.Pointer[keySet]
	loading sync.Mutex // orders readings of the store: a later one is never overwritten by an earlier
	unknown singleflight.Group
	pause   time.Duration
	make    func(use string) (crypto.Signer, error)
}

// OpenKeyring creates the keys where none exist yet, wraps those that lie in the clear though there
// is a master key, and follows the changes of other nodes. Call it before the store starts to
// deliver notifications.
func OpenKeyring(ctx context.Context, o KeyringOptions) (*Keyring, error) {
	k := &Keyring{db: o.DB, vault: o.Vault, log: o.Log, now: o.Now, pause: reloadPause, make: o.Generate}
	if k.make == nil {
		k.make = GenerateKey
	}
	k.db.Subscribe(topicKeys, func(string) { k.follow() })
	k.db.OnResync(k.follow)
	if err := k.ensure(ctx); err != nil {
		return nil, err
	}
	return k, k.wrapPlain(ctx)
}

// JWKS is the published key set, the current keys first, then those that still count.
func (k *Keyring) JWKS() []byte { return k.keys.Load().jwks }

// Rotate replaces both current keys. The old ones stay published and accepted until the last token
// signed with them has ended.
func (k *Keyring) Rotate(ctx context.Context) error {
	fresh, err := k.newKeys(useSign, useEncrypt)
	if err != nil {
		return err
	}
	err = k.db.Write(ctx, func(tx db.Tx) error { return k.replace(ctx, tx, fresh) })
	if err != nil && !db.IsUnique(err) {
		return fmt.Errorf("rotate keys: %w", err)
	}
	// A unique violation means that another node rotated in the same instant: that is as good.
	return k.reload(ctx)
}

// replace makes the fresh keys current in tx.
func (k *Keyring) replace(ctx context.Context, tx db.Tx, fresh []keyRow) error {
	for _, row := range fresh {
		if err := retireKey(ctx, tx, row.Use, db.At(k.now().Add(acceptedFor(row.Use)))); err != nil {
			return err
		}
		if _, err := insertKey(ctx, tx, row); err != nil {
			return err
		}
	}
	if err := audit.Write(ctx, tx, audit.Entry{Action: "keys.rotated", TargetType: "keys", TargetID: fresh[0].ID, At: k.now()}); err != nil {
		return err
	}
	return tx.Notify(ctx, topicKeys, "")
}

// acceptedFor is how long a key counts after it was replaced.
func acceptedFor(use string) time.Duration {
	if use == useEncrypt {
		return encryptGrace
	}
	return tenantTokenTTL + retireMargin
}

// PurgeKeys deletes the keys whose time is over. It also reads the store again, which mends a ring
// that missed a change.
func (k *Keyring) PurgeKeys(ctx context.Context) error {
	err := k.db.Write(ctx, func(tx db.Tx) error {
		purged, err := deleteRetiredKeys(ctx, tx, db.At(k.now()))
		if err != nil || purged == 0 {
			return err
		}
		return tx.Notify(ctx, topicKeys, "")
	})
	if err != nil {
		return fmt.Errorf("purge keys: %w", err)
	}
	return k.reload(ctx)
}

// ensure creates what is missing. Several nodes may start at once: the index on the current keys
// lets one of them win, and the others read what it wrote.
func (k *Keyring) ensure(ctx context.Context) error {
	rows, err := listKeys(ctx, k.db)
	if err != nil {
		return err
	}
	missing := slices.DeleteFunc([]string{useSign, useEncrypt}, func(use string) bool {
		return slices.ContainsFunc(rows, func(r keyRow) bool { return r.IsCurrent && r.Use == use })
	})
	if len(missing) > 0 {
		if err := k.create(ctx, missing); err != nil {
			return err
		}
	}
	return k.reload(ctx)
}

func (k *Keyring) create(ctx context.Context, uses []string) error {
	fresh, err := k.newKeys(uses...)
	if err != nil {
		return err
	}
	return k.db.Write(ctx, func(tx db.Tx) error {
		for _, row := range fresh {
			if _, err := insertMissingKey(ctx, tx, row); err != nil {
				return err
			}
		}
		return tx.Notify(ctx, topicKeys, "")
	})
}

// wrapPlain puts the master key, given after the first start, to use.
func (k *Keyring) wrapPlain(ctx context.Context) error {
	if !slices.ContainsFunc(k.keys.Load().rows, func(r keyRow) bool { return k.vault.NeedsWrap(r.Private) }) {
		return nil
	}
	err := k.db.Write(ctx, func(tx db.Tx) error {
		rows, err := listKeys(ctx, tx)
		if err != nil {
			return err
		}
		for _, row := range rows {
			if err := k.wrapRow(ctx, tx, row); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("wrap keys: %w", err)
	}
	return k.reload(ctx)
}

func (k *Keyring) wrapRow(ctx context.Context, tx db.Tx, row keyRow) error {
	if !k.vault.NeedsWrap(row.Private) {
		return nil
	}
	secret, err := k.vault.Open(row.ID, row.Private)
	if err != nil {
		return err
	}
	return setPrivateKey(ctx, tx, row.ID, k.vault.Wrap(row.ID, secret))
}

// newKeys generates keys, outside of any transaction because an RSA key takes its time.
func (k *Keyring) newKeys(uses ...string) ([]keyRow, error) {
	var fresh []keyRow
	for _, use := range uses {
		private, err := k.make(use)
		if err != nil {
			return nil, fmt.Errorf("generate key: %w", err)
		}
		id, err := thumbprint(private.Public())
		if err != nil {
			return nil, fmt.Errorf("name key: %w", err)
		}
		der, err := x509.MarshalPKCS8PrivateKey(private)
		if err != nil {
			return nil, fmt.Errorf("encode key: %w", err)
		}
		fresh = append(fresh, keyRow{
			ID: id, Use: use, Private: k.vault.Wrap(id, der), IsCurrent: true, CreatedAt: db.At(k.now()),
		})
	}
	return fresh, nil
}

// GenerateKey makes a fresh key pair for a use, sig or enc.
func GenerateKey(use string) (crypto.Signer, error) {
	if use == useEncrypt {
		return rsa.GenerateKey(rand.Reader, 2048)
	}
	return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
}

// thumbprint is the key id of RFC 7638: anyone can compute it from the public key.
func thumbprint(public crypto.PublicKey) (string, error) {
	sum, err := (&jose.JSONWebKey{Key: public}).Thumbprint(crypto.SHA256)
	return base64.RawURLEncoding.EncodeToString(sum), err
}

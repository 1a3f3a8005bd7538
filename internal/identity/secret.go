package identity

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"

	"steward/internal/config"
)

// Marks that tell how a stored secret is kept. A later way of wrapping gets a mark of its own.
const (
	markPlain   = "plain:"
	markWrapped = "v1:" // AES-256-GCM, nonce in front
)

// Vault wraps the secrets that the store keeps, so that a copy of the database alone opens nothing.
// Without a master key it stores them as they are, and says so in the value.
type Vault struct {
	aead cipher.AEAD // nil: no master key
}

// NewVault takes the master key: 32 bytes in base64 or hex, or empty for none.
func NewVault(masterKey string) (*Vault, error) {
	if masterKey == "" {
		return &Vault{}, nil
	}
	key, ok := decodeMasterKey(masterKey)
	if !ok {
		return nil, config.Refuse("master-key", "STEWARD_MASTER_KEY must be 32 bytes in base64 or hex, such as `openssl rand -base64 32` prints")
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("make vault: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("make vault: %w", err)
	}
	return &Vault{aead: aead}, nil
}

// decodeMasterKey accepts base64 of either alphabet, with or without padding.
func decodeMasterKey(text string) ([]byte, bool) {
	text = strings.TrimSpace(text)
	if len(text) == hex.EncodedLen(32) {
		key, err := hex.DecodeString(text)
		return key, err == nil
	}
	text = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(text, "="))
	key, err := base64.RawStdEncoding.Strict().DecodeString(text)
	return key, err == nil && len(key) == 32
}

// Wrap returns what may be stored for the secret. The name (a key id, say) is bound to it: a wrapped
// value moved to another name does not open.
func (v *Vault) Wrap(name string, secret []byte) string {
	if v.aead == nil {
		return markPlain + base64.StdEncoding.EncodeToString(secret)
	}
	sealed := v.aead.Seal(nil, nil, secret, []byte(name))
	return markWrapped + base64.StdEncoding.EncodeToString(sealed)
}

// Open returns the secret that Wrap stored under the name.
func (v *Vault) Open(name, stored string) ([]byte, error) {
	if text, ok := strings.CutPrefix(stored, markPlain); ok {
		return decodeSecret(name, text)
	}
	text, ok := strings.CutPrefix(stored, markWrapped)
	if !ok {
		return nil, fmt.Errorf("open secret %s: the stored value has an unknown form", name)
	}
	if v.aead == nil {
		return nil, config.Refuse("master-key", "the store holds secrets wrapped by a master key, and none is given (STEWARD_MASTER_KEY)")
	}
	sealed, err := decodeSecret(name, text)
	if err != nil {
		return nil, err
	}
	secret, err := v.aead.Open(nil, nil, sealed, []byte(name))
	if err != nil {
		return nil, config.Refuse("master-key", "is not the key that wrapped secret %s (STEWARD_MASTER_KEY), or the stored value was altered", name)
	}
	return secret, nil
}

func decodeSecret(name, text string) ([]byte, error) {
	secret, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("open secret %s: the stored value is damaged", name)
	}
	return secret, nil
}

// NeedsWrap reports that a stored value is in the clear though there is a key to wrap it with.
func (v *Vault) NeedsWrap(stored string) bool {
	return v.aead != nil && strings.HasPrefix(stored, markPlain)
}

package identity

import (
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/go-jose/go-jose/v4"
)

// errSealed is a password that was encrypted, but not so that it can be opened here.
var errSealed = errors.New("the encrypted password cannot be opened")

const (
	// maxSealedBytes is far above the longest password in the longest envelope.
	maxSealedBytes = 8 << 10
	// maxOpenTries bounds the RSA operations for an envelope that names no key.
	maxOpenTries = 3
)

// sealedHeader is what an envelope says about itself.
type sealedHeader struct {
	Algorithm   string `json:"alg"`
	Encryption  string `json:"enc"`
	KeyID       string `json:"kid"`
	Compression string `json:"zip"`
}

// OpenPassword returns the password that a client sent. With encrypted true a compact JWE is opened
// (RSA-OAEP-256 and A256GCM only); whatever does not have that form is the password itself, so that
// clients which never encrypt can leave the flag at its default. It fails with errSealed.
func (k *Keyring) OpenPassword(value string, encrypted bool) (string, error) {
	header, sealed := sealedHeader{}, false
	if encrypted {
		header, sealed = readSealedHeader(value)
	}
	if !sealed {
		return value, nil
	}
	// Compression has no place here: a short text could unpack to a huge one.
	if len(value) > maxSealedBytes || header.Compression != "" {
		return "", errSealed
	}
	envelope, err := jose.ParseEncryptedCompact(value,
		[]jose.KeyAlgorithm{jose.RSA_OAEP_256}, []jose.ContentEncryption{jose.A256GCM})
	if err != nil {
		return "", errSealed
	}
	keys, err := k.openingKeys(header.KeyID)
	if err != nil {
		return "", err
	}
	return openEnvelope(envelope, keys)
}

// readSealedHeader reports whether the value has the form of a compact JWE: five parts of which the
// first is a header that names both algorithms.
func readSealedHeader(value string) (header sealedHeader, sealed bool) {
	first, _, _ := strings.Cut(value, ".")
	if len(first) > maxSealedBytes || strings.Count(value, ".") != 4 {
		return header, false
	}
	text, err := base64.RawURLEncoding.DecodeString(first)
	if err != nil || json.Unmarshal(text, &header) != nil {
		return header, false
	}
	return header, header.Algorithm != "" && header.Encryption != ""
}

// openingKeys returns the key with the id, or where none is named those that still count.
func (k *Keyring) openingKeys(id string) ([]*key, error) {
	if id != "" {
		named, err := k.find(id, useEncrypt)
		if err != nil || named == nil {
			return nil, err
		}
		return []*key{named}, nil
	}
	var keys []*key
	for _, candidate := range k.keys.Load().opening {
		if candidate.counts(k.now()) && len(keys) < maxOpenTries {
			keys = append(keys, candidate)
		}
	}
	return keys, nil
}

func openEnvelope(envelope *jose.JSONWebEncryption, keys []*key) (string, error) {
	for _, candidate := range keys {
		private, ok := candidate.private.(*rsa.PrivateKey)
		if !ok {
			continue
		}
		plain, err := envelope.Decrypt(private)
		if err == nil && utf8.Valid(plain) {
			return string(plain), nil
		}
	}
	return "", errSealed
}

package identity

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"
)

func TestMasterKeyForms(t *testing.T) {
	key := bytes.Repeat([]byte{0xfb}, 32)
	for _, tc := range []struct {
		name, text string
		good       bool
	}{
		{"none", "", true},
		{"base64", base64.StdEncoding.EncodeToString(key), true},
		{"base64 without padding", base64.RawStdEncoding.EncodeToString(key), true},
		{"base64 for addresses", base64.URLEncoding.EncodeToString(key), true},
		{"base64 with a line end", base64.StdEncoding.EncodeToString(key) + "\n", true},
		{"hex", hex.EncodeToString(key), true},
		{"hex in capitals", strings.ToUpper(hex.EncodeToString(key)), true},
		{"a pass phrase", "correct horse battery staple, thirty two", false},
		{"16 bytes", base64.StdEncoding.EncodeToString(key[:16]), false},
		{"33 bytes", base64.StdEncoding.EncodeToString(append(key, 1)), false},
		{"broken hex", strings.Repeat("z", 64), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := NewVault(tc.text)
			if (err == nil) != tc.good {
				t.Fatalf("got %v", err)
			}
			if err != nil && (!strings.Contains(err.Error(), "STEWARD_MASTER_KEY") || strings.Contains(err.Error(), tc.text)) {
				t.Errorf("the message %q must name the setting and not its value", err)
			}
		})
	}
}

func TestVault(t *testing.T) {
	vault := func(letter string) *Vault {
		v, err := NewVault(hex.EncodeToString(bytes.Repeat([]byte(letter), 32)))
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	none, err := NewVault("")
	if err != nil {
		t.Fatal(err)
	}
	mine, other := vault("a"), vault("b")
	secret := []byte("the secret")
	wrapped, plain := mine.Wrap("key-1", secret), none.Wrap("key-1", secret)
	if !strings.HasPrefix(wrapped, "v1:") || !strings.HasPrefix(plain, "plain:") {
		t.Fatalf("stored as %q and %q", wrapped, plain)
	}
	if mine.Wrap("key-1", secret) == wrapped {
		t.Error("two wrappings of one secret are the same")
	}
	for _, tc := range []struct {
		name         string
		vault        *Vault
		label, value string
		wrong        string // part of the message; empty: it opens
	}{
		{"a wrapped value opens", mine, "key-1", wrapped, ""},
		{"a plain value opens without a key", none, "key-1", plain, ""},
		{"a plain value opens with a key too", mine, "key-1", plain, ""},
		{"without the key it stays closed", none, "key-1", wrapped, "none is given (STEWARD_MASTER_KEY)"},
		{"another key does not open it", other, "key-1", wrapped, "is not the key that wrapped secret"},
		{"under another name it stays closed", mine, "key-2", wrapped, "STEWARD_MASTER_KEY"},
		{"altered it stays closed", mine, "key-1", wrapped[:len(wrapped)-6] + "AAAAA=", "key-1"},
		{"cut short it stays closed", mine, "key-1", "v1:AAAA", "STEWARD_MASTER_KEY"},
		{"broken base64 is told", mine, "key-1", "v1:!!", "damaged"},
		{"an unknown mark is told", mine, "key-1", "v9:AAAA", "unknown form"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			opened, err := tc.vault.Open(tc.label, tc.value)
			if tc.wrong == "" {
				if err != nil || !bytes.Equal(opened, secret) {
					t.Errorf("got %q, %v", opened, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.wrong) {
				t.Errorf("got %v, want a message with %q", err, tc.wrong)
			}
		})
	}
	if none.NeedsWrap(plain) || mine.NeedsWrap(wrapped) || !mine.NeedsWrap(plain) {
		t.Error("only a plain value beside a key needs to be wrapped")
	}
}

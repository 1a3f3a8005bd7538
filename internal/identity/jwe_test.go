package identity

import (
	"bytes"
	"compress/flate"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
)

// seal encrypts as a client does that has read the published keys.
type seal struct {
	key       any
	algorithm jose.KeyAlgorithm
	content   jose.ContentEncryption
	options   *jose.EncrypterOptions
}

func (s seal) password(t testing.TB, password string) string {
	t.Helper()
	encrypter, err := jose.NewEncrypter(s.content, jose.Recipient{Algorithm: s.algorithm, Key: s.key}, s.options)
	if err != nil {
		t.Fatal(err)
	}
	envelope, err := encrypter.Encrypt([]byte(password))
	if err != nil {
		t.Fatal(err)
	}
	text, err := envelope.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func clientSeal(t testing.TB, ring *Keyring) seal {
	t.Helper()
	var set jose.JSONWebKeySet
	if err := json.Unmarshal(ring.JWKS(), &set); err != nil {
		t.Fatal(err)
	}
	for _, key := range set.Keys {
		if key.Use == "enc" {
			return seal{key: key, algorithm: jose.KeyAlgorithm(key.Algorithm), content: jose.A256GCM}
		}
	}
	t.Fatal("no encryption key is published")
	return seal{}
}

func TestOpenPassword(t *testing.T) {
	ring := sqliteRing(t, newHandClock())
	client := clientSeal(t, ring)
	own := ring.keys.Load().opening[0]
	stranger, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	good := client.password(t, "Ünïcode pass")
	parts := strings.Split(good, ".")
	b64 := base64.RawURLEncoding.EncodeToString
	with := func(change func(*seal)) string {
		s := client
		change(&s)
		return s.password(t, "Ünïcode pass")
	}
	type outcome int
	const (
		opened outcome = iota
		asItStands
		sealed
	)
	for _, tc := range []struct {
		name, value string
		encrypted   bool
		want        outcome
	}{
		{"an envelope is opened", good, true, opened},
		{"an envelope that names no key is opened", with(func(s *seal) { s.key = own.private.Public() }), true, opened},
		{"with the flag false even an envelope is the password", good, false, asItStands},
		{"a plain password is taken as it stands", "Ünïcode pass", true, asItStands},
		{"nothing is taken as it stands", "", true, asItStands},
		{"a password with four dots is no envelope", "a.b.c.d.e", true, asItStands},
		{"four dots alone are no envelope", "....", true, asItStands},
		{"JSON that names no algorithms is no envelope", b64([]byte(`{"a":1}`)) + ".b.c.d.e", true, asItStands},
		{"a signed token is no envelope", "eyJhbGciOiJFUzI1NiJ9.e30.AAAA", true, asItStands},
		{"a megabyte is taken as it stands", strings.Repeat("x", 1<<20), true, asItStands},
		{"a megabyte of dots is taken as it stands", strings.Repeat(".", 1<<20), true, asItStands},
		{"a megabyte in an envelope stays closed", parts[0] + "." + parts[1] + "." + parts[2] + "." + strings.Repeat("A", 1<<20) + "." + parts[4], true, sealed},
		{"encrypted for somebody else", with(func(s *seal) { s.key = stranger.Public() }), true, sealed},
		{"encrypted for somebody else under our key id", with(func(s *seal) {
			s.key = jose.JSONWebKey{Key: stranger.Public(), KeyID: own.id}
		}), true, sealed},
		{"an unknown key id", with(func(s *seal) {
			s.key = jose.JSONWebKey{Key: own.private.Public(), KeyID: strings.Repeat("x", thumbprintLength)}
		}), true, sealed},
		{"the key id of the signing key", with(func(s *seal) {
			s.key = jose.JSONWebKey{Key: own.private.Public(), KeyID: ring.keys.Load().signing.id}
		}), true, sealed},
		{"RSA-OAEP with SHA-1", with(func(s *seal) { s.algorithm = jose.RSA_OAEP }), true, sealed},
		{"RSA1_5", with(func(s *seal) { s.algorithm = jose.RSA1_5 }), true, sealed},
		{"a symmetric key made of the public one", with(func(s *seal) { s.algorithm, s.key = jose.A256KW, make([]byte, 32) }), true, sealed},
		{"another content cipher", with(func(s *seal) { s.content = jose.A128CBC_HS256 }), true, sealed},
		{"A128GCM", with(func(s *seal) { s.content = jose.A128GCM }), true, sealed},
		{"compressed", with(func(s *seal) { s.options = &jose.EncrypterOptions{Compression: jose.DEFLATE} }), true, sealed},
		{"a header that must be understood", with(func(s *seal) {
			s.options = &jose.EncrypterOptions{ExtraHeaders: map[jose.HeaderKey]any{"crit": []string{"exp"}, "exp": 1}}
		}), true, sealed},
		{"an altered text", parts[0] + "." + parts[1] + "." + parts[2] + ".AAAA." + parts[4], true, sealed},
		{"an altered tag", strings.Join(parts[:4], ".") + "." + b64(make([]byte, 16)), true, sealed},
		{"a short tag", strings.Join(parts[:4], ".") + ".AA", true, sealed},
		{"no encrypted key", parts[0] + ".." + parts[2] + "." + parts[3] + "." + parts[4], true, sealed},
		{"another header", b64([]byte(`{"alg":"RSA-OAEP-256","enc":"A256GCM","kid":"`+own.id+`","x":1}`)) + strings.TrimPrefix(good, parts[0]), true, sealed},
		{"algorithm dir", b64([]byte(`{"alg":"dir","enc":"A256GCM"}`)) + "..AAAA.AAAA.AAAA", true, sealed},
		{"broken base64 in a part", parts[0] + ".!." + parts[2] + "." + parts[3] + "." + parts[4], true, sealed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			plain, err := ring.OpenPassword(tc.value, tc.encrypted)
			switch tc.want {
			case opened:
				if plain != "Ünïcode pass" || err != nil {
					t.Errorf("got %q, %v", plain, err)
				}
			case asItStands:
				if plain != tc.value || err != nil {
					t.Errorf("got %d bytes, %v", len(plain), err)
				}
			case sealed:
				if plain != "" || !errors.Is(err, errSealed) {
					t.Errorf("got %q, %v", plain, err)
				}
			}
		})
	}
	if _, err := ring.OpenPassword(client.password(t, "\xff\xfe"), true); !errors.Is(err, errSealed) {
		t.Errorf("broken UTF-8 in an envelope: %v", err)
	}
}

func TestACompressedBombIsNotUnpacked(t *testing.T) {
	ring := sqliteRing(t, newHandClock())
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	client := clientSeal(t, ring)
	client.options = &jose.EncrypterOptions{ExtraHeaders: map[jose.HeaderKey]any{"zip": "DEF"}}
	if _, err := ring.OpenPassword(client.password(t, packed.String()), true); !errors.Is(err, errSealed) {
		t.Errorf("got %v", err)
	}
}

func TestRetiredEncryptionKeysStillOpen(t *testing.T) {
	clock := newHandClock()
	ring := sqliteRing(t, clock)
	named := clientSeal(t, ring)
	unnamed := named
	unnamed.key = ring.keys.Load().opening[0].private.Public()
	old := []string{named.password(t, "secret pass"), unnamed.password(t, "secret pass")}
	if err := ring.Rotate(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, value := range old {
		if plain, err := ring.OpenPassword(value, true); plain != "secret pass" || err != nil {
			t.Errorf("after the rotation: %q, %v", plain, err)
		}
	}
	clock.advance(encryptGrace)
	for _, value := range old {
		if _, err := ring.OpenPassword(value, true); !errors.Is(err, errSealed) {
			t.Errorf("a day later: %v", err)
		}
	}
	if plain, err := ring.OpenPassword(clientSeal(t, ring).password(t, "new pass"), true); plain != "new pass" || err != nil {
		t.Errorf("with the new key: %q, %v", plain, err)
	}
}

func FuzzOpenPassword(f *testing.F) {
	ring := sqliteRing(f, newHandClock())
	good := clientSeal(f, ring).password(f, "password")
	for _, seed := range []string{"", "....", "a.b.c.d.e", good[:len(good)-1], good + "A", strings.ToUpper(good), "e30.e30.e30.e30.e30"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		plain, err := ring.OpenPassword(value, true)
		if err == nil && plain != value && value != good {
			t.Errorf("%q became %q", value, plain)
		}
	})
}

func BenchmarkOpenPassword(b *testing.B) {
	ring := sqliteRing(b, newHandClock())
	value := clientSeal(b, ring).password(b, "password")
	for b.Loop() {
		if plain, err := ring.OpenPassword(value, true); plain != "password" || err != nil {
			b.Fatal(err)
		}
	}
}

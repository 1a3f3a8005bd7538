package identity

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	josejwt "github.com/go-jose/go-jose/v4/jwt"
	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"steward/internal/fault"
)

const testIssuer = "https://steward.example"

func testSigner(t testing.TB) (*Signer, *handClock) {
	clock := newHandClock()
	return NewSigner(SignerOptions{Keyring: sqliteRing(t, clock), Issuer: testIssuer, Now: clock.now}), clock
}

func tenantClaims(clock *handClock) Claims {
	return Claims{
		ID: uuid.New(), UserID: uuid.New(), SessionID: uuid.New(), Generation: 7, Name: "Ada Lovelace", Email: "ada@example.com",
		Roles: []string{"Member", "Clerk"}, Permissions: []string{"read:users", "read:reports"},
		TokenType: tokenTenant, TenantID: uuid.New(), TenantName: "Default",
		IssuedAt: clock.now(), ExpiresAt: clock.now().Add(tenantTokenTTL),
	}
}

func mustSign(t testing.TB, s *Signer, c Claims) string {
	t.Helper()
	token, err := s.Sign(c)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestTokenRoundTrip(t *testing.T) {
	signer, clock := testSigner(t)
	tenant := tenantClaims(clock)
	global := Claims{
		ID: uuid.New(), UserID: uuid.New(), SessionID: uuid.New(), Email: "a@b.c", Roles: []string{}, Permissions: []string{},
		TokenType: tokenGlobal, IssuedAt: clock.now(), ExpiresAt: clock.now().Add(globalTokenTTL),
	}
	for name, claims := range map[string]Claims{"a tenant token": tenant, "a global token": global} {
		t.Run(name, func(t *testing.T) {
			token := mustSign(t, signer, claims)
			for range 2 { // the second time from memory
				got, err := signer.Verify(token)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(claims, *got); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
	if hits, misses, size := signer.CacheStats(); hits != 2 || misses != 2 || size != 2 {
		t.Errorf("%d hits, %d misses, %d remembered", hits, misses, size)
	}
}

func TestTokenOnTheWire(t *testing.T) {
	signer, clock := testSigner(t)
	c := tenantClaims(clock)
	c.IssuedAt = c.IssuedAt.Add(900 * time.Millisecond)
	want := map[string]any{
		"iss": testIssuer, "aud": "steward", "sub": c.UserID.String(), "jti": c.ID.String(), "sid": c.SessionID.String(),
		"iat": float64(clock.now().Unix()), "exp": float64(clock.now().Unix() + 3600), "name": c.Name, "email": c.Email,
		"roles": []any{"Member", "Clerk"}, "permissions": []any{"read:users", "read:reports"},
		"token_type": "Tenant", "tenant_id": c.TenantID.String(), "tenant_name": "Default", "gen": float64(7),
	}
	var got map[string]any
	if !readPayload(mustSign(t, signer, c), &got) {
		t.Fatal("not a JWT")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	c.TokenType, c.Roles, c.Permissions, got = tokenGlobal, nil, nil, nil
	readPayload(mustSign(t, signer, c), &got)
	if got["tenant_id"] != nil || got["tenant_name"] != nil {
		t.Error("a global token names a tenant")
	}
	if roles, ok := got["roles"].([]any); !ok || len(roles) != 0 {
		t.Errorf("no roles are written as %v", got["roles"])
	}
}

func TestStockLibrariesVerifyOffline(t *testing.T) {
	signer, clock := testSigner(t)
	token := mustSign(t, signer, tenantClaims(clock))
	var keys jose.JSONWebKeySet
	if err := json.Unmarshal(signer.keys.JWKS(), &keys); err != nil {
		t.Fatal(err)
	}
	parsed, err := josejwt.ParseSigned(token, []jose.SignatureAlgorithm{jose.ES256})
	if err != nil {
		t.Fatal(err)
	}
	var claims josejwt.Claims
	if err := parsed.Claims(&keys, &claims); err != nil {
		t.Fatal(err)
	}
	if err := claims.Validate(josejwt.Expected{Issuer: testIssuer, AnyAudience: josejwt.Audience{"steward"}, Time: clock.now()}); err != nil {
		t.Error(err)
	}
}

// forge signs whatever a test makes up, with our own key unless the test brings another.
type forge struct {
	method jwt.SigningMethod
	key    any
	header map[string]any
	claims map[string]any
}

func (f forge) token(t testing.TB) string {
	t.Helper()
	token := jwt.NewWithClaims(f.method, jwt.MapClaims(f.claims))
	for name, value := range f.header {
		token.Header[name] = value
	}
	signed, err := token.SignedString(f.key)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

// newForge is a genuine token that a test then spoils.
func newForge(t testing.TB, s *Signer, clock *handClock) forge {
	t.Helper()
	text, err := json.Marshal(s.wire(tenantClaims(clock)))
	if err != nil {
		t.Fatal(err)
	}
	own := s.keys.keys.Load().signing
	f := forge{method: jwt.SigningMethodES256, key: own.private, header: map[string]any{"kid": own.id}}
	if err := json.Unmarshal(text, &f.claims); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestForgedTokensAreRefused(t *testing.T) {
	signer, clock := testSigner(t)
	stranger, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	own := signer.keys.keys.Load()
	publicDER, err := x509.MarshalPKIXPublicKey(own.signing.private.Public())
	if err != nil {
		t.Fatal(err)
	}
	publicPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: publicDER})
	set := func(name string, value any) func(*forge) { return func(f *forge) { f.claims[name] = value } }
	drop := func(name string) func(*forge) { return func(f *forge) { delete(f.claims, name) } }
	for _, tc := range []struct {
		name  string
		spoil func(*forge)
		want  fault.Code // empty: it is good
	}{
		{"an unspoilt one is good", func(*forge) {}, ""},
		{"algorithm none", func(f *forge) { f.method, f.key = jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType }, fault.TokenInvalid},
		{"HS256 with the public key as the secret", func(f *forge) { f.method, f.key = jwt.SigningMethodHS256, publicPEM }, fault.TokenInvalid},
		{"HS256 with the DER of the public key", func(f *forge) { f.method, f.key = jwt.SigningMethodHS256, publicDER }, fault.TokenInvalid},
		{"signed with the encryption key", func(f *forge) {
			f.method, f.key, f.header["kid"] = jwt.SigningMethodRS256, own.opening[0].private, own.opening[0].id
		}, fault.TokenInvalid},
		{"another key under our kid", func(f *forge) { f.key = stranger }, fault.TokenInvalid},
		{"an unknown kid", func(f *forge) { f.header["kid"] = strings.Repeat("x", thumbprintLength) }, fault.TokenInvalid},
		{"the kid of the encryption key", func(f *forge) { f.header["kid"] = own.opening[0].id }, fault.TokenInvalid},
		{"no kid", func(f *forge) { f.header["kid"] = "" }, fault.TokenInvalid},
		{"a kid that is a number", func(f *forge) { f.header["kid"] = 7 }, fault.TokenInvalid},
		{"a key of its own in the header", func(f *forge) {
			f.key, f.header["jwk"] = stranger, jose.JSONWebKey{Key: stranger.Public()}
		}, fault.TokenInvalid},
		{"another issuer", set("iss", "https://elsewhere.example"), fault.TokenInvalid},
		{"our issuer with a slash", set("iss", testIssuer+"/"), fault.TokenInvalid},
		{"no issuer", drop("iss"), fault.TokenInvalid},
		{"another audience", set("aud", "other"), fault.TokenInvalid},
		{"no audience", drop("aud"), fault.TokenInvalid},
		{"no expiry", drop("exp"), fault.TokenInvalid},
		{"expiry null", set("exp", nil), fault.TokenInvalid},
		{"expiry as text", set("exp", "2030-01-01"), fault.TokenInvalid},
		{"expired an hour ago", set("exp", clock.now().Add(-time.Hour).Unix()), fault.TokenExpired},
		{"expires this very second", set("exp", clock.now().Unix()), fault.TokenExpired},
		{"expired and foreign", func(f *forge) {
			f.claims["exp"], f.claims["iss"] = clock.now().Add(-time.Hour).Unix(), "https://elsewhere.example"
		}, fault.TokenInvalid},
		{"expired under another key", func(f *forge) {
			f.key, f.claims["exp"] = stranger, clock.now().Add(-time.Hour).Unix()
		}, fault.TokenInvalid},
		{"not valid before tomorrow", set("nbf", clock.now().Add(24*time.Hour).Unix()), fault.TokenInvalid},
		{"valid since yesterday", set("nbf", clock.now().Add(-24*time.Hour).Unix()), ""},
		{"a refresh token's type", set("token_type", "Refresh"), fault.TokenInvalid},
		{"no type", drop("token_type"), fault.TokenInvalid},
		{"the type in another case", set("token_type", "tenant"), fault.TokenInvalid},
		{"a global token that names a tenant", set("token_type", tokenGlobal), fault.TokenInvalid},
		{"a tenant token without a tenant", drop("tenant_id"), fault.TokenInvalid},
		{"the nil tenant", set("tenant_id", uuid.Nil), fault.TokenInvalid},
		{"no subject", drop("sub"), fault.TokenInvalid},
		{"a subject that is no id", set("sub", "ada"), fault.TokenInvalid},
		{"no session", drop("sid"), fault.TokenInvalid},
		{"roles as text", set("roles", "admin"), fault.TokenInvalid},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newForge(t, signer, clock)
			tc.spoil(&f)
			_, err := signer.Verify(f.token(t))
			checkCode(t, err, tc.want)
		})
	}
}

func checkCode(t *testing.T, err error, want fault.Code) {
	t.Helper()
	if want == "" && err != nil || want != "" && !fault.Is(err, want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

func TestAlteredTokensAreRefused(t *testing.T) {
	signer, clock := testSigner(t)
	genuine := mustSign(t, signer, tenantClaims(clock))
	parts := strings.Split(genuine, ".")
	opaque, _ := newOpaque()
	for name, token := range map[string]string{
		"nothing":                      "",
		"a word":                       "token",
		"a refresh token":              opaque,
		"dots":                         "..",
		"two parts":                    parts[0] + "." + parts[1],
		"four parts":                   genuine + ".x",
		"no signature":                 parts[0] + "." + parts[1] + ".",
		"a signature cut short":        genuine[:len(genuine)-4],
		"a signature with more":        genuine + "AAAA",
		"padding":                      genuine + "=",
		"a blank in front":             " " + genuine,
		"a line end":                   genuine + "\n",
		"claims swapped":               parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"x"}`)) + "." + parts[2],
		"claims that are no object":    parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(`[1]`)) + "." + parts[2],
		"a header that is null":        base64.RawURLEncoding.EncodeToString([]byte(`null`)) + "." + parts[1] + "." + parts[2],
		"a header that is no object":   base64.RawURLEncoding.EncodeToString([]byte(`7`)) + "." + parts[1] + "." + parts[2],
		"other trailing bits":          otherTrailingBits(genuine),
		"a zero signature":             parts[0] + "." + parts[1] + "." + base64.RawURLEncoding.EncodeToString(make([]byte, 64)),
		"a megabyte":                   strings.Repeat("a", 1<<20),
		"a megabyte in front":          strings.Repeat("a", 1<<20) + genuine,
		"broken UTF-8":                 "\xff\xfe." + parts[1] + "." + parts[2],
		"deep JSON":                    base64.RawURLEncoding.EncodeToString([]byte(strings.Repeat("[", 5000))) + "." + parts[1] + "." + parts[2],
		"the signature of another one": parts[0] + "." + parts[1] + "." + strings.Split(mustSign(t, signer, tenantClaims(clock)), ".")[2],
	} {
		t.Run(name, func(t *testing.T) {
			_, err := signer.Verify(token)
			checkCode(t, err, fault.TokenInvalid)
		})
	}
}

// otherTrailingBits changes the bits of the last letter that decode to nothing: the same signature,
// written in another way.
func otherTrailingBits(token string) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := strings.IndexByte(alphabet, token[len(token)-1])
	return token[:len(token)-1] + string(alphabet[last^1])
}

func TestRememberedTokensExpire(t *testing.T) {
	signer, clock := testSigner(t)
	token := mustSign(t, signer, tenantClaims(clock))
	for range 2 {
		if _, err := signer.Verify(token); err != nil {
			t.Fatal(err)
		}
	}
	clock.advance(tenantTokenTTL - time.Second)
	if _, err := signer.Verify(token); err != nil {
		t.Errorf("a second before its end: %v", err)
	}
	clock.advance(time.Second)
	for range 2 {
		_, err := signer.Verify(token)
		checkCode(t, err, fault.TokenExpired)
	}
	if _, _, size := signer.CacheStats(); size != 0 {
		t.Error("an expired token is remembered")
	}
}

func TestTokensOfAKeyThatWasWithdrawnAreForgotten(t *testing.T) {
	signer, clock := testSigner(t)
	token := mustSign(t, signer, tenantClaims(clock))
	if _, err := signer.Verify(token); err != nil {
		t.Fatal(err)
	}
	if err := signer.keys.Rotate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := signer.Verify(token); err != nil {
		t.Errorf("after a rotation: %v", err)
	}
	// Long after the rotation the key is gone, and nothing verified with it may live on.
	clock.advance(tenantTokenTTL + retireMargin)
	purge(t, signer.keys)
	_, err := signer.Verify(token)
	checkCode(t, err, fault.TokenInvalid)
}

func TestTokenCacheIsBounded(t *testing.T) {
	cache, keys := newTokenCache(tokenShards*4), &keySet{}
	soon, late := &Claims{ExpiresAt: time.Unix(1, 0)}, &Claims{ExpiresAt: time.Unix(1000, 0)}
	for i := range 10_000 {
		claims := late
		if i%2 == 0 {
			claims = soon
		}
		cache.put(fmt.Sprintf("header.claims.%d", i*7919), keys, claims)
	}
	if _, _, size := cache.stats(); size > tokenShards*4 {
		t.Errorf("%d tokens are remembered", size)
	}
	for i := range cache.shards {
		left := 0
		for _, v := range cache.shards[i].tokens {
			if v.claims == soon {
				left++
			}
		}
		if left > 1 { // the latest arrival may be one of them
			t.Errorf("%d tokens stayed in place of some that live longer", left)
		}
	}
}

func TestTokenCacheInParallel(t *testing.T) {
	signer, clock := testSigner(t)
	var tokens []string
	for range 20 {
		tokens = append(tokens, mustSign(t, signer, tenantClaims(clock)))
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for i := range 500 {
				if _, err := signer.Verify(tokens[i%len(tokens)]); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
}

func TestOpaqueTokens(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		token, hash := newOpaque()
		bits, err := base64.RawURLEncoding.DecodeString(token)
		if err != nil || len(bits) != 32 || hash != hashOpaque(token) || len(hash) != 64 || strings.Contains(hash, token) || seen[token] {
			t.Fatalf("token %q, hash %q", token, hash)
		}
		seen[token] = true
	}
}

func FuzzVerify(f *testing.F) {
	signer, clock := testSigner(f)
	genuine := mustSign(f, signer, tenantClaims(clock))
	parts := strings.Split(genuine, ".")
	for _, seed := range []string{
		"", ".", "..", "a.b.c", genuine[:len(genuine)-1], genuine + ".", genuine + "A", parts[0] + "." + parts[1] + ".",
		parts[1] + "." + parts[0] + "." + parts[2], "eyJhbGciOiJub25lIn0." + parts[1] + ".",
		"eyJhbGciOiJIUzI1NiJ9." + parts[1] + "." + parts[2], strings.ToUpper(genuine),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, token string) {
		if token == genuine {
			t.Skip()
		}
		if _, err := signer.Verify(token); err == nil {
			t.Errorf("accepted %q", token)
		}
	})
}

func BenchmarkVerifyRemembered(b *testing.B) {
	signer, clock := testSigner(b)
	token := mustSign(b, signer, tenantClaims(clock))
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := signer.Verify(token); err != nil {
				b.Error(err)
			}
		}
	})
}

func BenchmarkVerifyNew(b *testing.B) {
	signer, clock := testSigner(b)
	token := mustSign(b, signer, tenantClaims(clock))
	for b.Loop() {
		if _, err := signer.parse(token); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSign(b *testing.B) {
	signer, clock := testSigner(b)
	claims := tenantClaims(clock)
	for b.Loop() {
		mustSign(b, signer, claims)
	}
}

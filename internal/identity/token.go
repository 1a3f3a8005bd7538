package identity

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
	"unique"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"steward/internal/fault"
)

// The token types on the wire.
const (
	tokenTenant = "Tenant"
	tokenGlobal = "Global"
)

// Audience is the aud of every token: this program, and the services that trust it.
const Audience = "steward"

// maxTokenBytes bounds what is looked at; a header line longer than this is no token of ours.
const maxTokenBytes = 48 << 10

// Claims is what an access token says. Those returned by Verify are shared: read them only.
type Claims struct {
	ID          uuid.UUID // jti; Sign makes one up where it is zero
	UserID      uuid.UUID
	SessionID   uuid.UUID
	Generation  int64
	Name        string
	Email       string
	Roles       []string
	Permissions []string
	TokenType   string // Tenant or Global
	TenantID    uuid.UUID
	TenantName  string
	IssuedAt    time.Time // whole seconds
	ExpiresAt   time.Time // whole seconds
}

// wireClaims is Claims in the names and forms of a JWT.
type wireClaims struct {
	Issuer      string     `json:"iss"`
	Audience    string     `json:"aud"`
	UserID      uuid.UUID  `json:"sub"`
	ID          uuid.UUID  `json:"jti"`
	SessionID   uuid.UUID  `json:"sid"`
	IssuedAt    int64      `json:"iat"`
	ExpiresAt   int64      `json:"exp"`
	NotBefore   int64      `json:"nbf,omitempty"`
	Name        string     `json:"name"`
	Email       string     `json:"email"`
	Roles       []string   `json:"roles"`
	Permissions []string   `json:"permissions"`
	TokenType   string     `json:"token_type"`
	TenantID    *uuid.UUID `json:"tenant_id,omitempty"`
	TenantName  string     `json:"tenant_name,omitempty"`
	Generation  int64      `json:"gen"`
}

// SignerOptions is what a signer is made of. CacheSize may be left zero.
type SignerOptions struct {
	Keyring *Keyring
	Issuer  string // the public URL
	Now     func() time.Time
	// CacheSize bounds the number of verified tokens that are remembered; default 50,000.
	CacheSize int
}

// Signer makes access tokens and checks them.
type Signer struct {
	keys   *Keyring
	issuer string
	now    func() time.Time
	parser *jwt.Parser
	cache  *tokenCache
}

// NewSigner makes a signer for one issuer.
func NewSigner(o SignerOptions) *Signer {
	return &Signer{
		keys: o.Keyring, issuer: o.Issuer, now: o.Now, cache: newTokenCache(orDefault(o.CacheSize, 50_000)),
		// The claims are checked here, not by the library: a token that is both expired and foreign
		// must be called foreign.
		parser: jwt.NewParser(jwt.WithValidMethods([]string{"ES256"}), jwt.WithStrictDecoding(), jwt.WithoutClaimsValidation()),
	}
}

// Sign makes the access token, signed with the current key.
func (s *Signer) Sign(c Claims) (string, error) {
	if c.ID == uuid.Nil {
		id, err := newID()
		if err != nil {
			return "", err
		}
		c.ID = id
	}
	signing := s.keys.keys.Load().signing
	token := jwt.NewWithClaims(jwt.SigningMethodES256, s.wire(c))
	token.Header["kid"] = signing.id
	signed, err := token.SignedString(signing.private)
	if err != nil {
		return "", fmt.Errorf("sign token: %w", err)
	}
	if len(signed) > maxTokenBytes {
		return "", fault.New(fault.Forbidden, "The roles held in this tenant have too many permissions for one token; a role with the permission * needs only one.")
	}
	return signed, nil
}

func (s *Signer) wire(c Claims) *wireClaims {
	w := &wireClaims{
		Issuer: s.issuer, Audience: Audience, UserID: c.UserID, ID: c.ID, SessionID: c.SessionID,
		IssuedAt: c.IssuedAt.Unix(), ExpiresAt: c.ExpiresAt.Unix(), Name: c.Name, Email: c.Email,
		Roles: append([]string{}, c.Roles...), Permissions: append([]string{}, c.Permissions...),
		TokenType: c.TokenType, Generation: c.Generation,
	}
	if c.TokenType == tokenTenant {
		w.TenantID, w.TenantName = &c.TenantID, c.TenantName
	}
	return w
}

// Verify returns what the token says if this program signed it and it has not ended. It fails with
// TOKEN_INVALID or TOKEN_EXPIRED. A token seen before costs a map look-up.
func (s *Signer) Verify(token string) (*Claims, error) {
	if len(token) > maxTokenBytes {
		return nil, invalidToken(errors.New("too long"))
	}
	set, now := s.keys.keys.Load(), s.now()
	claims := s.cache.get(token, set)
	if claims == nil {
		wire, err := s.parse(token)
		if err != nil {
			return nil, err
		}
		claims = wire.claims()
		if now.Before(claims.ExpiresAt) {
			s.cache.put(token, set, claims)
		}
	}
	if !now.Before(claims.ExpiresAt) {
		s.cache.drop(token)
		return nil, fault.New(fault.TokenExpired, "The token has expired.")
	}
	return claims, nil
}

// CacheStats counts the look-ups of verified tokens since the start, and those remembered now.
func (s *Signer) CacheStats() (hits, misses uint64, size int) { return s.cache.stats() }

// parse checks everything but the end of the token's life.
func (s *Signer) parse(token string) (*wireClaims, error) {
	if strings.ContainsAny(token, "\r\n") { // the decoder would skip them: one token, many spellings
		return nil, invalidToken(errors.New("line ends"))
	}
	var wire wireClaims
	var trouble error
	_, err := s.parser.ParseWithClaims(token, &wire, func(t *jwt.Token) (any, error) {
		id, _ := t.Header["kid"].(string)
		found, err := s.keys.find(id, useSign)
		if err != nil {
			trouble = err
			return nil, err
		}
		if found == nil {
			return nil, errors.New("unknown kid")
		}
		return found.private.Public(), nil
	})
	if trouble != nil {
		return nil, fault.New(fault.Unavailable, "The token cannot be checked right now.").Because(trouble).RetryIn(time.Second)
	}
	if err != nil {
		return nil, invalidToken(err)
	}
	if err := s.check(&wire); err != nil {
		return nil, invalidToken(err)
	}
	return &wire, nil
}

// check refuses what carries our signature but is no access token of this issuer.
func (s *Signer) check(w *wireClaims) error {
	inTenant := w.TenantID != nil && *w.TenantID != uuid.Nil
	switch {
	case w.Issuer != s.issuer:
		return errors.New("other issuer")
	case w.Audience != Audience:
		return errors.New("other audience")
	case w.TokenType != tokenTenant && w.TokenType != tokenGlobal:
		return errors.New("other token type")
	case inTenant != (w.TokenType == tokenTenant):
		return errors.New("token type and tenant do not fit")
	case w.UserID == uuid.Nil || w.SessionID == uuid.Nil:
		return errors.New("no subject or session")
	case w.ExpiresAt <= 0:
		return errors.New("no expiry")
	case w.NotBefore > s.now().Unix():
		return errors.New("not valid yet")
	}
	return nil
}

func invalidToken(cause error) *fault.Fault {
	return fault.New(fault.TokenInvalid, "The token is not valid.").Because(cause)
}

// claims shares the strings that many tokens have in common, since thousands are remembered.
func (w *wireClaims) claims() *Claims {
	c := &Claims{
		ID: w.ID, UserID: w.UserID, SessionID: w.SessionID, Generation: w.Generation, Name: w.Name, Email: w.Email,
		Roles: shared(w.Roles), Permissions: shared(w.Permissions), TokenType: unique.Make(w.TokenType).Value(),
		TenantName: unique.Make(w.TenantName).Value(),
		IssuedAt:   time.Unix(w.IssuedAt, 0).UTC(), ExpiresAt: time.Unix(w.ExpiresAt, 0).UTC(),
	}
	if w.TenantID != nil {
		c.TenantID = *w.TenantID
	}
	return c
}

func shared(words []string) []string {
	out := make([]string, len(words))
	for i, word := range words {
		out[i] = unique.Make(word).Value()
	}
	return out
}

// The library asks for these; the checks above do not go through it.
func (w *wireClaims) GetExpirationTime() (*jwt.NumericDate, error) { return nil, nil }
func (w *wireClaims) GetIssuedAt() (*jwt.NumericDate, error)       { return nil, nil }
func (w *wireClaims) GetNotBefore() (*jwt.NumericDate, error)      { return nil, nil }
func (w *wireClaims) GetIssuer() (string, error)                   { return w.Issuer, nil }
func (w *wireClaims) GetSubject() (string, error)                  { return w.UserID.String(), nil }
func (w *wireClaims) GetAudience() (jwt.ClaimStrings, error) {
	return jwt.ClaimStrings{w.Audience}, nil
}

// newOpaque makes a token that says nothing: 256 random bits for the client, and the hash under
// which the store keeps it.
func newOpaque() (token, hash string) {
	var bits [32]byte
	rand.Read(bits[:])
	token = base64.RawURLEncoding.EncodeToString(bits[:])
	return token, hashOpaque(token)
}

// hashOpaque needs no salt: nobody guesses 256 random bits.
func hashOpaque(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

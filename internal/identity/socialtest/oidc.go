package socialtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// issuerKeys is what the OpenID Connect issuer signs with.
type issuerKeys struct {
	mu      sync.Mutex
	id      string
	private *ecdsa.PrivateKey
}

func (k *issuerKeys) rotate() {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.id, k.private = randomText(), private
}

func (k *issuerKeys) sign(claims map[string]any) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	key := jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: k.private, KeyID: k.id}}
	signer, err := jose.NewSigner(key, nil)
	if err != nil {
		panic(err)
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		panic(err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		panic(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		panic(err)
	}
	return token
}

// RotateKeys makes the issuer sign with a new key and publish only that.
func (s *Server) RotateKeys() { s.keys.rotate() }

// TokenWith returns a JWT of the OpenID Connect issuer. The claims are added to the usual ones; a
// nil value removes one.
func (s *Server) TokenWith(u User, claims map[string]any) string {
	u.Subject = orNumber(u.Subject)
	now := time.Now()
	all := map[string]any{
		"iss": s.URL("oidc"), "sub": u.Subject, "aud": "account", "azp": ClientID,
		"iat": now.Unix(), "exp": now.Add(time.Hour).Unix(), "jti": randomText(),
	}
	for name, value := range claims {
		all[name] = value
		if value == nil {
			delete(all, name)
		}
	}
	return s.remember(s.keys.sign(all), issued{"oidc", ClientID, u})
}

func (s *Server) discovery(w http.ResponseWriter, _ *http.Request) {
	issuer := s.URL("oidc")
	answer(w, http.StatusOK, map[string]any{
		"issuer": issuer, "jwks_uri": issuer + "/keys", "userinfo_endpoint": issuer + "/userinfo",
		"introspection_endpoint": issuer + "/introspect", "authorization_endpoint": issuer + "/authorize",
		"token_endpoint": issuer + "/token", "id_token_signing_alg_values_supported": []string{"ES256"},
	})
}

func (s *Server) keySet(w http.ResponseWriter, _ *http.Request) {
	s.keys.mu.Lock()
	defer s.keys.mu.Unlock()
	answer(w, http.StatusOK, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{
		{Key: s.keys.private.Public(), KeyID: s.keys.id, Algorithm: "ES256", Use: "sig"},
	}})
}

func (s *Server) introspect(w http.ResponseWriter, r *http.Request) {
	id, secret, _ := r.BasicAuth()
	if id != url.QueryEscape(ClientID) || secret != url.QueryEscape(ClientSecret) {
		answer(w, http.StatusUnauthorized, map[string]any{"error": "invalid_client"})
		return
	}
	found, ok := s.find("oidc", r.PostFormValue("token"))
	if !ok {
		answer(w, http.StatusOK, map[string]any{"active": false})
		return
	}
	answer(w, http.StatusOK, map[string]any{
		"active": true, "client_id": found.client, "sub": found.user.Subject, "iss": s.URL("oidc"),
	})
}

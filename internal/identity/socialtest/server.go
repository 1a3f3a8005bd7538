// Package socialtest runs the social sign-in providers inside a test: one server that speaks the
// endpoints of Google, Microsoft Graph, GitHub, Facebook and an OpenID Connect issuer, for people and
// tokens that the test makes up.
package socialtest

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// The application that tokens are issued for, unless a test says otherwise.
const (
	ClientID     = "steward-test"
	ClientSecret = "steward test/secret" // has to be escaped where OAuth says so
)

// Kinds lists the providers, each under a path of its own: URL(kind).
var Kinds = []string{"google", "microsoft", "github", "facebook", "oidc"}

// Provider is how a program reaches one of the providers. It converts to the configuration types
// that have the same fields.
type Provider struct{ Name, Kind, ClientID, ClientSecret, URL string }

// User is a person at a provider. Subject may be left empty (GitHub's must be a number).
type User struct {
	Subject       string
	Email         string
	EmailVerified bool
	Name          string
	Picture       string
}

// Mood is how a provider behaves.
type Mood int

// The moods.
const (
	Well      Mood = iota
	Down           // answers 503
	Busy           // answers 429 and asks for 7 seconds
	Hanging        // never answers
	Huge           // answers 2 MiB
	Garbled        // answers 200 with half a JSON object
	Elsewhere      // redirects to another host
)

// Server plays all providers at once.
type Server struct {
	web, elsewhere *httptest.Server
	strayed        atomic.Int32
	quit           chan struct{}
	mu             sync.Mutex
	moods          map[string]Mood
	tokens         map[string]issued
	keys           issuerKeys
}

// issued is a token that some provider has given out.
type issued struct {
	kind, client string
	user         User
}

// New starts the server; it ends with the test.
func New(t testing.TB) *Server {
	s := &Server{quit: make(chan struct{}), moods: map[string]Mood{}, tokens: map[string]issued{}}
	s.keys.rotate()
	s.elsewhere = httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { s.strayed.Add(1) }))
	s.web = httptest.NewServer(s.routes())
	t.Cleanup(func() {
		close(s.quit)
		s.web.Close()
		s.elsewhere.Close()
	})
	return s
}

// URL is the base address (for oidc: the issuer) of a provider.
func (s *Server) URL(kind string) string { return s.web.URL + "/" + kind }

// Config lists all providers, each named like its kind.
func (s *Server) Config() []Provider {
	var all []Provider
	for _, kind := range Kinds {
		all = append(all, Provider{Name: kind, Kind: kind, ClientID: ClientID, ClientSecret: ClientSecret, URL: s.URL(kind)})
	}
	return all
}

// Behave sets the mood of a provider.
func (s *Server) Behave(kind string, m Mood) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.moods[kind] = m
}

// Strayed counts the requests that followed a redirect away from the provider.
func (s *Server) Strayed() int { return int(s.strayed.Load()) }

// Token signs the person in at the provider and returns the access token.
func (s *Server) Token(kind string, u User) string { return s.TokenFor(kind, u, ClientID) }

// TokenFor returns a token that was issued for the given application.
func (s *Server) TokenFor(kind string, u User, clientID string) string {
	u.Subject = orNumber(u.Subject)
	switch kind {
	case "microsoft":
		return s.remember(graphToken(u, clientID), issued{kind, clientID, u})
	case "oidc":
		return s.TokenWith(u, map[string]any{"azp": clientID})
	}
	return s.remember(kind+"-"+randomText(), issued{kind, clientID, u})
}

// OpaqueToken returns a token of the OpenID Connect issuer that only introspection can judge.
func (s *Server) OpaqueToken(u User, clientID string) string {
	u.Subject = orNumber(u.Subject)
	return s.remember(randomText(), issued{"oidc", clientID, u})
}

// Revoke makes the provider refuse the token from now on.
func (s *Server) Revoke(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tokens, token)
}

func (s *Server) remember(token string, i issued) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens[token] = i
	return token
}

// find returns what the provider knows of a token.
func (s *Server) find(kind, token string) (issued, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.tokens[token]
	return found, ok && found.kind == kind
}

// bearer returns what the provider knows of the token in the header, or answers 401.
func (s *Server) bearer(kind string, w http.ResponseWriter, r *http.Request) (issued, bool) {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	found, ok := s.find(kind, token)
	if !ok {
		answer(w, http.StatusUnauthorized, map[string]any{"error": "invalid_token", "message": "Bad credentials: " + token})
	}
	return found, ok
}

// moody serves a provider's endpoint in the provider's present mood.
func (s *Server) moody(kind string, serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		mood := s.moods[kind]
		s.mu.Unlock()
		switch mood {
		case Well:
			serve(w, r)
		case Down:
			answer(w, http.StatusServiceUnavailable, map[string]any{"error": "down"})
		case Busy:
			w.Header().Set("Retry-After", "7")
			answer(w, http.StatusTooManyRequests, map[string]any{"error": "slow down"})
		case Hanging:
			s.hang(r)
		case Huge:
			answer(w, http.StatusOK, map[string]any{"sub": strings.Repeat("x", 2<<20)})
		case Garbled:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"sub": "1`)
		case Elsewhere:
			http.Redirect(w, r, s.elsewhere.URL+r.URL.Path, http.StatusTemporaryRedirect)
		}
	}
}

func (s *Server) hang(r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-s.quit:
	}
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func randomText() string { return rand.Text() }

func orNumber(subject string) string {
	if subject != "" {
		return subject
	}
	n, err := rand.Int(rand.Reader, big.NewInt(1<<53))
	if err != nil {
		panic(err)
	}
	return n.String()
}

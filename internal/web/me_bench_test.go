package web

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/uuid"
)

type meBody struct {
	ID          uuid.UUID `json:"id"`
	Name        string    `json:"name"`
	Email       string    `json:"email"`
	Roles       []string  `json:"roles"`
	Permissions []string  `json:"permissions"`
}

var me = meBody{
	ID: tenantID, Name: "Ada Lovelace", Email: "ada@example.com", Roles: []string{"Tenant Administrator"},
	Permissions: []string{"read:users", "create:users", "update:users", "delete:users", "read:roles", "create:roles", "update:roles", "read:reports"},
}

type meInput struct {
	Include string `query:"include" enum:"profile"`
}

func meServer(b *testing.B) http.Handler {
	s := newTestServer(b, Options{Limits: map[string]Limit{"identity": {N: 1 << 40, Window: DefaultLimits()["identity"].Window}}})
	group := Group{Convention: Envelope, Limit: "identity"}
	Handle(s, group.Get("/api/auth/me", AnyToken, "Me"), func(context.Context, *meInput) (*Reply[meBody], error) { return OK(me), nil })
	return s.Handler()
}

// bareServer answers the same bytes with nothing around them.
func bareServer(b *testing.B) http.Handler {
	body := call(b, meServer(b), "GET", "/api/auth/me", "", as("admin")...).Body.Bytes()
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", jsonType)
		_, _ = w.Write(body)
	})
}

func BenchmarkMe(b *testing.B) {
	for _, server := range []struct {
		name string
		make func(*testing.B) http.Handler
	}{{"bare", bareServer}, {"steward", meServer}} {
		b.Run("loopback/"+server.name, func(b *testing.B) { benchLoopback(b, server.make(b)) })
		b.Run("inprocess/"+server.name, func(b *testing.B) { benchInProcess(b, server.make(b)) })
	}
}

func benchLoopback(b *testing.B, h http.Handler) {
	ts := httptest.NewServer(h)
	defer ts.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	b.SetParallelism(8)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			r, _ := http.NewRequest(http.MethodGet, ts.URL+"/api/auth/me", nil)
			r.Header.Set("Authorization", "Bearer admin")
			response, err := client.Do(r)
			if err != nil || response.StatusCode != http.StatusOK {
				b.Error(err, response)
				return
			}
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
		}
	})
}

// sink is a writer that keeps nothing.
type sink struct{ header http.Header }

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) Write(p []byte) (int, error) { return len(p), nil }
func (s *sink) WriteHeader(int)             {}

func benchInProcess(b *testing.B, h http.Handler) {
	r := httptest.NewRequest(http.MethodGet, "/api/auth/me", nil)
	r.Header.Set("Authorization", "Bearer admin")
	b.ReportAllocs()
	for b.Loop() {
		h.ServeHTTP(&sink{header: http.Header{}}, r)
	}
}

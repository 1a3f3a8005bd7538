package web

import (
	"context"
	"strings"
	"testing"

	"github.com/google/uuid"

	"steward/internal/scope"
)

func TestAnAPIKeyDoesNotDoWhereAPersonIsAskedFor(t *testing.T) {
	s := newTestServer(t, Options{Auth: keyHolder{}})
	for prefix, g := range map[string]Group{"/api/": envelopes, "/api/v1/": problems} {
		Handle(s, g.Get(prefix+"any", AnyToken, ""), okHandler)
		Handle(s, g.Get(prefix+"person", AnyToken.InPerson(), ""), okHandler)
		Handle(s, g.Get(prefix+"member", TenantToken.InPerson(), ""), okHandler)
		Handle(s, g.Get(prefix+"things", Permission("read:things").InPerson(), ""), okHandler)
	}
	h := s.Handler()
	for _, path := range []string{"person", "member", "things"} {
		w := call(t, h, "GET", "/api/v1/"+path, "", as("key")...)
		wantStatus(t, w, 403)
		wantEqual(t, "code", decode(t, w)["code"], "FORBIDDEN")
		wantEqual(t, "errorCode", decode(t, call(t, h, "GET", "/api/"+path, "", as("key")...))["errorCode"], "FORBIDDEN")
		wantStatus(t, call(t, h, "GET", "/api/v1/"+path, "", as("person")...), 200)
	}
	wantStatus(t, call(t, h, "GET", "/api/v1/any", "", as("key")...), 200)
	text := at(t, document(t, s), "paths", "/api/v1/member", "get", "description").(string)
	wantEqual(t, "told", strings.Contains(text, "An API key does not do."), true)
	at(t, document(t, s), "paths", "/api/v1/person", "get", "responses", "403")
}

// keyHolder knows a person and their key.
type keyHolder struct{}

func (keyHolder) Authenticate(_ context.Context, bearer string) (*scope.Actor, error) {
	a := &scope.Actor{UserID: uuid.New(), TenantID: uuid.New(), InTenant: true, Permissions: []string{"read:things"}}
	if bearer == "key" {
		a.APIKeyID = uuid.New()
	}
	return a, nil
}

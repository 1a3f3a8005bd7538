package api

import (
	"context"
	"encoding/json"

	"steward/internal/web"
)

func (a *API) jwks(context.Context, *struct{}) (*web.Reply[json.RawMessage], error) {
	return web.OK(json.RawMessage(a.Identity.JWKS())), nil
}

// issuer is the part of an OpenID provider's metadata that verifying a token needs.
type issuer struct {
	Issuer            string   `json:"issuer"`
	JWKSURI           string   `json:"jwks_uri"`
	ResponseTypes     []string `json:"response_types_supported"`
	SubjectTypes      []string `json:"subject_types_supported"`
	SigningAlgorithms []string `json:"id_token_signing_alg_values_supported"`
	Claims            []string `json:"claims_supported"`
}

func (a *API) discovery(context.Context, *struct{}) (*web.Reply[issuer], error) {
	return web.OK(issuer{
		Issuer: a.Issuer, JWKSURI: a.Issuer + "/.well-known/jwks.json",
		ResponseTypes: []string{"token"}, SubjectTypes: []string{"public"}, SigningAlgorithms: []string{"ES256"},
		Claims: []string{"iss", "aud", "sub", "jti", "sid", "iat", "exp", "name", "email", "roles", "permissions", "token_type", "tenant_id", "tenant_name", "gen"},
	}), nil
}

package socialtest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strconv"
)

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	for _, route := range []struct {
		kind, method, path string
		serve              http.HandlerFunc
	}{
		{"google", "POST", "/oauth2/v3/tokeninfo", s.googleTokenInfo},
		{"google", "GET", "/oauth2/v3/userinfo", s.userInfo("google")},
		{"microsoft", "GET", "/oidc/userinfo", s.graphUserInfo},
		{"github", "POST", "/applications/{client}/token", s.githubCheck},
		{"github", "GET", "/user", s.githubUser},
		{"github", "GET", "/user/emails", s.githubEmails},
		{"facebook", "GET", "/debug_token", s.facebookDebug},
		{"facebook", "GET", "/me", s.facebookMe},
		{"oidc", "GET", "/.well-known/openid-configuration", s.discovery},
		{"oidc", "GET", "/keys", s.keySet},
		{"oidc", "POST", "/introspect", s.introspect},
		{"oidc", "GET", "/userinfo", s.userInfo("oidc")},
	} {
		mux.HandleFunc(route.method+" /"+route.kind+route.path, s.moody(route.kind, route.serve))
	}
	return mux
}

func (s *Server) googleTokenInfo(w http.ResponseWriter, r *http.Request) {
	found, ok := s.find("google", r.PostFormValue("access_token"))
	if !ok {
		answer(w, http.StatusBadRequest, map[string]any{"error": "invalid_token", "error_description": "Invalid Value"})
		return
	}
	answer(w, http.StatusOK, map[string]any{ // Google writes every value as text
		"azp": found.client, "aud": found.client, "sub": found.user.Subject, "scope": "openid email profile",
		"expires_in": "3599", "email": found.user.Email, "email_verified": strconv.FormatBool(found.user.EmailVerified),
	})
}

func (s *Server) userInfo(kind string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if found, ok := s.bearer(kind, w, r); ok {
			answer(w, http.StatusOK, map[string]any{
				"sub": found.user.Subject, "name": found.user.Name, "picture": found.user.Picture,
				"email": found.user.Email, "email_verified": found.user.EmailVerified,
			})
		}
	}
}

// graphToken has the form of a Graph access token; only Graph can tell whether it is genuine.
func graphToken(u User, clientID string) string {
	claims := map[string]any{
		"aud": "00000003-0000-0000-c000-000000000000", "appid": clientID, "tid": graphTenant, "jti": randomText(),
	}
	if u.EmailVerified {
		claims["xms_edov"] = "1"
	}
	encode := func(v any) string {
		text, _ := json.Marshal(v)
		return base64.RawURLEncoding.EncodeToString(text)
	}
	return encode(map[string]string{"typ": "JWT", "alg": "RS256", "nonce": randomText()}) + "." + encode(claims) + "." + randomText()
}

const graphTenant = "72f988bf-86f1-41af-91ab-2d7cd011db47"

func (s *Server) graphUserInfo(w http.ResponseWriter, r *http.Request) {
	if found, ok := s.bearer("microsoft", w, r); ok {
		answer(w, http.StatusOK, map[string]any{
			"sub": found.user.Subject, "name": found.user.Name, "email": found.user.Email,
			"picture": "https://graph.microsoft.com/v1.0/me/photo/$value",
		})
	}
}

func (s *Server) githubCheck(w http.ResponseWriter, r *http.Request) {
	id, secret, _ := r.BasicAuth()
	var body struct {
		AccessToken string `json:"access_token"`
	}
	err := json.NewDecoder(r.Body).Decode(&body)
	found, ok := s.find("github", body.AccessToken)
	switch {
	case id != ClientID || secret != ClientSecret:
		answer(w, http.StatusUnauthorized, map[string]any{"message": "Bad credentials"})
	case err != nil || body.AccessToken == "":
		answer(w, http.StatusUnprocessableEntity, map[string]any{"message": "Validation Failed"})
	case !ok || found.client != r.PathValue("client"):
		answer(w, http.StatusNotFound, map[string]any{"message": "Not Found"})
	default:
		answer(w, http.StatusOK, map[string]any{
			"id": 1, "token": body.AccessToken, "app": map[string]any{"name": "Steward", "client_id": found.client},
			"user": githubPerson(found.user),
		})
	}
}

func githubPerson(u User) map[string]any {
	id, _ := strconv.ParseInt(u.Subject, 10, 64)
	return map[string]any{"id": id, "login": "octo" + u.Subject, "name": u.Name, "avatar_url": u.Picture}
}

func (s *Server) githubUser(w http.ResponseWriter, r *http.Request) {
	if found, ok := s.bearer("github", w, r); ok {
		answer(w, http.StatusOK, githubPerson(found.user))
	}
}

func (s *Server) githubEmails(w http.ResponseWriter, r *http.Request) {
	if found, ok := s.bearer("github", w, r); ok {
		answer(w, http.StatusOK, []map[string]any{
			{"email": "second@example.com", "primary": false, "verified": true},
			{"email": found.user.Email, "primary": true, "verified": found.user.EmailVerified},
		})
	}
}

func (s *Server) facebookDebug(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	found, ok := s.find("facebook", query.Get("input_token"))
	switch {
	case query.Get("access_token") != ClientID+"|"+ClientSecret:
		answer(w, http.StatusBadRequest, map[string]any{"error": map[string]any{"code": 190, "type": "OAuthException"}})
	case !ok:
		answer(w, http.StatusOK, map[string]any{"data": map[string]any{
			"is_valid": false, "scopes": []string{}, "error": map[string]any{"code": 190, "message": "Invalid OAuth access token."},
		}})
	default:
		answer(w, http.StatusOK, map[string]any{"data": map[string]any{
			"is_valid": true, "app_id": found.client, "type": "USER", "user_id": found.user.Subject, "scopes": []string{"email", "public_profile"},
		}})
	}
}

// facebookMe leaves out an address that was never confirmed, as Facebook does.
func (s *Server) facebookMe(w http.ResponseWriter, r *http.Request) {
	found, ok := s.bearer("facebook", w, r)
	if !ok {
		return
	}
	token := r.Header.Get("Authorization")[len("Bearer "):]
	mac := hmac.New(sha256.New, []byte(ClientSecret))
	mac.Write([]byte(token))
	if r.URL.Query().Get("appsecret_proof") != hex.EncodeToString(mac.Sum(nil)) {
		answer(w, http.StatusBadRequest, map[string]any{"error": map[string]any{"code": 100, "message": "Invalid appsecret_proof"}})
		return
	}
	me := map[string]any{
		"id": found.user.Subject, "name": found.user.Name,
		"picture": map[string]any{"data": map[string]any{"url": found.user.Picture}},
	}
	if found.user.EmailVerified {
		me["email"] = found.user.Email
	}
	answer(w, http.StatusOK, me)
}

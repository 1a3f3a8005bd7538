package identity

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/uuid"
)

// microsoft lets Microsoft Graph judge the token. Tokens for Graph cannot be verified by anyone
// else, but one that Graph accepts says truly which application it was issued to.
type microsoft struct {
	ProviderConfig
	client *http.Client
}

func newMicrosoft(c ProviderConfig, client *http.Client) SocialProvider { return microsoft{c, client} }

// microsoftClaims are those of a Graph access token; version 1 says appid, version 2 azp.
type microsoftClaims struct {
	AppID    string `json:"appid"`
	Party    string `json:"azp"`
	TenantID string `json:"tid"`
	// DomainVerified means that the owner of the e-mail's domain vouches for it. Without it the
	// address is whatever the administrator of any Microsoft tenant wrote into the account.
	DomainVerified looseBool `json:"xms_edov"`
}

// Verify implements SocialProvider.
func (m microsoft) Verify(ctx context.Context, token string) (SocialUser, error) {
	var info userInfo
	if err := getJSON(ctx, m.client, m.URL+"/oidc/userinfo", token, &info); err != nil {
		return SocialUser{}, err
	}
	var claims microsoftClaims
	if !readPayload(token, &claims) {
		return SocialUser{}, fmt.Errorf("%w: it does not tell whom it was issued to", errProviderRefused)
	}
	if !strings.EqualFold(orDefault(claims.AppID, claims.Party), m.ClientID) {
		return SocialUser{}, fmt.Errorf("%w: issued for another application", errProviderRefused)
	}
	tenant, err := uuid.Parse(claims.TenantID)
	if err != nil {
		return SocialUser{}, fmt.Errorf("%w: it names no directory", errProviderRefused)
	}
	user := info.user("https://login.microsoftonline.com/" + tenant.String() + "/v2.0")
	user.EmailVerified = user.EmailVerified || bool(claims.DomainVerified)
	user.PictureURL = "" // Graph shows pictures to signed-in callers only
	return user, nil
}

// readPayload reads the claims of a JWT that someone else has verified.
func readPayload(token string, out any) bool {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return false
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	return err == nil && json.Unmarshal(text, out) == nil
}

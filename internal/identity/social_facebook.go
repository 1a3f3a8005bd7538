package identity

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
)

const facebookIssuer = "https://www.facebook.com"

// facebook asks Facebook, in the name of this application, whether a token is one of its own.
type facebook struct {
	ProviderConfig
	client *http.Client
}

func newFacebook(c ProviderConfig, client *http.Client) SocialProvider { return facebook{c, client} }

// Verify implements SocialProvider.
func (f facebook) Verify(ctx context.Context, token string) (SocialUser, error) {
	owner, err := f.check(ctx, token)
	if err != nil {
		return SocialUser{}, err
	}
	var user struct {
		ID      string `json:"id"`
		Name    string `json:"name"`
		Email   string `json:"email"`
		Picture struct {
			Data struct {
				URL string `json:"url"`
			} `json:"data"`
		} `json:"picture"`
	}
	query := url.Values{"fields": {"id,name,email,picture"}, "appsecret_proof": {f.proof(token)}}
	if err := getJSON(ctx, f.client, f.URL+"/me?"+query.Encode(), token, &user); err != nil {
		return SocialUser{}, patient(err)
	}
	if user.ID != owner || owner == "" {
		return SocialUser{}, fmt.Errorf("%w: two answers name two people", errProviderRefused)
	}
	return SocialUser{
		// Facebook shows an address only once its owner has confirmed it.
		Issuer: facebookIssuer, Subject: user.ID, Email: user.Email, EmailVerified: user.Email != "",
		Name: user.Name, PictureURL: user.Picture.Data.URL,
	}, nil
}

// check returns the owner of a token that was issued to this application.
func (f facebook) check(ctx context.Context, token string) (string, error) {
	var info struct {
		Data struct {
			AppID   string `json:"app_id"`
			Type    string `json:"type"`
			IsValid bool   `json:"is_valid"`
			UserID  string `json:"user_id"`
		} `json:"data"`
	}
	query := url.Values{"input_token": {token}, "access_token": {f.ClientID + "|" + f.ClientSecret}}
	err := getJSON(ctx, f.client, f.URL+"/debug_token?"+query.Encode(), "", &info)
	switch {
	case facebookCode(err) == badAccessToken: // ours: the person's is told in a successful answer
		return "", misconfigured(err)
	case err != nil:
		return "", patient(err)
	case !info.Data.IsValid || info.Data.Type != "USER":
		return "", errProviderRefused
	case info.Data.AppID != f.ClientID:
		return "", fmt.Errorf("%w: issued for another application", errProviderRefused)
	}
	return info.Data.UserID, nil
}

// proof shows that the call comes from the application and not from whoever stole the token.
func (f facebook) proof(token string) string {
	mac := hmac.New(sha256.New, []byte(f.ClientSecret))
	mac.Write([]byte(token))
	return hex.EncodeToString(mac.Sum(nil))
}

const badAccessToken = 190

// facebookCode reads Facebook's own error code, or 0.
func facebookCode(err error) int {
	answer, ok := errors.AsType[*answerError](err)
	if !ok {
		return 0
	}
	var body struct {
		Error struct {
			Code int `json:"code"`
		} `json:"error"`
	}
	if json.Unmarshal(answer.body, &body) != nil {
		return 0
	}
	return body.Error.Code
}

// patient keeps a busy Facebook, which answers 4xx then, from looking like a refusal: codes 1 and 2
// are passing faults, the others limits on the number of calls.
func patient(err error) error {
	if slices.Contains([]int{1, 2, 4, 17, 32, 341, 613}, facebookCode(err)) {
		return errors.New("the provider is busy")
	}
	return err
}

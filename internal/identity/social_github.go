package identity

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
)

const githubAddress = "https://api.github.com"

// github asks GitHub, in the name of this application, whether a token is one of its own.
type github struct {
	ProviderConfig
	client *http.Client
	issuer string
}

func newGithub(c ProviderConfig, client *http.Client) SocialProvider {
	issuer := "https://github.com"
	if c.URL != githubAddress {
		issuer = c.URL // a GitHub Enterprise has people of its own
	}
	return github{c, client, issuer}
}

type githubUser struct {
	ID     int64  `json:"id"`
	Login  string `json:"login"`
	Name   string `json:"name"`
	Avatar string `json:"avatar_url"`
}

// Verify implements SocialProvider.
func (g github) Verify(ctx context.Context, token string) (SocialUser, error) {
	owner, err := g.check(ctx, token)
	if err != nil {
		return SocialUser{}, err
	}
	var user githubUser
	if err := getJSON(ctx, g.client, g.URL+"/user", token, &user); err != nil {
		return SocialUser{}, err
	}
	if user.ID != owner || owner == 0 {
		return SocialUser{}, fmt.Errorf("%w: two answers name two people", errProviderRefused)
	}
	email, err := g.email(ctx, token)
	if err != nil {
		return SocialUser{}, err
	}
	return SocialUser{
		Issuer: g.issuer, Subject: strconv.FormatInt(user.ID, 10), Email: email, EmailVerified: email != "",
		Name: orDefault(user.Name, user.Login), PictureURL: user.Avatar,
	}, nil
}

// check returns the owner of a token that was issued to this application.
func (g github) check(ctx context.Context, token string) (int64, error) {
	body, err := json.Marshal(map[string]string{"access_token": token})
	if err != nil {
		return 0, err
	}
	address := g.URL + "/applications/" + url.PathEscape(g.ClientID) + "/token"
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return 0, errors.New("the provider's address is not valid")
	}
	r.Header.Set("Content-Type", "application/json")
	r.SetBasicAuth(g.ClientID, g.ClientSecret)
	var info struct {
		App struct {
			ClientID string `json:"client_id"`
		} `json:"app"`
		User githubUser `json:"user"`
	}
	err = askJSON(g.client, r, &info)
	switch {
	case statusOf(err) == http.StatusUnauthorized || statusOf(err) == http.StatusForbidden:
		return 0, misconfigured(err)
	case err != nil:
		return 0, err
	case info.App.ClientID != g.ClientID:
		return 0, fmt.Errorf("%w: issued for another application", errProviderRefused)
	}
	return info.User.ID, nil
}

// email returns the primary address if GitHub has verified it; empty also where the person did not
// grant this application to see it.
func (g github) email(ctx context.Context, token string) (string, error) {
	var emails []struct {
		Email    string `json:"email"`
		Primary  bool   `json:"primary"`
		Verified bool   `json:"verified"`
	}
	err := getJSON(ctx, g.client, g.URL+"/user/emails", token, &emails)
	if errors.Is(err, errProviderRefused) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	for _, e := range emails {
		if e.Primary && e.Verified {
			return e.Email, nil
		}
	}
	return "", nil
}

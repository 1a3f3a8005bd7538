package identity

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// maxAnswerBytes bounds every answer of a provider.
const maxAnswerBytes = 1 << 20

// newSocialClient makes the client for all providers: bounded in time and size, and never led away
// to another host, because the calls carry people's tokens.
func newSocialClient(timeout time.Duration) *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxResponseHeaderBytes = 64 << 10
	transport.MaxIdleConnsPerHost = 8
	return &http.Client{Timeout: timeout, Transport: boundedTransport{transport}, CheckRedirect: sameHost}
}

type boundedTransport struct{ next http.RoundTripper }

func (t boundedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := t.next.RoundTrip(r)
	if err == nil {
		answer.Body = http.MaxBytesReader(nil, answer.Body, maxAnswerBytes)
	}
	return answer, err
}

func sameHost(r *http.Request, via []*http.Request) error {
	if first := via[0].URL; r.URL.Host != first.Host || r.URL.Scheme != first.Scheme {
		return errors.New("redirected to another host")
	}
	if len(via) >= 3 {
		return errors.New("redirected too often")
	}
	return nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// answerError is an answer with a status that is no success.
type answerError struct {
	status int
	retry  time.Duration
	body   []byte // kept for the provider's own reading, never shown: it may repeat the token
}

func (e *answerError) Error() string { return fmt.Sprintf("the provider answered %d", e.status) }

// Is makes a 4xx a refusal of the token, unless it only asks for patience.
func (e *answerError) Is(target error) bool {
	patience := e.status == http.StatusTooManyRequests || e.status == http.StatusRequestTimeout || e.retry > 0
	return target == errProviderRefused && e.status >= 400 && e.status < 500 && !patience
}

// statusOf returns the status of an answerError in the chain, or 0.
func statusOf(err error) int {
	if answer, ok := errors.AsType[*answerError](err); ok {
		return answer.status
	}
	return 0
}

// retryAfter is what the provider asked for, within reason.
func retryAfter(err error) time.Duration {
	if answer, ok := errors.AsType[*answerError](err); ok && answer.retry > 0 {
		return min(max(answer.retry, time.Second), 5*time.Minute)
	}
	return socialRetry
}

// misconfigured turns a refusal into a failure of ours: the provider refused not the person's token
// but the credentials of this application, which only the operator can mend.
func misconfigured(err error) error {
	return fmt.Errorf("the provider does not accept the configured client credentials (status %d)", statusOf(err))
}

// askJSON sends the request and reads the JSON of a successful answer into out. No error tells the
// address: it may carry a token.
func askJSON(client *http.Client, r *http.Request, out any) error {
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", "steward")
	answer, err := client.Do(r)
	if err != nil {
		return fmt.Errorf("call the provider: %w", withoutAddress(err))
	}
	defer answer.Body.Close()
	var body bytes.Buffer
	if _, err := body.ReadFrom(answer.Body); err != nil {
		return fmt.Errorf("read the provider's answer: %w", err)
	}
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		return &answerError{answer.StatusCode, askedPause(answer.Header), body.Bytes()}
	}
	if err := json.Unmarshal(body.Bytes(), out); err != nil {
		return errors.New("the provider's answer is not the JSON that was expected")
	}
	return nil
}

// askedPause is how long the provider wants to be left alone, or 0.
func askedPause(h http.Header) time.Duration {
	seconds, _ := strconv.Atoi(h.Get("Retry-After"))
	if seconds <= 0 && h.Get("X-RateLimit-Remaining") == "0" { // GitHub's way, with a 403
		return socialRetry
	}
	return time.Duration(min(max(seconds, 0), 3600)) * time.Second
}

func withoutAddress(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}

func getRequest(ctx context.Context, address, bearer string) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, errors.New("the provider's address is not valid")
	}
	if bearer != "" {
		r.Header.Set("Authorization", "Bearer "+bearer)
	}
	return r, nil
}

func formRequest(ctx context.Context, address string, form url.Values) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, errors.New("the provider's address is not valid")
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return r, nil
}

// brief cuts an error of a library that quotes whole answers.
func brief(err error) error {
	if text := err.Error(); len(text) > 200 {
		return errors.New(text[:200] + "...")
	}
	return err
}

// getJSON asks with the person's token in the header.
func getJSON(ctx context.Context, client *http.Client, address, bearer string, out any) error {
	r, err := getRequest(ctx, address, bearer)
	if err != nil {
		return err
	}
	return askJSON(client, r, out)
}

// looseBool reads the forms in which providers say yes: true, "true", 1 and "1".
type looseBool bool

// UnmarshalJSON takes everything else for a no.
func (b *looseBool) UnmarshalJSON(text []byte) error {
	word := strings.Trim(string(text), `"`)
	*b = looseBool(word == "1" || strings.EqualFold(word, "true"))
	return nil
}

// userInfo is the answer of an OpenID Connect userinfo endpoint.
type userInfo struct {
	Subject       string    `json:"sub"`
	Email         string    `json:"email"`
	EmailVerified looseBool `json:"email_verified"`
	Name          string    `json:"name"`
	Picture       string    `json:"picture"`
}

func (u userInfo) user(issuer string) SocialUser {
	return SocialUser{
		Issuer: issuer, Subject: u.Subject, Email: u.Email, EmailVerified: bool(u.EmailVerified),
		Name: u.Name, PictureURL: u.Picture,
	}
}

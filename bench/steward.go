package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const (
	adminEmail = "admin@bench.example"
	password   = "Steward-bench-1"
)

// session is one signed-in client of any contender.
type session struct {
	token   string
	refresh string
	id      string // of what it reads by id
}

// steward is one Steward server with its accounts.
type steward struct {
	*process
	how      command
	accounts int
	sessions []*session // of ordinary accounts
	admins   []*session // of the administrator, each with an account to read
	me       [][]byte   // what GET /api/auth/me answers to each of sessions
}

var readyRequest = get("/readyz", "")

// newSteward prepares a server on a data folder of its own; url is empty for SQLite.
// The limiter stays in place and counts: only its limits are raised.
func newSteward(name, bin, dir, url string) (*steward, error) {
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	data := filepath.Join(dir, name)
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, err
	}
	env := []string{
		"STEWARD_LISTEN=" + addr, "STEWARD_DATA_DIR=" + data, "STEWARD_DATABASE_URL=" + url,
		"STEWARD_ADMIN_EMAIL=" + adminEmail, "STEWARD_ADMIN_PASSWORD=" + password,
	}
	for _, limit := range []string{"LOGIN", "LOGIN_ADDRESS", "REGISTER", "RESET", "IDENTITY", "GENERAL"} {
		env = append(env, "STEWARD_LIMIT_"+limit+"=1000000/m")
	}
	return &steward{how: command{name: name, bin: bin, args: []string{"serve"}, env: env, addr: addr, dir: dir}}, nil
}

// boot starts the server and returns the time to its first 200.
func (s *steward) boot(ctx context.Context, request []byte) (time.Duration, error) {
	var err error
	if s.process, err = start(s.how); err != nil {
		return 0, err
	}
	return s.await(ctx, request)
}

// again starts a server that was filled before; the 200 it waits for is that of a signed-in caller.
func (s *steward) again(ctx context.Context) (time.Duration, error) {
	return s.boot(ctx, get("/api/auth/me", s.sessions[0].token))
}

func (s *steward) halt() error {
	if s.process == nil {
		return nil
	}
	return s.stop(syscall.SIGTERM)
}

// fill registers the accounts over the API and signs the clients in.
func (s *steward) fill(accounts, clients int) error {
	s.accounts = accounts
	err := share(s.addr, accounts, clients, func(c *conn, i int) error {
		body := fmt.Sprintf(`{"email":"%s","password":"%s","fullName":"User %05d"}`, email(i), password, i)
		return expect(c, post(nil, "/api/auth/register", "", body), 201, nil)
	})
	if err != nil {
		return fmt.Errorf("register: %w", err)
	}
	s.sessions, s.admins, s.me = make([]*session, clients), make([]*session, clients), make([][]byte, clients)
	return share(s.addr, clients, clients, s.signIn)
}

func (s *steward) signIn(c *conn, i int) error {
	var err error
	if s.sessions[i], err = stewardLogin(c, email(i)); err != nil {
		return err
	}
	status, body, err := c.do(get("/api/auth/me", s.sessions[i].token))
	if err != nil || status != 200 {
		return wrong(status, body, err)
	}
	body = bytes.Clone(body)
	s.me[i] = body
	if s.admins[i], err = stewardLogin(c, adminEmail); err != nil {
		return err
	}
	s.admins[i].id, err = field(body, "id")
	return err
}

func stewardLogin(c *conn, email string) (*session, error) {
	var s session
	err := expect(c, stewardLoginRequest(email), 200, func(body []byte) (err error) {
		if s.token, err = field(body, "token"); err != nil {
			return err
		}
		s.refresh, err = field(body, "refreshToken")
		return err
	})
	return &s, err
}

func stewardLoginRequest(email string) []byte {
	return post(nil, "/api/auth/login", "", fmt.Sprintf(`{"email":"%s","password":"%s","isPasswordEncrypted":false}`, email, password))
}

// meSteps read the own account; the answer must be the same to the byte each time.
func (s *steward) meSteps() []step {
	steps := make([]step, len(s.sessions))
	for i, session := range s.sessions {
		steps[i] = same(get("/api/auth/me", session.token), s.me[i])
	}
	return steps
}

// loginSteps sign in with every account in turn, no two clients with the same one.
func (s *steward) loginSteps() []step {
	return spread(s.accounts, len(s.sessions), stewardLoginRequest, "refreshToken")
}

// refreshSteps rotate the refresh token of each client's own session.
func (s *steward) refreshSteps() []step {
	steps := make([]step, len(s.sessions))
	for i, session := range s.sessions {
		var buf []byte
		take := func(body []byte) (err error) {
			session.refresh, err = field(body, "refreshToken")
			return err
		}
		steps[i] = func(c *conn) error {
			buf = post(buf, "/api/auth/refresh", "", `{"refreshToken":"`+session.refresh+`"}`)
			return expect(c, buf, 200, take)
		}
	}
	return steps
}

// readSteps read an account by id, with the permission and the tenant checked.
func (s *steward) readSteps() []step {
	steps := make([]step, len(s.admins))
	for i, admin := range s.admins {
		id := admin.id
		request := get("/api/v1/users/"+id, admin.token)
		steps[i] = func(c *conn) error { return expect(c, request, 200, holds(`"id":"`+id+`"`)) }
	}
	return steps
}

func email(i int) string { return fmt.Sprintf("user%05d@bench.example", i) }

func wrong(status int, body []byte, err error) error {
	if err != nil {
		return err
	}
	return fmt.Errorf("status %d: %.300s", status, body)
}

var errOtherBody = errors.New("the body is not the one expected")

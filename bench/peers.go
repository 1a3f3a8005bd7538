package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// pocketbase is the peer: PocketBase as it ships, on its own SQLite, with the same number of accounts.
type pocketbase struct {
	*process
	how      command
	accounts int
	sessions []*session
}

const (
	pocketLoginPath   = "/api/collections/users/auth-with-password"
	pocketRefreshPath = "/api/collections/users/auth-refresh"
	pocketRecordPath  = "/api/collections/users/records/"
)

var pocketHealth = get("/api/health", "")

// newPocketbase fills a data folder; the server is not started yet.
func newPocketbase(ctx context.Context, bin, dir string, accounts int) (*pocketbase, error) {
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "pocketbase")
	// A binary under the temporary folder makes PocketBase assume a developer at work, who wants
	// every statement printed.
	flags := []string{"--dir", data, "--dev=false"}
	seed := exec.CommandContext(ctx, bin, append([]string{"seed", strconv.Itoa(accounts), password}, flags...)...)
	if out, err := seed.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("seed PocketBase: %w: %s", err, out)
	}
	args := append([]string{"serve", "--http", addr}, flags...)
	return &pocketbase{accounts: accounts, how: command{name: "pocketbase", bin: bin, args: args, addr: addr, dir: dir}}, nil
}

func (p *pocketbase) again(ctx context.Context) (time.Duration, error) {
	var err error
	if p.process, err = start(p.how); err != nil {
		return 0, err
	}
	return p.await(ctx, pocketHealth)
}

// halt does not mind how the peer ends: PocketBase answers before it listens to signals.
func (p *pocketbase) halt() error {
	if p.process != nil {
		_ = p.stop(syscall.SIGTERM)
	}
	return nil
}

func (p *pocketbase) signIn(clients int) error {
	p.sessions = make([]*session, clients)
	return share(p.addr, clients, clients, func(c *conn, i int) error {
		p.sessions[i] = &session{}
		return expect(c, pocketLoginRequest(email(i)), 200, func(body []byte) (err error) {
			if p.sessions[i].token, err = field(body, "token"); err != nil {
				return err
			}
			p.sessions[i].id, err = field(body, "id")
			return err
		})
	})
}

func pocketLoginRequest(email string) []byte {
	return post(nil, pocketLoginPath, "", fmt.Sprintf(`{"identity":"%s","password":"%s"}`, email, password))
}

func (p *pocketbase) loginSteps() []step {
	return spread(p.accounts, len(p.sessions), pocketLoginRequest, "token")
}

// refreshSteps exchange each client's own token for a new one.
func (p *pocketbase) refreshSteps() []step {
	steps := make([]step, len(p.sessions))
	for i, session := range p.sessions {
		var buf []byte
		take := func(body []byte) (err error) {
			session.token, err = field(body, "token")
			return err
		}
		steps[i] = func(c *conn) error {
			buf = post(buf, pocketRefreshPath, session.token, "")
			return expect(c, buf, 200, take)
		}
	}
	return steps
}

// readSteps read each client's own record by id, which its collection's rule allows.
func (p *pocketbase) readSteps() []step {
	steps := make([]step, len(p.sessions))
	for i, session := range p.sessions {
		request := get(pocketRecordPath+session.id, session.token)
		steps[i] = func(c *conn) error { return expect(c, request, 200, holds(`"id":"`+session.id+`"`)) }
	}
	return steps
}

// bare is the yardstick server: see folder bare.
type bare struct{ *process }

// startBare starts it with the answer that it repeats.
func startBare(ctx context.Context, bin, dir string, answer []byte) (*bare, error) {
	file := filepath.Join(dir, "answer")
	if err := os.WriteFile(file, answer, 0o600); err != nil {
		return nil, err
	}
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	p, err := start(command{name: "bare", bin: bin, args: []string{"-listen", addr, "-answer", file}, addr: addr, dir: dir})
	if err != nil {
		return nil, err
	}
	b := &bare{p}
	if _, err := p.await(ctx, get("/api/auth/me", "")); err != nil {
		b.halt()
		return nil, err
	}
	return b, nil
}

// halt kills: the bare server has nothing to finish and does not listen to signals.
func (b *bare) halt() {
	if b != nil {
		_ = b.cmd.Process.Kill()
		<-b.ended
	}
}

// hash is one round of the bare Argon2id on all cores.
func (b *bare) hash(span time.Duration) round {
	before := b.cpu()
	c, err := dial(b.addr)
	if err != nil {
		return round{failed: 1, err: err}
	}
	defer c.Close()
	var answer struct{ Count, Nanoseconds int64 }
	err = expect(c, get("/hash?for="+span.String(), ""), 200, func(body []byte) error { return json.Unmarshal(body, &answer) })
	if err != nil {
		return round{failed: 1, err: err}
	}
	return round{ops: int(answer.Count), took: time.Duration(answer.Nanoseconds), cpu: b.cpu() - before}
}

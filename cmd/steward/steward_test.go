package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"steward/internal/db"
	"steward/internal/db/dbtest"
)

// binary is the program, built once for the tests of this package.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "steward-bin-")
	if err != nil {
		return "", err
	}
	built := filepath.Join(dir, "steward")
	output, err := exec.Command("go", "build", "-o", built, ".").CombinedOutput()
	if err != nil {
		return "", &exec.Error{Name: string(output), Err: err}
	}
	return built, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if built, err := binary(); err == nil {
		os.RemoveAll(filepath.Dir(built))
	}
	os.Exit(code)
}

// command is a call of the program on the store, with nothing else in its environment.
func command(t *testing.T, store db.Options, arguments ...string) *exec.Cmd {
	t.Helper()
	built, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(built, arguments...)
	c.Env = []string{"STEWARD_DATA_DIR=" + store.DataDir, "STEWARD_DATABASE_URL=" + store.URL, "STEWARD_LISTEN=127.0.0.1:0", "STEWARD_PUBLIC_URL=http://steward.test"}
	if store.DataDir == "" {
		c.Env[0] = "STEWARD_DATA_DIR=" + t.TempDir()
	}
	return c
}

// run calls the program and returns what it printed and its exit code.
func run(t *testing.T, store db.Options, arguments ...string) (output string, code int) {
	t.Helper()
	c := command(t, store, arguments...)
	printed, _ := c.CombinedOutput()
	return string(printed), c.ProcessState.ExitCode()
}

// server is a program that serves.
type server struct {
	*exec.Cmd
	url    string
	output *output
}

// output collects what a process prints and lets a test wait for a line.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{}
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	select {
	case o.more <- struct{}{}:
	default:
	}
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

var listening = regexp.MustCompile(`listen=(\S+)`)

func serve(t *testing.T, store db.Options, arguments ...string) *server {
	t.Helper()
	return begin(t, command(t, store, append([]string{"serve"}, arguments...)...))
}

// begin starts the program and waits until it serves.
func begin(t *testing.T, c *exec.Cmd) *server {
	t.Helper()
	s := &server{Cmd: c, output: &output{more: make(chan struct{}, 1)}}
	s.Stdout, s.Stderr = s.output, s.output
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Process.Kill(); _ = s.Wait() })
	deadline := time.After(30 * time.Second)
	for {
		if found := listening.FindStringSubmatch(s.output.String()); found != nil {
			s.url = "http://" + found[1]
			return s
		}
		select {
		case <-s.output.more:
		case <-deadline:
			t.Fatalf("the program does not serve: %s", s.output)
		}
	}
}

func (s *server) post(t *testing.T, path, token string, body any) (int, map[string]any) {
	t.Helper()
	encoded, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequest(http.MethodPost, s.url+path, bytes.NewReader(encoded))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	answer := map[string]any{}
	_ = json.Unmarshal(raw, &answer)
	return response.StatusCode, answer
}

func (s *server) me(t *testing.T, token string) int {
	t.Helper()
	request, err := http.NewRequest(http.MethodGet, s.url+"/api/auth/me", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	return response.StatusCode
}

func (s *server) login(t *testing.T, email, password string) int {
	t.Helper()
	status, _ := s.post(t, "/api/auth/login", "", map[string]any{"email": email, "password": password})
	return status
}

func TestTheFirstStartPrintsAPasswordThatWorksAndNoOtherStartDoes(t *testing.T) {
	dbtest.EachEmpty(t, func(t *testing.T, store db.Options) {
		first := serve(t, store)
		printed := regexp.MustCompile(`password: (\S+)`).FindStringSubmatch(first.output.String())
		if printed == nil {
			t.Fatalf("no password in %s", first.output)
		}
		if status := first.login(t, "admin@steward.local", printed[1]); status != http.StatusOK {
			t.Errorf("the printed password: %d", status)
		}
		second := serve(t, store)
		if strings.Contains(second.output.String(), "password:") {
			t.Errorf("printed again: %s", second.output)
		}
		if status := second.login(t, "admin@steward.local", printed[1]); status != http.StatusOK {
			t.Errorf("on the second node: %d", status)
		}
	})
}

func TestSIGTERMEndsTheProgramInPeace(t *testing.T) {
	dbtest.EachEmpty(t, func(t *testing.T, store db.Options) {
		s := serve(t, store, "--dev")
		if err := s.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := s.Wait(); err != nil {
			t.Errorf("exit: %v: %s", err, s.output)
		}
	})
}

func TestWhatWasAnsweredSurvivesSIGKILL(t *testing.T) {
	dbtest.EachEmpty(t, func(t *testing.T, store db.Options) {
		s := serve(t, store, "--dev")
		const accounts = 20
		for i := range accounts {
			status, _ := s.post(t, "/api/auth/register", "", map[string]any{"email": string(rune('a'+i)) + "@example.com", "password": "correct horse", "fullName": "Ada"})
			if status != http.StatusCreated {
				t.Fatal(status)
			}
		}
		if err := s.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = s.Wait()
		again := serve(t, store, "--dev")
		for i := range accounts {
			if status := again.login(t, string(rune('a'+i))+"@example.com", "correct horse"); status != http.StatusOK {
				t.Errorf("account %d after the kill: %d", i, status)
			}
		}
	})
}

func TestCommandsReachARunningServerWithinASecond(t *testing.T) {
	dbtest.EachEmpty(t, func(t *testing.T, store db.Options) {
		s := serve(t, store, "--dev")
		_, answer := s.post(t, "/api/auth/login", "", map[string]any{"email": "admin@steward.local", "password": "Steward-dev-1"})
		token := answer["data"].(map[string]any)["token"].(string)
		me := func() int { return s.me(t, token) }
		if me() != http.StatusOK {
			t.Fatal("the token does not work")
		}
		if printed, code := run(t, store, "user", "reset-password", "admin@steward.local", "--password", "another password"); code != 0 {
			t.Fatal(printed)
		}
		told := time.Now()
		for me() != http.StatusUnauthorized {
			if time.Since(told) > time.Second {
				t.Fatal("the old token still works after a second")
			}
		}
		if status := s.login(t, "admin@steward.local", "another password"); status != http.StatusOK {
			t.Errorf("the new password: %d", status)
		}
	})
}

func TestAccountsFromTheCommandLine(t *testing.T) {
	dbtest.EachEmpty(t, func(t *testing.T, store db.Options) {
		if printed, code := run(t, store, "migrate"); code != 0 {
			t.Fatal(printed)
		}
		printed, code := run(t, store, "user", "create", "ada@example.com", "--name", "Ada Lovelace", "--role", "Tenant Administrator")
		if code != 0 || !strings.Contains(printed, "password:") {
			t.Fatalf("an empty store tells how to sign in: %d %s", code, printed)
		}
		if printed, code := run(t, store, "user", "create", "ada@example.com"); code != 1 || !strings.Contains(printed, "already exists") {
			t.Errorf("twice: %d %s", code, printed)
		}
		if printed, code := run(t, store, "user", "create", "eve@example.com", "--role", "Nobody"); code != 1 || !strings.Contains(printed, "Nobody") {
			t.Errorf("no such role: %d %s", code, printed)
		}
		list, code := run(t, store, "mailbox", "list", "--to", "ada@example.com")
		if code != 0 || !strings.Contains(list, "Your new account") {
			t.Fatalf("mailbox: %d %s", code, list)
		}
		mail, code := run(t, store, "mailbox", "show", "latest")
		link := regexp.MustCompile(`http://steward\.test/invitation\?email=ada%40example\.com&token=(\S+)`).FindStringSubmatch(mail)
		if code != 0 || link == nil {
			t.Fatalf("mail: %d %s", code, mail)
		}
		s := serve(t, store)
		if status, answer := s.post(t, "/api/auth/reset-password", "", map[string]any{"email": "ada@example.com", "token": link[1], "newPassword": "chosen by me"}); status != http.StatusOK {
			t.Fatal(answer)
		}
		if status := s.login(t, "ada@example.com", "chosen by me"); status != http.StatusOK {
			t.Errorf("login: %d", status)
		}
		for range 5 {
			s.login(t, "ada@example.com", "wrong horse")
		}
		if s.login(t, "ada@example.com", "chosen by me") != http.StatusUnauthorized {
			t.Error("not locked")
		}
		if printed, code := run(t, store, "user", "unlock", "ada@example.com"); code != 0 {
			t.Error(printed)
		}
		if s.login(t, "ada@example.com", "chosen by me") != http.StatusOK {
			t.Error("still locked")
		}
		if printed, code := run(t, store, "keys", "rotate"); code != 0 {
			t.Error(printed)
		}
	})
}

func TestBadSettingsEndWithOneLineAndCode2(t *testing.T) {
	for _, arguments := range [][]string{
		{"serve", "--log-level", "loud"},
		{"serve", "--dev", "--listen", "0.0.0.0:8080"},
		{"serve", "--no-such-flag"},
		{"serve", "--config", "no-such-file.yaml"},
		{"serve", "--limit-login", "many"},
		{"serve", "--registration-role", "Nobody"},
		{"serve", "--listen", "203.0.113.1:80"},
		{"mailbox", "list"},
		{"user", "unlock", "ada@example.com"},
	} {
		t.Run(strings.Join(arguments, " "), func(t *testing.T) {
			printed, code := run(t, db.Options{DataDir: t.TempDir()}, arguments...)
			if code != 2 || strings.Count(printed, "\n") != 1 || !strings.HasPrefix(printed, "steward: ") || strings.Contains(printed, "password:") {
				t.Errorf("code %d: %q", code, printed)
			}
		})
	}
}

func TestNodesThatGuessTheirAddressAgreeOnTheIssuer(t *testing.T) {
	dbtest.EachEmpty(t, func(t *testing.T, store db.Options) {
		var token string
		for range 2 {
			c := command(t, store, "serve", "--dev")
			c.Env = slices.DeleteFunc(c.Env, func(entry string) bool { return strings.HasPrefix(entry, "STEWARD_PUBLIC_URL") })
			s := begin(t, c)
			if token == "" {
				_, answer := s.post(t, "/api/auth/login", "", map[string]any{"email": "admin@steward.local", "password": "Steward-dev-1"})
				token = answer["data"].(map[string]any)["token"].(string)
			}
			if status := s.me(t, token); status != http.StatusOK {
				t.Errorf("the token is refused: %d", status)
			}
		}
	})
}

func TestBackup(t *testing.T) {
	store := db.Options{DataDir: t.TempDir()}
	s := serve(t, store, "--dev")
	copied := filepath.Join(t.TempDir(), "copy")
	if err := os.Mkdir(copied, 0o700); err != nil {
		t.Fatal(err)
	}
	if printed, code := run(t, store, "backup", filepath.Join(copied, "steward.db")); code != 0 {
		t.Fatal(printed)
	}
	if s.login(t, "admin@steward.local", "Steward-dev-1") != http.StatusOK {
		t.Error("the server was disturbed")
	}
	if restored := serve(t, db.Options{DataDir: copied}); restored.login(t, "admin@steward.local", "Steward-dev-1") != http.StatusOK {
		t.Error("the copy does not work")
	}
}

func TestVersionAndDocument(t *testing.T) {
	if printed, code := run(t, db.Options{DataDir: t.TempDir()}, "version"); code != 0 || printed != "steward "+version+"\n" {
		t.Errorf("version: %d %q", code, printed)
	}
	printed, code := run(t, db.Options{DataDir: t.TempDir()}, "openapi")
	var document map[string]any
	if err := json.Unmarshal([]byte(printed), &document); err != nil || code != 0 || document["openapi"] == nil {
		t.Errorf("openapi: %d %v", code, err)
	}
}

//go:build unix

package dbtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// guard runs the server for as long as this process holds the other end of its standard input, and
// then stops it and removes its folder: also after a panic or a kill, when no test can clean up.
const guard = `
bin=$1 dir=$2
shift 2
"$bin/postgres" -D "$dir/data" -k "$dir" "$@" >"$dir/log" 2>&1 &
server=$!
cat >/dev/null
kill -QUIT $server
wait $server
rm -rf "$dir"
`

// settings keep a test server small; without the last ones it would flush every commit to disk.
var settings = map[durability][]string{
	durable: {"-c", "listen_addresses=127.0.0.1", "-c", "max_connections=300", "-c", "shared_buffers=64MB"},
	relaxed: {"-c", "listen_addresses=127.0.0.1", "-c", "max_connections=300", "-c", "shared_buffers=64MB",
		"-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off"},
}

// launch makes a new cluster and starts its server. Another program may take the free port first:
// then it is tried once more.
func launch(d durability) (*cluster, error) {
	bin, err := findServer()
	if err != nil {
		return nil, err
	}
	as, err := serverUser()
	if err != nil {
		return nil, err
	}
	c, err := launchOnce(bin, as, d)
	if err != nil {
		c, err = launchOnce(bin, as, d)
	}
	return c, err
}

func launchOnce(bin string, as *syscall.Credential, d durability) (*cluster, error) {
	dir, err := serverFolder(as)
	if err != nil {
		return nil, err
	}
	initdb := command(as, dir, filepath.Join(bin, "initdb"), "-D", filepath.Join(dir, "data"),
		"-U", "steward", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync")
	if output, err := initdb.CombinedOutput(); err != nil {
		os.RemoveAll(dir)
		return nil, fmt.Errorf("initdb: %w\n%s", err, output)
	}
	c := &cluster{socket: dir, port: freePort()}
	args := append([]string{"-c", guard, "guard", bin, dir, "-p", strconv.Itoa(c.port)}, settings[d]...)
	server := command(as, dir, "/bin/sh", args...)
	// Of its own session, so that an interrupt of the tests does not reach the guard before its work.
	server.SysProcAttr.Setsid = true
	hold, err := server.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := server.Start(); err != nil {
		return nil, err
	}
	if err := c.await(filepath.Join(dir, "log")); err != nil {
		return nil, errors.Join(err, hold.Close(), server.Wait())
	}
	held = append(held, hold)
	return c, nil
}

// held are the pipes that keep the servers alive: collecting one as garbage would close it.
var held []any

// await returns when the server answers.
func (c *cluster) await(log string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, c.url("postgres"))
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			output, _ := os.ReadFile(log)
			return fmt.Errorf("the server does not answer: %w\n%s", err, output)
		}
	}
}

func command(as *syscall.Credential, dir, name string, args ...string) *exec.Cmd {
	c := exec.Command(name, args...)
	c.Dir = dir
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	c.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	return c
}

// findServer returns the folder of the newest server programs.
func findServer() (string, error) {
	if path, err := exec.LookPath("postgres"); err == nil {
		if _, err := os.Stat(filepath.Join(filepath.Dir(path), "initdb")); err == nil {
			return filepath.Dir(path), nil
		}
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		return "", errNoServer
	}
	version := func(path string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
		return n
	}
	newest := slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) })
	return filepath.Dir(newest), nil
}

// serverUser is who runs the server: PostgreSQL refuses to run as root.
func serverUser() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			uid, _ := strconv.Atoi(u.Uid)
			gid, _ := strconv.Atoi(u.Gid)
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
		}
	}
	return nil, errors.New("PostgreSQL does not run as root, and there is no user postgres or nobody")
}

// serverFolder makes a folder that belongs to the server's user, at a place which that user can reach.
func serverFolder(as *syscall.Credential) (string, error) {
	base := os.TempDir()
	if as != nil && !reachable(base) {
		base = "/tmp"
	}
	dir, err := os.MkdirTemp(base, "steward-postgres-")
	if err != nil || as == nil {
		return dir, err
	}
	return dir, os.Chown(dir, int(as.Uid), int(as.Gid))
}

// reachable reports whether everybody may pass through the folder and those above it.
func reachable(dir string) bool {
	for {
		info, err := os.Stat(dir)
		if err != nil || info.Mode().Perm()&0o001 == 0 {
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
		dir = filepath.Dir(dir)
	}
}

func freePort() int {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 5432
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

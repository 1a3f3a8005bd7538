package main

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
)

// postgres is a throw-away PostgreSQL with the settings it ships with: fsync on, every commit durable.
type postgres struct {
	*process
	bin string
	dir string
	as  *syscall.Credential
}

// startPostgres makes a cluster in a folder of its own and starts it.
func startPostgres(ctx context.Context) (*postgres, error) {
	bin, err := postgresBin()
	if err != nil {
		return nil, err
	}
	pg := &postgres{bin: bin}
	if pg.as, err = postgresUser(); err != nil {
		return nil, err
	}
	if pg.dir, err = os.MkdirTemp("", "steward-bench-pg-"); err != nil {
		return nil, err
	}
	if err := pg.initAndStart(ctx); err != nil {
		return nil, errors.Join(err, pg.close())
	}
	return pg, nil
}

func (pg *postgres) initAndStart(ctx context.Context) error {
	if pg.as != nil {
		if err := os.Chown(pg.dir, int(pg.as.Uid), int(pg.as.Gid)); err != nil {
			return err
		}
	}
	data := filepath.Join(pg.dir, "data")
	if err := pg.command(ctx, "initdb", "-D", data, "-U", "steward", "-A", "trust", "-E", "UTF8", "--no-locale"); err != nil {
		return err
	}
	addr, err := freeAddr()
	if err != nil {
		return err
	}
	host, port, _ := net.SplitHostPort(addr)
	pg.process, err = start(command{
		name: "postgres", bin: filepath.Join(pg.bin, "postgres"), addr: addr, dir: pg.dir, as: pg.as,
		args: []string{"-D", data, "-h", host, "-p", port, "-k", pg.dir},
	})
	if err != nil {
		return err
	}
	return pg.ready(ctx, host, port)
}

func (pg *postgres) ready(ctx context.Context, host, port string) error {
	var err error
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if err = pg.command(ctx, "pg_isready", "-q", "-h", host, "-p", port); err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return fmt.Errorf("PostgreSQL does not answer: %w\n%s", err, pg.tail())
}

// url is the address of a fresh database, as Steward takes it.
func (pg *postgres) url(ctx context.Context, name string) (string, error) {
	host, port, _ := net.SplitHostPort(pg.addr)
	if err := pg.command(ctx, "createdb", "-h", host, "-p", port, "-U", "steward", name); err != nil {
		return "", err
	}
	return fmt.Sprintf("postgres://steward@%s/%s?sslmode=disable", pg.addr, name), nil
}

func (pg *postgres) command(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, filepath.Join(pg.bin, name), args...)
	cmd.Dir = pg.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: pg.as}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return nil
}

// close stops the server (SIGINT is its fast shutdown) and removes the cluster.
func (pg *postgres) close() error {
	var err error
	if pg.process != nil {
		err = pg.stop(syscall.SIGINT)
	}
	return errors.Join(err, os.RemoveAll(pg.dir))
}

// postgresBin finds the newest installed server.
func postgresBin() (string, error) {
	if found, err := exec.LookPath("postgres"); err == nil {
		// The PATH may hold a link to one program of several that belong together.
		real, err := filepath.EvalSymlinks(found)
		return filepath.Dir(real), err
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if len(found) == 0 {
		return "", errors.New("no PostgreSQL server found: neither on the PATH nor in /usr/lib/postgresql")
	}
	newest := slices.MaxFunc(found, func(a, b string) int { return versionOf(a) - versionOf(b) })
	return filepath.Dir(newest), nil
}

func versionOf(path string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
	return n
}

// postgresUser picks whom to run as: PostgreSQL refuses root. Nil means as this process.
func postgresUser() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("running as root, and neither the user postgres nor nobody exists to run PostgreSQL as")
}

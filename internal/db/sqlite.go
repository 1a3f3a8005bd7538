package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/pressly/goose/v3"
)

// sqliteFile is the name of the store inside the data folder.
const sqliteFile = "steward.db"

// applicationID marks the file as ours; it says "Stwd".
const applicationID = 0x53747764

// sqliteStore is SQLite: one connection writes, in turns (see writer), and several read.
type sqliteStore struct {
	dir    string
	read   *sql.DB
	writer *writer
	hub    *hub
	poller *poller
}

func (s *sqliteStore) Name() string      { return "sqlite" }
func (s *sqliteStore) ForUpdate() string { return "" }

func (d *DB) openSQLite(ctx context.Context, o Options) error {
	if err := os.MkdirAll(o.DataDir, 0o700); err != nil {
		return fmt.Errorf("create the data folder: %w", err)
	}
	dir, err := filepath.Abs(o.DataDir)
	if err != nil {
		return fmt.Errorf("find the data folder: %w", err)
	}
	s := &sqliteStore{dir: dir, hub: d.hub}
	pool, err := openSQLitePool(s.writeDSN(), 1)
	if err != nil {
		return err
	}
	if err := s.create(ctx, pool); err != nil {
		return errors.Join(fmt.Errorf("open the SQLite store in %s: %w", dir, err), pool.Close())
	}
	if s.read, err = openSQLitePool(s.readDSN(), readers(o.MaxConns)+1); err != nil {
		return errors.Join(err, pool.Close())
	}
	s.writer = startWriter(pool, s)
	d.engine, d.read = s, s.read
	return nil
}

// readers is how many connections read at once. They work on this machine's cores, so more would
// only hold more cache.
func readers(wanted int) int {
	if wanted > 0 {
		return wanted
	}
	return min(max(4, 2*runtime.NumCPU()), 16)
}

func openSQLitePool(dsn string, size int) (*sql.DB, error) {
	connector, err := newSQLiteConnector(dsn)
	if err != nil {
		return nil, err
	}
	pool := sql.OpenDB(connector)
	pool.SetMaxOpenConns(size)
	pool.SetMaxIdleConns(size)
	return pool, nil
}

// create makes the file readable by this user alone and puts it into WAL mode. Switching modes needs
// the file to itself, so that processes which start together do it one after the other.
func (s *sqliteStore) create(ctx context.Context, pool *sql.DB) error {
	// Never open an existing store this way: closing it would drop the locks of this process on it.
	file, err := os.OpenFile(filepath.Join(s.dir, sqliteFile), os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		err = file.Close()
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	var mode string
	if err := pool.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&mode); err != nil {
		return err
	}
	if mode == "wal" {
		return nil
	}
	return s.alone(ctx, func() error {
		if err := pool.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode); err != nil {
			return err
		}
		// This also writes the first page: a reader that meets a file without one never lets go of it.
		_, err := pool.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d", applicationID))
		return err
	})
}

// alone runs fn while no other process or handle on this store is in alone. The lock is a SQLite file
// of its own: it works wherever the store does, goes with the process that held it, and disturbs no
// reader.
func (s *sqliteStore) alone(ctx context.Context, fn func() error) error {
	lock, err := openSQLitePool(dsn(filepath.Join(s.dir, "steward.lock"), url.Values{
		"_busy_timeout": {"60000"}, "_txlock": {"exclusive"},
	}), 1)
	if err != nil {
		return err
	}
	defer lock.Close()
	held, err := lock.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("wait for other processes: %w", err)
	}
	return errors.Join(fn(), held.Rollback())
}

func (s *sqliteStore) migrate(ctx context.Context, fn func(goose.Dialect, *sql.DB) error) error {
	return s.alone(ctx, func() error {
		pool, err := openSQLitePool(s.writeDSN(), 1)
		if err != nil {
			return err
		}
		defer pool.Close()
		return fn(goose.DialectSQLite3, pool)
	})
}

func (s *sqliteStore) writeDSN() string {
	return dsn(filepath.Join(s.dir, sqliteFile), url.Values{
		"_busy_timeout": {"10000"},
		"_foreign_keys": {"1"},
		"_synchronous":  {"FULL"},
		"_txlock":       {"immediate"},
		"_dqs":          {"0"},
		// A checkpoint cuts a log that a burst or a long reader let grow.
		// Deleted secrets are overwritten where that costs no further page.
		"_pragma": {"journal_size_limit(67108864)", "secure_delete(fast)"},
	})
}

func (s *sqliteStore) readDSN() string {
	return dsn(filepath.Join(s.dir, sqliteFile), url.Values{
		"mode":          {"ro"},
		"_busy_timeout": {"10000"},
		"_dqs":          {"0"},
		"_pragma":       {"temp_store(memory)"},
	})
}

func dsn(file string, settings url.Values) string {
	path := filepath.ToSlash(file)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: settings.Encode()}).String()
}

// backup copies the store with VACUUM INTO, which reads one consistent moment of it. The name is
// taken first and filled last: what stands under it is empty or whole.
func (s *sqliteStore) backup(ctx context.Context, file string) (err error) {
	if err := reserve(file); err != nil {
		return fmt.Errorf("back up: %w", err)
	}
	part := file + ".part"
	defer func() {
		if err != nil {
			os.Remove(part)
			os.Remove(file)
		}
	}()
	if err := reserve(part); err != nil {
		return fmt.Errorf("back up: %w", err)
	}
	if _, err := s.read.ExecContext(ctx, "VACUUM INTO $1", part); err != nil {
		return fmt.Errorf("back up to %s: %w", file, err)
	}
	if err := flush(part); err != nil {
		return fmt.Errorf("back up to %s: %w", file, err)
	}
	return os.Rename(part, file)
}

// reserve creates an empty file for this user alone, and refuses one that exists.
func reserve(name string) error {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return file.Close()
}

func flush(name string) error {
	file, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// close ends the readers first: the last connection must be one that may fold the log into the store.
func (s *sqliteStore) close() error {
	s.poller.stop()
	return errors.Join(s.read.Close(), s.writer.stop())
}

// Exists reports whether a folder holds a SQLite store.
func Exists(dataDir string) bool {
	_, err := os.Stat(filepath.Join(dataDir, sqliteFile))
	return err == nil
}

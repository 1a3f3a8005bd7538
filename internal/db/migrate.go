package db

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/pressly/goose/v3"
)

// The migrations of both databases, and beside them, in a folder of its name, those of one alone:
// where one text cannot serve both, each folder has a file of that number.
//
//go:embed migrations
var migrationFiles embed.FS

// ErrNotMigrated says that the store is older than the program and what to do about it.
var ErrNotMigrated = errors.New("the store is not migrated")

// Migrate brings the store to the program's version. Any number of nodes may do so at once: one
// migrates, the others wait. It refuses a store that a newer program has migrated.
func (d *DB) Migrate(ctx context.Context) error {
	err := d.Migrated(ctx)
	if !errors.Is(err, ErrNotMigrated) {
		return err
	}
	err = d.engine.migrate(ctx, func(dialect goose.Dialect, pool *sql.DB) error {
		provider, err := goose.NewProvider(dialect, pool, migrations(d.engine.Name()),
			goose.WithDisableGlobalRegistry(true), goose.WithSlog(d.log))
		if err != nil {
			return err
		}
		_, err = provider.Up(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("migrate the store: %w", err)
	}
	return d.Migrated(ctx)
}

// Migrated reports, by one look at the store, whether it is at the program's version.
func (d *DB) Migrated(ctx context.Context) error {
	version, err := d.version(ctx)
	if err != nil {
		return err
	}
	switch known := knownVersion(d.engine.Name()); {
	case version < known:
		return fmt.Errorf("%w: it is at version %d, this program needs %d", ErrNotMigrated, version, known)
	case version > known:
		return fmt.Errorf("the store is at version %d, made by a newer program: this one knows %d", version, known)
	}
	return nil
}

// version is what the store is at; 0 where nothing was ever migrated.
func (d *DB) version(ctx context.Context) (version int64, err error) {
	err = d.QueryRow(ctx, "SELECT COALESCE(MAX(version_id), 0) FROM goose_db_version").Scan(&version)
	if kindOf(err) == noTable {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the version of the store: %w", err)
	}
	return version, nil
}

// knownVersion is the newest migration that the program carries for the database.
func knownVersion(dialect string) int64 {
	var newest int64
	names, _ := migrations(dialect).Glob("*.sql")
	for _, name := range names {
		version, err := goose.NumericComponent(name)
		if err != nil {
			panic(err) // a file of ours is misnamed
		}
		newest = max(newest, version)
	}
	return newest
}

// folders shows the files of several folders as one.
type folders []fs.FS

func migrations(dialect string) folders {
	var all folders
	for _, name := range []string{"migrations", "migrations/" + dialect} {
		folder, err := fs.Sub(migrationFiles, name)
		if err != nil {
			panic(err) // the names are ours
		}
		all = append(all, folder)
	}
	return all
}

// Open implements fs.FS.
func (f folders) Open(name string) (fs.File, error) {
	var file fs.File
	var err error = &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	for _, folder := range f {
		if file, err = folder.Open(name); err == nil {
			return file, nil
		}
	}
	return nil, err
}

// Glob implements fs.GlobFS.
func (f folders) Glob(pattern string) ([]string, error) {
	var all []string
	for _, folder := range f {
		names, err := fs.Glob(folder, pattern)
		if err != nil {
			return nil, err
		}
		all = append(all, names...)
	}
	slices.Sort(all)
	return all, nil
}

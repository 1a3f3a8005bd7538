package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

type kind int

const (
	other kind = iota
	unique
	foreignKey
	busy
	serialisation
	unavailable
	noTable
)

// IsUnique reports whether err says that such a row already exists.
func IsUnique(err error) bool { return kindOf(err) == unique }

// IsForeignKey reports whether err says that a row which is referred to is missing, or that a row
// cannot go because others refer to it.
func IsForeignKey(err error) bool { return kindOf(err) == foreignKey }

// IsBusy reports whether err says that a lock was not to be had in time.
func IsBusy(err error) bool { return kindOf(err) == busy }

// IsSerialisation reports whether err says that two transactions stood in each other's way. Write
// has then already tried again, several times.
func IsSerialisation(err error) bool { return kindOf(err) == serialisation }

// IsUnavailable reports whether err says that the store cannot be reached or has no room: the same
// call may succeed later.
func IsUnavailable(err error) bool { return kindOf(err) == unavailable }

func kindOf(err error) kind {
	var lite *sqlite.Error
	var pg *pgconn.PgError
	var connect *pgconn.ConnectError
	var network *net.OpError
	switch {
	case err == nil:
		return other
	case errors.As(err, &lite):
		return sqliteKind(lite)
	case errors.As(err, &pg):
		return postgresKind(pg.Code)
	case errors.As(err, &connect):
		return unavailable
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return other // the caller's own limit
	case errors.As(err, &network), errors.Is(err, io.ErrUnexpectedEOF), pgconn.SafeToRetry(err),
		errors.Is(err, driver.ErrBadConn), errors.Is(err, sql.ErrConnDone), errors.Is(err, ErrClosed):
		return unavailable
	default:
		return other
	}
}

func sqliteKind(err *sqlite.Error) kind {
	switch err.Code() {
	case sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, sqlite3.SQLITE_CONSTRAINT_ROWID:
		return unique
	case sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY, sqlite3.SQLITE_CONSTRAINT_TRIGGER:
		return foreignKey
	case sqlite3.SQLITE_BUSY_SNAPSHOT:
		return serialisation
	}
	switch err.Code() & 0xff { // the primary code, without what it says in detail
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return busy
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN:
		return unavailable
	case sqlite3.SQLITE_ERROR:
		if strings.Contains(err.Error(), "no such table") {
			return noTable
		}
	}
	return other
}

// postgresKind reads a SQLSTATE.
func postgresKind(code string) kind {
	switch code {
	case "23505", "23P01":
		return unique
	case "23503", "23001":
		return foreignKey
	case "55P03":
		return busy
	case "40001", "40P01":
		return serialisation
	case "42P01":
		return noTable
	case "57P01", "57P02", "57P03", "57P05":
		return unavailable // the server shuts down or starts
	}
	if strings.HasPrefix(code, "08") || strings.HasPrefix(code, "53") {
		return unavailable // connection exceptions; no disk, memory or connections left
	}
	return other
}

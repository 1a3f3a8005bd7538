package db

import (
	"container/list"
	"context"
	"database/sql/driver"
	"errors"
	"regexp"
	"time"

	"modernc.org/sqlite"
)

// maxStatements bounds the prepared statements of one SQLite connection.
const maxStatements = 128

// errRowsOpen is what PostgreSQL would answer too. SQLite could do it, but then such code would be
// found to fail only on the other database.
var errRowsOpen = errors.New("the rows of another statement are still open on this connection")

// sqliteConnector opens connections that keep their statements prepared: parsing is a good part of
// what a short statement costs.
type sqliteConnector struct{ driver.Connector }

func newSQLiteConnector(dsn string) (driver.Connector, error) {
	inner, err := sqlite.NewConnector(dsn)
	return sqliteConnector{inner}, err
}

// Connect implements driver.Connector.
func (c sqliteConnector) Connect(ctx context.Context) (driver.Conn, error) {
	inner, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &sqliteConn{sqliteInner: inner.(sqliteInner), prepared: map[string]*list.Element{}, byUse: list.New()}, nil
}

// sqliteInner is what the driver's connections can do that ours pass on.
type sqliteInner interface {
	driver.Conn
	driver.ConnPrepareContext
	driver.ConnBeginTx
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// sqliteConn is a connection with its statements and at most one open result.
type sqliteConn struct {
	sqliteInner
	prepared map[string]*list.Element
	byUse    *list.List // of *statement, the longest unused first
	open     *sqliteRows
}

type statement struct {
	text string
	driver.Stmt
}

// bareParameter is a comparison with a parameter. SQLite notes of such a statement that another value
// might deserve another plan, and since the driver clears all values after each call it would be
// planned anew every time, which costs several times the query. A plus before the parameter means the
// same and is not noted.
var bareParameter = regexp.MustCompile(`(?i)([=<>]|\bLIKE)\s*(\$[0-9]+)`)

// prepare returns the statement of a text, and closes the one that was not used for longest if that
// is one too many. A statement stays good when the schema changes.
func (c *sqliteConn) prepare(ctx context.Context, text string) (driver.Stmt, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if c.open != nil {
		return nil, errRowsOpen
	}
	if e, ok := c.prepared[text]; ok {
		c.byUse.MoveToBack(e)
		return e.Value.(*statement).Stmt, nil
	}
	s, err := c.PrepareContext(ctx, bareParameter.ReplaceAllString(text, "${1} +${2}"))
	if err != nil {
		return nil, err
	}
	c.prepared[text] = c.byUse.PushBack(&statement{text, s})
	if c.byUse.Len() > maxStatements {
		oldest := c.byUse.Remove(c.byUse.Front()).(*statement)
		delete(c.prepared, oldest.text)
		oldest.Close()
	}
	return s, nil
}

// Close implements driver.Conn.
func (c *sqliteConn) Close() error {
	for _, e := range c.prepared {
		e.Value.(*statement).Close()
	}
	return c.sqliteInner.Close()
}

// ExecContext implements driver.ExecerContext.
func (c *sqliteConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	s, err := c.prepare(ctx, query)
	if err != nil {
		return nil, err
	}
	return s.(driver.StmtExecContext).ExecContext(ctx, args)
}

// QueryContext implements driver.QueryerContext.
func (c *sqliteConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	s, err := c.prepare(ctx, query)
	if err != nil {
		return nil, err
	}
	rows, err := s.(driver.StmtQueryContext).QueryContext(ctx, args)
	if err != nil {
		return nil, err
	}
	c.open = &sqliteRows{rowsInner: rows.(rowsInner), conn: c}
	return c.open, nil
}

// CheckNamedValue implements driver.NamedValueChecker. A bare time.Time is written as Time writes it,
// so that it sorts and reads back like the others.
func (c *sqliteConn) CheckNamedValue(v *driver.NamedValue) (err error) {
	if v.Value, err = driver.DefaultParameterConverter.ConvertValue(v.Value); err != nil {
		return err
	}
	if t, ok := v.Value.(time.Time); ok {
		v.Value, err = At(t).Value()
	}
	return err
}

// rowsInner is what the driver's rows can do that ours pass on.
type rowsInner interface {
	driver.Rows
	driver.RowsColumnTypeDatabaseTypeName
	driver.RowsColumnTypeLength
	driver.RowsColumnTypeNullable
	driver.RowsColumnTypePrecisionScale
	driver.RowsColumnTypeScanType
}

// sqliteRows is the open result of a connection.
type sqliteRows struct {
	rowsInner
	conn *sqliteConn
}

// Close implements driver.Rows.
func (r *sqliteRows) Close() error {
	r.conn.open = nil
	return r.rowsInner.Close()
}

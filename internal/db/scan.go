package db

import (
	"context"
	"database/sql"

	"github.com/georgysavva/scany/v2/dbscan"
)

// scanner maps columns to fields by their `db` tags; a type that scans itself, such as Time, is one
// column. A column without a field is an error, so that a forgotten field is found at once.
var scanner = func() *dbscan.API {
	api, err := dbscan.NewAPI(dbscan.WithScannableTypes((*sql.Scanner)(nil)))
	if err != nil {
		panic(err)
	}
	return api
}()

// All reads every row into a T: a struct with `db` tags, or a plain value of one column. No row is an
// empty slice, never nil.
func All[T any](ctx context.Context, q Queryer, query string, args ...any) ([]T, error) {
	rows, err := q.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	all := []T{}
	if err := scanner.ScanAll(&all, rows); err != nil {
		return nil, err
	}
	return all, nil
}

// One reads the single row into a T. No row is sql.ErrNoRows; a second one is an error.
func One[T any](ctx context.Context, q Queryer, query string, args ...any) (T, error) {
	var one T
	rows, err := q.Query(ctx, query, args...)
	if err != nil {
		return one, err
	}
	err = scanner.ScanOne(&one, rows)
	if dbscan.NotFound(err) {
		err = sql.ErrNoRows
	}
	return one, err
}

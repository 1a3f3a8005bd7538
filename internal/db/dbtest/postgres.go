package dbtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"steward/internal/db"
)

// durability says whether a server flushes its commits to disk. Tests need not; they check what is
// written, not whether the power may fail.
type durability int

const (
	relaxed durability = iota
	durable
)

// errNoServer says that this machine has no PostgreSQL to start.
var errNoServer = errors.New("no PostgreSQL server was found (looked in PATH and /usr/lib/postgresql/*/bin)")

// cluster is a running server.
type cluster struct {
	socket   string // the folder of its socket
	port     int    // also on 127.0.0.1
	admin    *sql.DB
	created  atomic.Int64
	template func() error
}

var clusters = map[durability]func() (*cluster, error){
	relaxed: sync.OnceValues(func() (*cluster, error) { return newCluster(relaxed) }),
	durable: sync.OnceValues(func() (*cluster, error) { return newCluster(durable) }),
}

// server starts the server of this process, or skips the test where there is none to start.
func server(t testing.TB, d durability) *cluster {
	t.Helper()
	c, err := clusters[d]()
	if errors.Is(err, errNoServer) && os.Getenv("STEWARD_REQUIRE_POSTGRES") != "1" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatalf("start PostgreSQL: %v", err)
	}
	return c
}

func newCluster(d durability) (*cluster, error) {
	c, err := launch(d)
	if err != nil {
		return nil, err
	}
	if c.admin, err = sql.Open("pgx", c.url("postgres")); err != nil {
		return nil, err
	}
	c.template = sync.OnceValue(c.makeTemplate)
	return c, nil
}

// url goes by the socket: it is quicker, and no other program can have taken it.
func (c *cluster) url(database string) string {
	u := url.URL{Scheme: "postgres", User: url.User("steward"), Path: "/" + database}
	u.RawQuery = url.Values{"host": {c.socket}, "port": {fmt.Sprint(c.port)}}.Encode()
	return u.String()
}

const templateName = "steward_template"

func (c *cluster) makeTemplate() error {
	if _, err := c.admin.Exec("CREATE DATABASE " + templateName); err != nil {
		return err
	}
	return migrate(db.Options{URL: c.url(templateName), MaxConns: 2})
}

// migrated names a database that has been migrated, to be copied.
func (c *cluster) migrated(t testing.TB) string {
	t.Helper()
	if err := c.template(); err != nil {
		t.Fatal(err)
	}
	return templateName
}

// create copies the template to a database that is dropped with the test.
func (c *cluster) create(t testing.TB, template string) string {
	t.Helper()
	name := fmt.Sprintf("test_%d", c.created.Add(1))
	if _, err := c.admin.Exec("CREATE DATABASE " + name + " TEMPLATE " + template); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := c.admin.Exec("DROP DATABASE " + name + " WITH (FORCE)"); err != nil {
			t.Errorf("drop the test's database: %v", err)
		}
	})
	return c.url(name)
}

func migrate(o db.Options) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	d, err := db.Open(ctx, o)
	if err != nil {
		return err
	}
	return errors.Join(d.Migrate(ctx), d.Close())
}

package audit

import (
	"context"
	"strconv"
	"strings"

	"steward/internal/db"
)

const recordColumns = `a.id, a.tenant_id, a.actor_id, a.actor_email, a.api_key_id, a.action, a.target_type, a.target_id,
	a.before, a.after, a.address, a.trace_id, a.created_at`

// newestFirst is the order in which the indexes of the table are made to be read.
const newestFirst = `a.created_at DESC, a.id DESC`

// conditions is the WHERE of a statement. Its text is made of constants only.
type conditions struct {
	parts []string
	args  []any
}

func (c *conditions) bind(value any) string {
	c.args = append(c.args, value)
	return "$" + strconv.Itoa(len(c.args))
}

func (c *conditions) add(part string) { c.parts = append(c.parts, part) }

func (c *conditions) equal(column, value string) {
	if value != "" {
		c.add(column + " = " + c.bind(value))
	}
}

func (c *conditions) sql() string {
	if len(c.parts) == 0 {
		return " FROM audit_log a"
	}
	return " FROM audit_log a WHERE " + strings.Join(c.parts, " AND ")
}

func (f Filter) conditions() *conditions {
	c := &conditions{}
	if f.TenantID != nil {
		c.add("a.tenant_id = " + c.bind(*f.TenantID))
	}
	if len(f.ActorIDs) == 1 { // an equation, unlike a list, keeps the order of the index
		c.add("a.actor_id = " + c.bind(f.ActorIDs[0]))
	} else if f.ActorIDs != nil {
		c.add("a.actor_id IN (" + db.In(len(c.args)+1, len(f.ActorIDs)) + ")")
		c.args = db.Args(c.args, f.ActorIDs)
	}
	c.equal("a.action", f.Action)
	if f.TargetID == "" {
		c.equal("a.target_type", f.TargetType)
	} else { // few entries have the id, many the type: the index of the type must not be chosen
		c.equal("a.target_type || ''", f.TargetType)
		c.equal("a.target_id", f.TargetID)
	}
	if f.From != nil {
		c.add("a.created_at >= " + c.bind(*f.From))
	}
	if f.To != nil {
		c.add("a.created_at <= " + c.bind(*f.To))
	}
	if f.Search != "" {
		c.add("a.search_key LIKE " + c.bind(f.Search) + ` ESCAPE '\'`)
	}
	return c
}

func countRecords(ctx context.Context, q db.Queryer, f Filter) (int, error) {
	c := f.conditions()
	return db.One[int](ctx, q, `SELECT count(*)`+c.sql(), c.args...)
}

// listRecords finds the ids of the window first, which an index answers alone, so that a far page does
// not read the rows before it.
func listRecords(ctx context.Context, q db.Queryer, f Filter, order string, limit, offset int) ([]Record, error) {
	c := f.conditions()
	window := `SELECT a.id` + c.sql() + ` ORDER BY ` + order + ` LIMIT ` + c.bind(limit) + ` OFFSET ` + c.bind(offset)
	return db.All[Record](ctx, q, `SELECT `+recordColumns+` FROM audit_log a WHERE a.id IN (`+window+`) ORDER BY `+order, c.args...)
}

// listOlder reads the newest entries that come after the last one in the order of Walk.
func listOlder(ctx context.Context, q db.Queryer, f Filter, last *Record, limit int) ([]Record, error) {
	if last != nil {
		f.To = nil // it lies behind, and SQLite would begin there instead of at the last one
	}
	c := f.conditions()
	if last != nil {
		c.add("(a.created_at, a.id) < (" + c.bind(last.CreatedAt) + ", " + c.bind(last.ID) + ")")
	}
	return db.All[Record](ctx, q, `SELECT `+recordColumns+c.sql()+` ORDER BY `+newestFirst+` LIMIT `+c.bind(limit), c.args...)
}

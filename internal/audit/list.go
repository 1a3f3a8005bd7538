package audit

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"steward/internal/db"
)

// Record is an entry as the trail keeps it. Before and After hold a JSON object, or nil where there is
// nothing to tell.
type Record struct {
	ID         uuid.UUID  `db:"id"`
	TenantID   *uuid.UUID `db:"tenant_id"`
	ActorID    *uuid.UUID `db:"actor_id"`
	ActorEmail string     `db:"actor_email"`
	APIKeyID   *uuid.UUID `db:"api_key_id"`
	Action     string     `db:"action"`
	TargetType string     `db:"target_type"`
	TargetID   string     `db:"target_id"`
	Before     *string    `db:"before"`
	After      *string    `db:"after"`
	Address    string     `db:"address"`
	TraceID    string     `db:"trace_id"`
	CreatedAt  db.Time    `db:"created_at"`
}

// Filter says which entries are meant; its zero value means all.
type Filter struct {
	// TenantID keeps the trail of one tenant; nil means every tenant, and what belongs to none.
	TenantID *uuid.UUID
	// ActorIDs keeps what any of these did; nil means anybody.
	ActorIDs   []uuid.UUID
	Action     string
	TargetType string
	TargetID   string
	// From and To are inclusive.
	From, To *db.Time
	// Search is a LIKE pattern in lower case.
	Search string
}

// Count counts the entries.
func Count(ctx context.Context, q db.Queryer, f Filter) (int, error) {
	n, err := countRecords(ctx, q, f)
	if err != nil {
		return 0, fmt.Errorf("count audit entries: %w", err)
	}
	return n, nil
}

// List reads a window of the entries. The order is SQL of the program over the alias a.
func List(ctx context.Context, q db.Queryer, f Filter, order string, limit, offset int) ([]Record, error) {
	records, err := listRecords(ctx, q, f, order, limit, offset)
	if err != nil {
		return nil, fmt.Errorf("list audit entries: %w", err)
	}
	return records, nil
}

// walkBatch is how many entries Walk holds at a time.
const walkBatch = 1000

// Walk calls fn for every entry, newest first, until fn fails. It reads in batches: neither memory nor
// a connection is held for as long as fn takes, so entries that are written meanwhile do not come.
func Walk(ctx context.Context, q db.Queryer, f Filter, fn func(Record) error) error {
	var last *Record
	for {
		records, err := listOlder(ctx, q, f, last, walkBatch)
		if err != nil {
			return fmt.Errorf("walk audit entries: %w", err)
		}
		for i := range records {
			if err := fn(records[i]); err != nil {
				return err
			}
		}
		if len(records) < walkBatch {
			return nil
		}
		last = &records[len(records)-1]
	}
}

// Package audit keeps the trail: who changed what, for which tenant, when and from where. An entry is
// written in the transaction of the change it tells of, so neither exists without the other.
package audit

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"steward/internal/db"
	"steward/internal/scope"
)

// Entry is one change. Who made it, from which address and in which request is taken from the
// context; a change made by nobody who is signed in (a command, a purge) has no actor.
type Entry struct {
	// Action says what happened, as "<target type>.<past participle>": "app.created".
	Action string
	// TargetType and TargetID name what it happened to.
	TargetType string
	TargetID   string
	// TenantID is the tenant whose trail this belongs to; nil means the tenant of the actor's token.
	TenantID *uuid.UUID
	// Before and After are the target's state on either side of the change: anything that is an
	// object in JSON, or nil where the target did not exist. Only the fields that differ are kept,
	// and never a secret: see Changes.
	Before, After any
	// At is when it happened; zero means now.
	At time.Time
}

// batch is how many entries one statement writes. More gain nothing: SQLite takes a time for each
// placeholder that grows with their number.
const batch = 16

// Write adds the entries to the trail as part of tx, many in one statement.
func Write(ctx context.Context, tx db.Tx, entries ...Entry) error {
	for some := range slices.Chunk(entries, batch) {
		var args []any
		for _, e := range some {
			values, err := e.values(ctx)
			if err != nil {
				return fmt.Errorf("audit %s: %w", e.Action, err)
			}
			args = append(args, values...)
		}
		if _, err := tx.Exec(ctx, insertEntries(len(some)), args...); err != nil {
			return fmt.Errorf("audit %s: %w", some[0].Action, err)
		}
	}
	return nil
}

// values are the columns of the entry's row, in the order of insertEntry.
func (e Entry) values(ctx context.Context) ([]any, error) {
	before, after, err := Changes(e.Before, e.After)
	if err != nil {
		return nil, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return nil, fmt.Errorf("make id: %w", err)
	}
	who := actor(ctx)
	if e.TenantID != nil {
		who.tenant = e.TenantID
	}
	if e.At.IsZero() {
		e.At = time.Now()
	}
	origin := scope.OriginFrom(ctx)
	search := strings.Join([]string{who.email, e.Action, e.TargetType, e.TargetID, string(before), string(after)}, "\n")
	return []any{id, who.tenant, who.id, who.email, who.key, e.Action, e.TargetType, e.TargetID,
		text(before), text(after), origin.Address, origin.TraceID, db.At(e.At), strings.ToLower(search)}, nil
}

const insertEntry = `
	INSERT INTO audit_log (id, tenant_id, actor_id, actor_email, api_key_id, action, target_type, target_id,
		before, after, address, trace_id, created_at, search_key)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`

// insertEntries is insertEntry for n rows.
func insertEntries(n int) string {
	const columns = 14
	var text strings.Builder
	text.WriteString(insertEntry)
	for i := 1; i < n; i++ {
		text.WriteString(", (" + db.In(i*columns+1, columns) + ")")
	}
	return text.String()
}

// author is who made a change; ids are nil where there is nobody, no tenant, or no key.
type author struct {
	id, tenant, key *uuid.UUID
	email           string
}

func actor(ctx context.Context) author {
	a := scope.ActorFrom(ctx)
	if a == nil {
		return author{}
	}
	return author{id: known(a.UserID), tenant: known(a.TenantID), key: known(a.APIKeyID), email: a.Email}
}

func known(id uuid.UUID) *uuid.UUID {
	if id == uuid.Nil {
		return nil
	}
	return &id
}

// text is null for a side that has nothing to tell.
func text(object []byte) *string {
	if object == nil {
		return nil
	}
	s := string(object)
	return &s
}

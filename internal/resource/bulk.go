package resource

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"steward/internal/db"
	"steward/internal/fault"
)

// MaxBulk is how many ids one bulk call may name.
const MaxBulk = 500

// BulkRequest names the items of a bulk call. An id given twice counts once.
type BulkRequest struct {
	IDs []uuid.UUID `json:"ids" minItems:"1" maxItems:"500"`
}

// BulkOperationResponse tells what a bulk call did: the items it could not change are in failures.
type BulkOperationResponse struct {
	Succeeded int               `json:"succeeded"`
	Failed    int               `json:"failed"`
	Failures  []BulkItemFailure `json:"failures"`
}

// BulkItemFailure is the refusal that the single call would have given.
type BulkItemFailure struct {
	ID      uuid.UUID  `json:"id"`
	Code    fault.Code `json:"code"`
	Message string     `json:"message"`
}

// Check refuses an empty or too long list and ids that are nil, and returns each id once.
func (b BulkRequest) Check() ([]uuid.UUID, error) {
	if len(b.IDs) == 0 || len(b.IDs) > MaxBulk {
		return nil, fault.Invalid("ids", "must name between 1 and %d items", MaxBulk)
	}
	for i, id := range b.IDs {
		if id == uuid.Nil {
			return nil, fault.Invalid(fmt.Sprintf("ids[%d]", i), "must not be empty")
		}
	}
	// In one order for all, so that two bulk calls never wait for each other in a circle.
	ids := slices.Clone(b.IDs)
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	return slices.Compact(ids), nil
}

// BulkDelete deletes each item under the rules of Delete. What is refused for one is told and leaves
// the others alone; a fault of ours undoes all of them.
func (r *Resource[T, C, U, Q]) BulkDelete(ctx context.Context, body BulkRequest) (BulkOperationResponse, error) {
	var done BulkOperationResponse
	ids, err := body.Check()
	if err != nil {
		return done, err
	}
	err = r.change(ctx, func(tx db.Tx, tenant uuid.UUID) error {
		done = BulkOperationResponse{Failures: []BulkItemFailure{}}
		for _, id := range ids {
			err := alone(ctx, tx, func() error { return r.delete(ctx, tx, tenant, id, nil) })
			if err := done.count(id, err); err != nil {
				return err
			}
		}
		return nil
	})
	return done, err
}

// count notes the outcome of one item and passes on what is no refusal.
func (b *BulkOperationResponse) count(id uuid.UUID, err error) error {
	if err == nil {
		b.Succeeded++
		return nil
	}
	refusal, ok := fault.From(err)
	if !ok {
		return err
	}
	b.Failed++
	b.Failures = append(b.Failures, BulkItemFailure{ID: id, Code: refusal.Code, Message: refusal.Detail})
	return nil
}

// alone undoes what fn wrote where it fails and keeps the transaction usable, which in PostgreSQL it
// would not be after a failed statement.
func alone(ctx context.Context, tx db.Tx, fn func() error) error {
	if _, err := tx.Exec(ctx, "SAVEPOINT item"); err != nil {
		return fmt.Errorf("begin item: %w", err)
	}
	failed := fn()
	if failed != nil {
		if _, err := tx.Exec(ctx, "ROLLBACK TO SAVEPOINT item"); err != nil {
			return fmt.Errorf("undo item after %v: %w", failed, err)
		}
	}
	if _, err := tx.Exec(ctx, "RELEASE SAVEPOINT item"); err != nil {
		return fmt.Errorf("end item: %w", err)
	}
	return failed
}

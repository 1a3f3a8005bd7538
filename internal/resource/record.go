package resource

import (
	"time"

	"github.com/google/uuid"

	"steward/internal/db"
)

// Record is what the item of every resource embeds: its id and the instants of its first and last
// change. This package fills it.
type Record struct {
	ID        uuid.UUID `json:"id" db:"id" audit:"-" doc:"Made by the server; sorts by time of creation."`
	CreatedAt db.Time   `json:"createdAt" db:"created_at" audit:"-"`
	UpdatedAt db.Time   `json:"updatedAt" db:"updated_at" audit:"-" doc:"The last change. No two versions of an item share it."`
}

// SoftDeletable makes a resource whose items are marked when deleted and stay stored. An item that
// does not embed it is removed for good.
type SoftDeletable struct {
	IsDeleted bool     `json:"isDeleted" db:"-" sort:"deleted_at IS NOT NULL"`
	DeletedAt *db.Time `json:"deletedAt" db:"deleted_at" doc:"Null while the item is not deleted."`
}

// TenantOwned makes a resource whose items belong to the tenant of the token that made them. To
// everybody else they do not exist.
type TenantOwned struct {
	TenantID uuid.UUID `json:"tenantId" db:"tenant_id" audit:"-"`
}

func (r *Record) record() *Record                 { return r }
func (d *SoftDeletable) deletion() *SoftDeletable { return d }
func (o *TenantOwned) owner() *TenantOwned        { return o }

// recordOf finds the part that every item has; New has checked that it is there.
func recordOf(item any) *Record { return item.(interface{ record() *Record }).record() }

// deletionOf finds the part that only soft-deletable items have.
func deletionOf(item any) (*SoftDeletable, bool) {
	d, ok := item.(interface{ deletion() *SoftDeletable })
	if !ok {
		return nil, false
	}
	return d.deletion(), true
}

// ownerOf finds the part that only items of a tenant have.
func ownerOf(item any) (*TenantOwned, bool) {
	o, ok := item.(interface{ owner() *TenantOwned })
	if !ok {
		return nil, false
	}
	return o.owner(), true
}

// touch moves UpdatedAt to now, or past the last change where the clock has not moved since: the
// version of an item is its UpdatedAt, so it must never repeat.
func (r *Record) touch(now time.Time) {
	at := db.At(now)
	if !at.After(r.UpdatedAt.Time) {
		at = db.At(r.UpdatedAt.Add(time.Microsecond))
	}
	r.UpdatedAt = at
}

// bury marks the item deleted as of its last change.
func (d *SoftDeletable) bury(at db.Time) { d.DeletedAt, d.IsDeleted = &at, true }

// Set changes a field where an update gives a value, and leaves it as it is where the update leaves
// it out or says null.
func Set[T any](field *T, given *T) {
	if given != nil {
		*field = *given
	}
}

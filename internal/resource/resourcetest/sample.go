package resourcetest

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"steward/internal/db"
	"steward/internal/fault"
	"steward/internal/resource"
)

// Gadget is an item that uses everything a declaration can say: it belongs to a tenant, is marked when
// deleted, and has a field of every kind.
type Gadget struct {
	resource.Record
	resource.TenantOwned
	Code    string     `json:"code" db:"code"`
	CodeKey string     `json:"-" db:"code_key"`
	Label   string     `json:"label" db:"label"`
	Kind    string     `json:"kind" db:"kind"`
	Size    int64      `json:"size" db:"size"`
	Weight  float64    `json:"weight" db:"weight"`
	IsReady bool       `json:"isReady" db:"is_ready"`
	Note    *string    `json:"note" db:"note"`
	MakerID *uuid.UUID `json:"makerId" db:"maker_id"`
	DueAt   *db.Time   `json:"dueAt" db:"due_at"`
	Tags    Tags       `json:"tags" db:"tags"`
	resource.SoftDeletable
}

// Tags is a list kept as JSON: a field that cannot be sorted by.
type Tags []string

// Value implements driver.Valuer.
func (t Tags) Value() (driver.Value, error) {
	if t == nil {
		return "[]", nil
	}
	text, err := json.Marshal(t)
	return string(text), err
}

// Scan implements sql.Scanner.
func (t *Tags) Scan(src any) error { return json.Unmarshal([]byte(src.(string)), t) }

// CreateGadget is the body that makes a gadget.
type CreateGadget struct {
	Code    string     `json:"code" minLength:"1" maxLength:"50"`
	Label   string     `json:"label" required:"false" maxLength:"200"`
	Kind    string     `json:"kind" required:"false" enum:"Small,Large" default:"Small"`
	Size    int64      `json:"size" required:"false" minimum:"0"`
	Weight  float64    `json:"weight" required:"false"`
	IsReady bool       `json:"isReady" required:"false"`
	Note    *string    `json:"note" required:"false"`
	MakerID *uuid.UUID `json:"makerId" required:"false"`
	DueAt   *db.Time   `json:"dueAt" required:"false"`
	Tags    Tags       `json:"tags" required:"false"`
}

// UpdateGadget is the body that changes a gadget.
type UpdateGadget struct {
	Code  *string `json:"code" required:"false" minLength:"1" maxLength:"50"`
	Label *string `json:"label" required:"false" maxLength:"200"`
	Size  *int64  `json:"size" required:"false" minimum:"0"`
}

// GadgetQuery has a filter of every kind.
type GadgetQuery struct {
	resource.Params
	Kind    *string           `query:"kind" enum:"Small,Large"`
	IsReady *bool             `query:"isReady"`
	Ready   *bool             `query:"ready" filter:"isReady" doc:"An older name of isReady."`
	Label   *string           `query:"label"`
	MinSize *int64            `query:"minSize" filter:"size,min"`
	MaxSize *int64            `query:"maxSize" filter:"size,max"`
	MakerID *uuid.UUID        `query:"makerId"`
	DueFrom *resource.Instant `query:"dueFrom" filter:"dueAt,min"`
	DueTo   *resource.Instant `query:"dueTo" filter:"dueAt,max"`
}

// Stuck is the code of a gadget whose guard says no.
const Stuck = "stuck"

// Gadgets declares the sample resource. A gadget whose code is Stuck cannot be deleted.
var Gadgets = resource.Definition[Gadget, CreateGadget, UpdateGadget, GadgetQuery]{
	Name:          "gadgets",
	Singular:      "gadget",
	Table:         "gadgets",
	Search:        []string{"code", "label"},
	NotFound:      fault.NotFound,
	AlreadyExists: fault.Conflict,
	New: func(_ context.Context, b CreateGadget) (Gadget, error) {
		return Gadget{Code: b.Code, CodeKey: strings.ToLower(b.Code), Label: b.Label, Kind: b.Kind, Size: b.Size, Weight: b.Weight,
			IsReady: b.IsReady, Note: b.Note, MakerID: b.MakerID, DueAt: b.DueAt, Tags: append(Tags{}, b.Tags...)}, nil
	},
	Apply: func(_ context.Context, g *Gadget, b UpdateGadget) error {
		resource.Set(&g.Code, b.Code)
		resource.Set(&g.Label, b.Label)
		resource.Set(&g.Size, b.Size)
		g.CodeKey = strings.ToLower(g.Code)
		return nil
	},
	Guard: func(_ context.Context, _ db.Tx, before, after *Gadget) error {
		if after == nil && before.Code == Stuck {
			return fault.New(fault.Forbidden, "This gadget is stuck.")
		}
		return nil
	},
	Examples: resource.Examples[CreateGadget, UpdateGadget]{
		Create: CreateGadget{Code: "lamp", Kind: "Small"}, Update: UpdateGadget{Size: new(int64(3))},
	},
}

// Part is an item that is removed for good when deleted, unless a gadget is built of it.
type Part struct {
	resource.Record
	Name string `json:"name" db:"name"`
	Note string `json:"note" db:"note"`
}

// CreatePart is the body that makes a part.
type CreatePart struct {
	Name string `json:"name" minLength:"1" maxLength:"50"`
	Note string `json:"note" required:"false"`
}

// UpdatePart is the body that changes a part.
type UpdatePart struct {
	Name *string `json:"name" required:"false" minLength:"1" maxLength:"50"`
	Note *string `json:"note" required:"false"`
}

// PartQuery has no filters of its own.
type PartQuery struct{ resource.Params }

// Parts declares a resource with hard deletion, as short as a declaration can be.
var Parts = resource.Definition[Part, CreatePart, UpdatePart, PartQuery]{
	Name:             "parts",
	Singular:         "part",
	Table:            "parts",
	Search:           []string{"name", "note"},
	SortBy:           "name",
	NotFound:         fault.NotFound,
	AlreadyExists:    fault.Conflict,
	InUse:            fault.Conflict,
	DeleteAnswers200: true,
	New:              func(_ context.Context, b CreatePart) (Part, error) { return Part{Name: b.Name, Note: b.Note}, nil },
	Apply: func(_ context.Context, p *Part, b UpdatePart) error {
		resource.Set(&p.Name, b.Name)
		resource.Set(&p.Note, b.Note)
		return nil
	},
	Examples: resource.Examples[CreatePart, UpdatePart]{
		Create: CreatePart{Name: "bolt"}, Update: UpdatePart{Name: new("nut")},
	},
}

var sampleTables = []string{
	`CREATE TABLE gadgets (
		id UUID PRIMARY KEY, tenant_id UUID NOT NULL, code TEXT NOT NULL, code_key TEXT NOT NULL, label TEXT NOT NULL,
		kind TEXT NOT NULL, size BIGINT NOT NULL, weight DOUBLE PRECISION NOT NULL, is_ready BOOLEAN NOT NULL, note TEXT,
		maker_id UUID, due_at TIMESTAMPTZ, tags TEXT NOT NULL, search_key TEXT NOT NULL,
		created_at TIMESTAMPTZ NOT NULL, updated_at TIMESTAMPTZ NOT NULL, deleted_at TIMESTAMPTZ)`,
	`CREATE UNIQUE INDEX gadgets_code ON gadgets (tenant_id, code_key) WHERE deleted_at IS NULL`,
	`CREATE TABLE parts (
		id UUID PRIMARY KEY, name TEXT NOT NULL, note TEXT NOT NULL, search_key TEXT NOT NULL,
		created_at TIMESTAMPTZ NOT NULL, updated_at TIMESTAMPTZ NOT NULL)`,
	`CREATE UNIQUE INDEX parts_name ON parts (lower(name))`,
	`CREATE TABLE part_uses (part_id UUID NOT NULL REFERENCES parts (id))`,
}

// CreateSampleTables makes the tables of the sample resources.
func CreateSampleTables(t testing.TB, d *db.DB) {
	t.Helper()
	err := d.Write(t.Context(), func(tx db.Tx) error {
		for _, text := range sampleTables {
			if _, err := tx.Exec(t.Context(), text); err != nil {
				return fmt.Errorf("%s: %w", text, err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

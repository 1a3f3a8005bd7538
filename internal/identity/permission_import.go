package identity

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"steward/internal/audit"
	"steward/internal/db"
	"steward/internal/fault"
)

// ImportMode says how a list of permissions is laid out.
type ImportMode string

// The two layouts: one list of permissions that each name their category, or categories that each
// hold their permissions.
const (
	ImportPermissions ImportMode = "Permissions"
	ImportCatalog     ImportMode = "Catalog"
)

// UnmarshalText reads the mode in any case.
func (m *ImportMode) UnmarshalText(text []byte) error {
	for _, mode := range []ImportMode{ImportPermissions, ImportCatalog} {
		if strings.EqualFold(string(text), string(mode)) {
			*m = mode
			return nil
		}
	}
	return errors.New("must be Permissions or Catalog")
}

// MaxImportRows is how many permissions one import may hold.
const MaxImportRows = 10_000

// PermissionImport is one import. Without Upsert, permissions that exist are skipped; with DryRun
// nothing is written.
type PermissionImport struct {
	Mode   ImportMode
	Upsert bool
	DryRun bool
	Rows   []PermissionRow
}

// PermissionRow is one permission of an import. What is nil stays as it is where the permission exists.
type PermissionRow struct {
	Code string
	PermissionChange
	// Problem is why the row could not be read; empty where it could.
	Problem string
}

// ImportOutcome is what became of one row.
type ImportOutcome string

// What can become of a row. Skipped ones exist already, unchanged ones exist just so.
const (
	RowCreated   ImportOutcome = "Created"
	RowUpdated   ImportOutcome = "Updated"
	RowUnchanged ImportOutcome = "Unchanged"
	RowSkipped   ImportOutcome = "Skipped"
	RowFailed    ImportOutcome = "Failed"
)

// ImportResult tells what an import did, or in a dry run and where a row failed, what it would have
// done: Applied is what tells them apart.
type ImportResult struct {
	Mode      ImportMode    `json:"mode" enum:"Permissions,Catalog"`
	DryRun    bool          `json:"dryRun"`
	Upsert    bool          `json:"upsert"`
	Applied   bool          `json:"applied" doc:"Whether the import was carried out. False in a dry run and where a row failed: then nothing is written, and the rest tells what would have been."`
	Total     int           `json:"total"`
	Created   int           `json:"created"`
	Updated   int           `json:"updated"`
	Unchanged int           `json:"unchanged"`
	Skipped   int           `json:"skipped"`
	Failed    int           `json:"failed"`
	Rows      []ImportedRow `json:"rows"`
}

// ImportedRow is what became of one row.
type ImportedRow struct {
	Row     int           `json:"row" doc:"Counted from 1, without the header of a CSV file."`
	Code    string        `json:"code" doc:"As the row spells it."`
	Outcome ImportOutcome `json:"outcome" enum:"Created,Updated,Unchanged,Skipped,Failed"`
	Errors  []string      `json:"errors" doc:"Why the row failed; empty where it did not."`
}

// errOvertaken says that another call added a permission which was to be created.
var errOvertaken = errors.New("another call added one of the permissions")

// ImportPermissions adds many permissions, all or none: one failed row means that nothing is written.
// Each change has an audit entry of its own, as if it had been made alone.
func (s *Service) ImportPermissions(ctx context.Context, in PermissionImport) (ImportResult, error) {
	if in.DryRun {
		plan, err := s.planImport(ctx, s.db, in, "")
		return plan.result, err
	}
	for {
		plan := &importPlan{}
		err := s.db.Write(ctx, func(tx db.Tx) (err error) {
			lock := ""
			if in.Upsert {
				lock = tx.Dialect().ForUpdate()
			}
			if plan, err = s.planImport(ctx, tx, in, lock); err != nil || plan.result.Failed > 0 {
				return err
			}
			return s.carryOut(ctx, tx, plan)
		})
		// Who was overtaken finds that permission on the next look, so each turn has less to create.
		if !errors.Is(err, errOvertaken) {
			return plan.result, err
		}
	}
}

// importPlan is what an import comes to.
type importPlan struct {
	PermissionImport
	first    map[string]int        // the row that names a code first, by code key
	existing map[string]Permission // by code key
	now      db.Time
	result   ImportResult
	created  []Permission
	updated  []Permission
}

// planImport decides each row by what the catalogue holds, and writes nothing.
func (s *Service) planImport(ctx context.Context, q db.Queryer, in PermissionImport, lock string) (*importPlan, error) {
	p := &importPlan{PermissionImport: in, first: map[string]int{}, now: s.now(), result: ImportResult{
		Mode: in.Mode, DryRun: in.DryRun, Upsert: in.Upsert, Total: len(in.Rows), Rows: make([]ImportedRow, 0, len(in.Rows)),
	}}
	for i, row := range in.Rows {
		// What is no code in its form is not looked up: it may hold what a database refuses.
		if key := codeKey(row.code()); permissionForm.MatchString(key) && p.first[key] == 0 {
			p.first[key] = i + 1
		}
	}
	var err error
	if p.existing, err = listPermissionsByCode(ctx, q, slices.Sorted(maps.Keys(p.first)), lock); err != nil {
		return p, fmt.Errorf("look up the permissions of an import: %w", err)
	}
	for i, row := range in.Rows {
		if err := p.add(i+1, row); err != nil {
			return p, err
		}
	}
	p.result.Applied = !in.DryRun && p.result.Failed == 0
	return p, nil
}

// add plans one row.
func (p *importPlan) add(number int, row PermissionRow) error {
	wrong := row.check()
	if first := p.first[codeKey(row.code())]; first != 0 && first != number {
		wrong = append(wrong, fmt.Sprintf("code is the same as in row %d", first))
	}
	outcome := RowFailed
	if len(wrong) == 0 {
		var err error
		outcome, err = p.decide(row)
		if refusal, ok := fault.From(err); ok {
			wrong = append(wrong, refusal.Detail)
		} else if err != nil {
			return err
		}
	}
	p.result.count(outcome)
	p.result.Rows = append(p.result.Rows, ImportedRow{Row: number, Code: row.Code, Outcome: outcome, Errors: wrong})
	return nil
}

// decide plans a row that is sound in itself.
func (p *importPlan) decide(row PermissionRow) (ImportOutcome, error) {
	change := row.PermissionChange.trimmed()
	before, exists := p.existing[codeKey(row.code())]
	switch {
	case !exists:
		made, err := newPermission(row.code(), change, p.now)
		p.created = append(p.created, made)
		return RowCreated, err
	case !p.Upsert:
		return RowSkipped, nil
	}
	after := before
	if err := after.change(change); err != nil {
		return RowFailed, err
	}
	if after == before {
		return RowUnchanged, nil
	}
	after.UpdatedAt = before.next(p.now)
	p.updated = append(p.updated, after)
	return RowUpdated, nil
}

// carryOut writes what was planned. New permissions are inserted in the order of their codes, so that
// two imports never wait for each other in a circle.
func (s *Service) carryOut(ctx context.Context, tx db.Tx, p *importPlan) error {
	slices.SortFunc(p.created, func(a, b Permission) int { return strings.Compare(codeKey(a.Code), codeKey(b.Code)) })
	created, err := insertPermissions(ctx, tx, p.created...)
	if err != nil {
		return fmt.Errorf("insert the permissions of an import: %w", err)
	}
	if created < len(p.created) {
		return errOvertaken
	}
	if err := updatePermissions(ctx, tx, p.updated...); err != nil {
		return fmt.Errorf("update the permissions of an import: %w", err)
	}
	entries := make([]audit.Entry, 0, len(p.created)+len(p.updated))
	for i := range p.created {
		entries = append(entries, s.permissionEntry("created", nil, &p.created[i]))
	}
	for i := range p.updated {
		before := p.existing[codeKey(p.updated[i].Code)]
		entries = append(entries, s.permissionEntry("updated", &before, &p.updated[i]))
	}
	return audit.Write(ctx, tx, entries...)
}

// code is the row's without the outer space that files are full of.
func (r PermissionRow) code() string { return strings.TrimSpace(r.Code) }

// check says what is wrong with the row in itself; never nil.
func (r PermissionRow) check() []string {
	if r.Problem != "" {
		return []string{r.Problem}
	}
	found := fields{}
	found.checkPermissionCode("code", r.code())
	found.checkPermissionChange(r.PermissionChange.trimmed())
	wrong := make([]string, len(found))
	for i, field := range found {
		wrong[i] = field.Name + " " + field.Message
	}
	return wrong
}

func (r *ImportResult) count(outcome ImportOutcome) {
	switch outcome {
	case RowCreated:
		r.Created++
	case RowUpdated:
		r.Updated++
	case RowUnchanged:
		r.Unchanged++
	case RowSkipped:
		r.Skipped++
	case RowFailed:
		r.Failed++
	}
}

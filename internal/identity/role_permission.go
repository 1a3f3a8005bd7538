package identity

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"steward/internal/db"
	"steward/internal/fault"
	"steward/internal/scope"
)

// maxRolePermissions bounds the permissions of one body.
const maxRolePermissions = 1000

// PermissionChoice is the whole list of permissions that a role shall hold, by ids or, on the routes
// whose bodies have codes, by codes. With both nil the role keeps those it holds; an empty list takes
// all of them away. Repeated ones count once.
type PermissionChoice struct {
	IDs   *[]uuid.UUID
	Codes *[]string
}

func (c PermissionChoice) check(wrong *fields) {
	if c.IDs != nil && slices.Contains(*c.IDs, uuid.Nil) {
		wrong.add("permissionIds", "must not contain an empty id")
	}
	if c.IDs != nil && len(withoutRepeats(*c.IDs)) > maxRolePermissions {
		wrong.add("permissionIds", "must name at most %d permissions", maxRolePermissions)
	}
	if c.Codes != nil && len(withoutRepeats(*c.Codes)) > maxRolePermissions {
		wrong.add("permissions", "must name at most %d permissions", maxRolePermissions)
	}
}

// choose gives the role the permissions of the choice. Only those that come new are held against the
// caller's own: whoever may change a role may take from it what they lack.
func (r *Role) choose(ctx context.Context, tx db.Tx, actor *scope.Actor, c PermissionChoice) error {
	chosen, err := r.Permissions, error(nil)
	switch {
	case c.IDs != nil:
		chosen, err = requirePermissions(ctx, tx, withoutRepeats(*c.IDs))
	case c.Codes != nil:
		chosen, err = requireCodes(ctx, tx, *c.Codes)
	}
	if err != nil {
		return err
	}
	added := Role{Permissions: permissionsWithout(chosen, r.Permissions)}
	if err := requireHeld(actor, added.Codes()); err != nil {
		return err
	}
	r.Permissions = chosen
	return nil
}

// requirePermissions fails with PERMISSION_NOT_FOUND where one of the ids names none.
func requirePermissions(ctx context.Context, q db.Queryer, ids []uuid.UUID) ([]RolePermission, error) {
	found, err := findPermissions(ctx, q, "id", ids)
	if err != nil {
		return nil, fmt.Errorf("look up permissions: %w", err)
	}
	missing := slices.DeleteFunc(ids, func(id uuid.UUID) bool {
		return slices.ContainsFunc(found, func(p RolePermission) bool { return p.ID == id })
	})
	if len(missing) > 0 {
		return nil, noPermissions(missing)
	}
	return found, nil
}

// maxNamed bounds how many unknown permissions a refusal repeats.
const maxNamed = 10

func noPermissions(ids []uuid.UUID) *fault.Fault {
	var names []string
	for _, id := range ids[:min(len(ids), maxNamed)] {
		names = append(names, id.String())
	}
	return fault.New(fault.PermissionNotFound, "There is no permission with the id %s.", strings.Join(names, ", "))
}

// requireCodes is requirePermissions by code, in any case. A code is a word of the body and no address
// of a resource, so an unknown one is a validation error.
func requireCodes(ctx context.Context, q db.Queryer, codes []string) ([]RolePermission, error) {
	keys := make([]string, len(codes))
	for i, code := range codes {
		keys[i] = codeKey(code)
	}
	found, err := findPermissions(ctx, q, "code_key", withoutRepeats(keys))
	if err != nil {
		return nil, fmt.Errorf("look up permissions: %w", err)
	}
	known := map[string]bool{}
	for _, p := range found {
		known[codeKey(p.Code)] = true
	}
	missing := withoutRepeats(slices.DeleteFunc(slices.Clone(codes), func(code string) bool { return known[codeKey(code)] }))
	if len(missing) > 0 {
		return nil, fault.Invalid("permissions", "names permissions that do not exist: %s", strings.Join(missing[:min(len(missing), maxNamed)], ", "))
	}
	return found, nil
}

// givePermissions adds permissions to a role. One that was deleted since it was looked up is
// PERMISSION_NOT_FOUND, by the foreign key.
func givePermissions(ctx context.Context, tx db.Tx, role uuid.UUID, permissions []RolePermission) error {
	if len(permissions) == 0 {
		return nil
	}
	ids := idsOf(permissions)
	added, err := insertRolePermissions(ctx, tx, role, ids)
	if db.IsForeignKey(err) || err == nil && added != len(ids) {
		return fault.New(fault.PermissionNotFound, "One of the permissions was deleted meanwhile.").Because(err)
	}
	if err != nil {
		return fmt.Errorf("give permissions to role %s: %w", role, err)
	}
	return nil
}

func takePermissions(ctx context.Context, tx db.Tx, role uuid.UUID, permissions []RolePermission) error {
	if len(permissions) == 0 {
		return nil
	}
	if err := deleteRolePermissions(ctx, tx, role, idsOf(permissions)); err != nil {
		return fmt.Errorf("take permissions from role %s: %w", role, err)
	}
	return nil
}

func idsOf(permissions []RolePermission) []uuid.UUID {
	ids := make([]uuid.UUID, len(permissions))
	for i, p := range permissions {
		ids[i] = p.ID
	}
	return ids
}

// permissionsWithout lists the permissions that are not among the others.
func permissionsWithout(permissions, others []RolePermission) []RolePermission {
	return slices.DeleteFunc(slices.Clone(permissions), func(p RolePermission) bool { return slices.Contains(others, p) })
}

// withoutRepeats keeps the first of each value, in a list of its own.
func withoutRepeats[T comparable](values []T) []T {
	once, seen := make([]T, 0, len(values)), make(map[T]bool, len(values))
	for _, v := range values {
		if !seen[v] {
			once, seen[v] = append(once, v), true
		}
	}
	return once
}

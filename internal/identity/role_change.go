package identity

import (
	"context"
	"fmt"
	"strings"

	"steward/internal/db"
	"steward/internal/fault"
	"steward/internal/resource"
	"steward/internal/scope"
)

// RoleChange is what a body says about a role; nil leaves a field as it is.
type RoleChange struct {
	Name        *string
	Description *string
	Permissions PermissionChoice
}

// Bounds of what describes a role, in characters.
const (
	maxRoleName        = 100
	maxRoleDescription = 500
)

// check refuses what no store is needed to refuse.
func (c RoleChange) check() error {
	wrong := fields{}
	if c.Name != nil {
		wrong.checkText("name", *c.Name, maxRoleName, "")
		if strings.TrimSpace(*c.Name) == "" {
			wrong.add("name", "is required")
		}
	}
	if c.Description != nil {
		wrong.checkText("description", *c.Description, maxRoleDescription, "\n\r\t")
	}
	c.Permissions.check(&wrong)
	return wrong.fault()
}

// apply changes the role as the body says, under the rules for permissions and names.
func (r *Role) apply(ctx context.Context, tx db.Tx, actor *scope.Actor, body RoleChange) error {
	if err := r.choose(ctx, tx, actor, body.Permissions); err != nil {
		return err
	}
	former := r.Name
	resource.Set(&r.Name, trimmed(body.Name))
	resource.Set(&r.Description, trimmed(body.Description))
	if r.Name == former {
		return nil
	}
	taken, err := isSystemName(ctx, tx, r.Name)
	if err != nil {
		return fmt.Errorf("look up the names of system roles: %w", err)
	}
	if taken {
		return nameTaken(r.Name)
	}
	return nil
}

// roleRefused turns what the unique name says into its code.
func roleRefused(r Role, err error) error {
	if db.IsUnique(err) {
		return nameTaken(r.Name).Because(err)
	}
	return fmt.Errorf("write role %s: %w", r.ID, err)
}

func nameTaken(name string) *fault.Fault {
	return fault.New(fault.RoleAlreadyExists, "The tenant has a role named %s already, or it is a system role.", name)
}

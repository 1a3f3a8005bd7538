package identity

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"steward/internal/db"
	"steward/internal/fault"
	"steward/internal/resource"
	"steward/internal/scope"
)

// APIKey lets a machine act in one tenant with some of the permissions of the person who made it. The
// key itself is shown once; the store keeps its hash.
type APIKey struct {
	resource.Record
	resource.TenantOwned
	Name           string     `json:"name" db:"name" doc:"Unique in the tenant among keys that are not deleted, in any case."`
	NameKey        string     `json:"-" db:"name_key"`
	Description    string     `json:"description" db:"description"`
	Prefix         string     `json:"prefix" db:"prefix" doc:"How the key begins, to recognise it by."`
	Hash           string     `json:"-" db:"hash"`
	Permissions    db.Strings `json:"permissions" db:"permissions" doc:"What the key may do, as far as whoever made it may do so at the moment of the call."`
	IsActive       bool       `json:"isActive" db:"is_active" doc:"A key that is not active is refused."`
	ExpiresAt      *db.Time   `json:"expiresAt" db:"expires_at" doc:"The key is refused from then on; null for never."`
	LastUsedAt     *db.Time   `json:"lastUsedAt" db:"last_used_at" audit:"-" doc:"To the minute; null for never. It does not count as a change of the key."`
	CreatedBy      uuid.UUID  `json:"createdBy" db:"created_by" doc:"Who made the key: it ends with their account, and with their way into the tenant."`
	CreatedByEmail string     `json:"createdByEmail" db:"created_by_email"`
	Key            string     `json:"key,omitempty" db:"-" audit:"-" doc:"The key itself, to be sent as bearer token. Only the answer to the creation has it."`
	resource.SoftDeletable
}

// CreateAPIKey is the body that makes a key.
type CreateAPIKey struct {
	Name        string   `json:"name" minLength:"1" maxLength:"100" pattern:"^$|\\S" patternDescription:"more than spaces"`
	Description string   `json:"description" required:"false" maxLength:"1000"`
	Permissions []string `json:"permissions" minItems:"1" maxItems:"200" doc:"Codes of permissions that you hold yourself."`
	ExpiresAt   *db.Time `json:"expiresAt" required:"false" doc:"Must lie in the future; left out or null the key does not expire."`
	IsActive    *bool    `json:"isActive" required:"false" doc:"True where left out."`
}

// UpdateAPIKey is the body that changes a key; what is left out or null stays as it is.
type UpdateAPIKey struct {
	Name        *string   `json:"name" required:"false" minLength:"1" maxLength:"100" pattern:"^$|\\S" patternDescription:"more than spaces"`
	Description *string   `json:"description" required:"false" maxLength:"1000" doc:"An empty text clears it."`
	Permissions *[]string `json:"permissions" required:"false" minItems:"1" maxItems:"200" doc:"Replaces the list."`
	ExpiresAt   *db.Time  `json:"expiresAt" required:"false" doc:"Must lie in the future. An expiry can be moved, and not be taken away."`
	IsActive    *bool     `json:"isActive" required:"false"`
}

// APIKeyQuery is what the list of keys takes.
type APIKeyQuery struct {
	resource.Params
	IsActive  *bool      `query:"isActive" doc:"Only keys that are active, or only those that are not."`
	CreatedBy *uuid.UUID `query:"createdBy" doc:"Only keys that this user made."`
}

const apiKeyDoc = "A key is sent as bearer token in place of an access token and acts in its tenant on behalf of whoever made it, " +
	"with those of its permissions that they hold at the moment of the call. It needs no sign-in and outlives sessions. It ends at once when it is deleted or switched off, " +
	"when it expires, and when its maker is deactivated, deleted or taken out of the tenant. " +
	"Only people make and change keys, and only keys that may do no more than they; anybody with the permission can switch one off or delete it. " +
	"The key is shown once, in the answer to its creation, and begins with `stw_`."

// APIKeys declares the resource. Nothing of the service is touched before the first write.
func (s *Service) APIKeys() resource.Definition[APIKey, CreateAPIKey, UpdateAPIKey, APIKeyQuery] {
	return resource.Definition[APIKey, CreateAPIKey, UpdateAPIKey, APIKeyQuery]{
		Name:          "api-keys",
		Singular:      "api-key",
		Table:         "api_keys",
		Search:        []string{"name", "description", "prefix"},
		NotFound:      fault.APIKeyNotFound,
		AlreadyExists: fault.APIKeyAlreadyExists,
		New:           newAPIKey,
		Apply:         applyAPIKey,
		Guard:         s.guardKey,
		Doc:           apiKeyDoc,
		Refusals:      []fault.Code{fault.RoleEscalationBlocked, fault.Forbidden},
		OnceShown:     []string{"key"},
		Examples: resource.Examples[CreateAPIKey, UpdateAPIKey]{
			Create: CreateAPIKey{Name: "Nightly import", Permissions: []string{"create:users", "read:users"}},
			Update: UpdateAPIKey{IsActive: new(false)},
		},
		Illustrate: func(k *APIKey) {
			k.Prefix, k.Key = "stw_7f3k9q2m", "stw_7f3k9q2m_"+strings.Repeat("0", keySecretLength)
			k.CreatedBy, k.CreatedByEmail = uuid.MustParse("0192f0c1-7c1e-7d2a-9a52-0a6f2f6f3b10"), "ada@example.com"
		},
	}
}

func newAPIKey(_ context.Context, body CreateAPIKey) (APIKey, error) {
	key := APIKey{Name: body.Name, Description: body.Description, Permissions: body.Permissions, ExpiresAt: body.ExpiresAt, IsActive: true}
	resource.Set(&key.IsActive, body.IsActive)
	key.normalise()
	return key, nil
}

func applyAPIKey(_ context.Context, key *APIKey, body UpdateAPIKey) error {
	resource.Set(&key.Name, body.Name)
	resource.Set(&key.Description, body.Description)
	resource.Set(&key.IsActive, body.IsActive)
	if body.Permissions != nil {
		key.Permissions = *body.Permissions
	}
	if body.ExpiresAt != nil {
		key.ExpiresAt = body.ExpiresAt
	}
	key.normalise()
	return nil
}

func (k *APIKey) normalise() {
	k.Name = strings.TrimSpace(k.Name)
	k.NameKey = strings.ToLower(k.Name)
	k.Permissions = slices.Compact(slices.Sorted(slices.Values(k.Permissions)))
}

// guardKey holds every write to the rules of who may hand out what, and has the nodes forget a key that
// changes.
func (s *Service) guardKey(ctx context.Context, tx db.Tx, before, after *APIKey) error {
	switch {
	case before == nil:
		return s.issueKey(ctx, tx, after)
	case after != nil:
		if err := s.requireKeyChange(ctx, tx, before, after); err != nil {
			return err
		}
	}
	return changedUser(ctx, tx, before.CreatedBy)
}

// issueKey makes the key itself, for a person who holds everything that the key shall be able to do.
func (s *Service) issueKey(ctx context.Context, tx db.Tx, key *APIKey) error {
	if err := requirePerson(ctx); err != nil {
		return err
	}
	actor := scope.ActorFrom(ctx)
	key.CreatedBy, key.CreatedByEmail = actor.UserID, actor.Email
	if err := s.requireExpiry(key.ExpiresAt); err != nil {
		return err
	}
	if err := requireKeyGrant(ctx, tx, key, nil); err != nil {
		return err
	}
	key.Prefix, key.Key = newSecretKey()
	key.Hash = hashOpaque(key.Key)
	return nil
}

// requireKeyChange lets a person change a key. A key that stays active is changed only by somebody who
// may do all that it may; anybody who may change keys can switch one off.
func (s *Service) requireKeyChange(ctx context.Context, tx db.Tx, before, after *APIKey) error {
	if err := requirePerson(ctx); err != nil {
		return err
	}
	if after.ExpiresAt != nil && (before.ExpiresAt == nil || !after.ExpiresAt.Equal(before.ExpiresAt.Time)) {
		if err := s.requireExpiry(after.ExpiresAt); err != nil {
			return err
		}
	}
	if err := requireKeyGrant(ctx, tx, after, before.Permissions); err != nil {
		return err
	}
	if !after.IsActive {
		return nil
	}
	return requireHeld(scope.ActorFrom(ctx), after.Permissions)
}

// requireKeyGrant spells the permissions that the key did not have before as the catalogue does. They
// must be held by the caller, and by whoever made the key: it would have no use of others.
func requireKeyGrant(ctx context.Context, tx db.Tx, key *APIKey, had []string) error {
	had = slices.DeleteFunc(slices.Clone(had), func(code string) bool { return !slices.Contains(key.Permissions, code) })
	known, err := requireCodes(ctx, tx, stringsWithout(key.Permissions, had))
	if err != nil {
		return err
	}
	added := stringsWithout(Role{Permissions: known}.Codes(), had)
	key.Permissions = slices.Sorted(slices.Values(append(had, added...)))
	if err := requireHeld(scope.ActorFrom(ctx), added); err != nil || len(added) == 0 {
		return err
	}
	maker, err := readAccess(ctx, tx, key.CreatedBy, key.TenantID)
	if err != nil {
		return err
	}
	for _, code := range added {
		if !(scope.Actor{Permissions: maker.permissions}).Can(code) {
			return fault.New(fault.RoleEscalationBlocked, "Whoever made the key does not hold the permission %s, so the key cannot have it.", code)
		}
	}
	return nil
}

// stringsWithout lists the texts that are not among the others.
func stringsWithout(texts, others []string) []string {
	return slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return slices.Contains(others, text) })
}

func (s *Service) requireExpiry(at *db.Time) error {
	if at != nil && !at.After(s.clock()) {
		return fault.Invalid("expiresAt", "must lie in the future")
	}
	return nil
}

// requirePerson keeps keys from making and changing keys: what one of them let loose would outlive its
// own revocation.
func requirePerson(ctx context.Context) error {
	if scope.ActorFrom(ctx).IsKey() {
		return fault.New(fault.Forbidden, "This is for people who have signed in; an API key does not do.")
	}
	return nil
}

package identity

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"steward/internal/audit"
	"steward/internal/db"
	"steward/internal/fault"
	"steward/internal/resource"
	"steward/internal/scope"
)

// Bounds of one export. More entries are a matter for several exports, or for a report; the time is that
// of a slow client, whom the deadline of a call would cut off.
const (
	maxAuditExport  = 100_000
	auditExportTime = 2 * time.Minute
)

// AuditFilter is what the list of the audit log and its export have in common.
type AuditFilter struct {
	Actor      string            `query:"actor" maxLength:"254" doc:"Who did it: an id or an e-mail, in any case."`
	Action     string            `query:"action" maxLength:"100" doc:"What was done, such as user.created; in any case."`
	TargetType string            `query:"targetType" maxLength:"100" doc:"What kind of thing it was done to, such as user; in any case."`
	TargetID   string            `query:"targetId" maxLength:"200" doc:"Id of what it was done to."`
	Target     string            `query:"target" maxLength:"200" doc:"The same as targetId."`
	From       *resource.Instant `query:"from" doc:"Not before this time; a date means its beginning, UTC."`
	FromDate   *resource.Instant `query:"fromDate" doc:"The same as from."`
	To         *resource.Instant `query:"to" doc:"Not after this time; a date means its end, UTC."`
	ToDate     *resource.Instant `query:"toDate" doc:"The same as to."`
}

// AuditQuery is what the list of the audit log takes.
type AuditQuery struct {
	resource.Params
	AuditFilter
}

// auditSorting names what the log can be sorted by.
var auditSorting = resource.NewSorting("createdAt", "a.id",
	resource.SortField{Name: "id", SQL: "a.id"},
	resource.SortField{Name: "tenantId", SQL: "a.tenant_id", Nullable: true},
	resource.SortField{Name: "actorId", SQL: "a.actor_id", Nullable: true},
	resource.SortField{Name: "actorEmail", SQL: "a.actor_email", Text: true},
	resource.SortField{Name: "apiKeyId", SQL: "a.api_key_id", Nullable: true},
	resource.SortField{Name: "action", SQL: "a.action"},
	resource.SortField{Name: "targetType", SQL: "a.target_type"},
	resource.SortField{Name: "targetId", SQL: "a.target_id"},
	resource.SortField{Name: "address", SQL: "a.address"},
	resource.SortField{Name: "traceId", SQL: "a.trace_id"},
	resource.SortField{Name: "createdAt", SQL: "a.created_at"},
)

// AuditSortFields lists what the log can be sorted by, for the API reference.
func AuditSortFields() []string { return auditSorting.Names() }

// ListAudit lists the trail of the caller's tenant, newest first unless the query says otherwise. A
// caller with admin:system sees every tenant's, and what belongs to none, or the tenant that is named.
func (s *Service) ListAudit(ctx context.Context, query AuditQuery, tenant uuid.UUID) (resource.PagedResult[audit.Record], error) {
	var none resource.PagedResult[audit.Record]
	if query.SortBy == "" && query.SortDirection == "" {
		query.SortDirection = resource.Descending
	}
	selection, err := query.Select(auditSorting)
	if err != nil {
		return none, err
	}
	filter, err := s.auditFilter(ctx, query.AuditFilter, selection.Search, tenant)
	if err != nil {
		return none, err
	}
	total, err := audit.Count(ctx, s.db, filter)
	if err != nil {
		return none, err
	}
	offset, found := selection.Offset(total)
	if !found {
		return resource.NewPage[audit.Record](nil, total, selection.Window), nil
	}
	records, err := audit.List(ctx, s.db, filter, selection.Order.SQL(), selection.Size, offset)
	return resource.NewPage(records, total, selection.Window), err
}

// ExportAudit checks what is asked for and returns a walk over it, newest first. More than 100,000
// entries are refused: a file that is silently cut off is no evidence.
func (s *Service) ExportAudit(ctx context.Context, query AuditFilter, search string, tenant uuid.UUID) (walk func(fn func(audit.Record) error) error, err error) {
	filter, err := s.auditFilter(ctx, query, strings.TrimSpace(search), tenant)
	if err != nil {
		return nil, err
	}
	if filter.To == nil { // so that the file holds what was counted, whatever is written meanwhile
		now := s.now()
		filter.To = &now
	}
	total, err := audit.Count(ctx, s.db, filter)
	if err != nil {
		return nil, err
	}
	if total > s.maxExport {
		return nil, fault.Invalid("from", "must be later, or another filter narrower: %d entries match and an export holds at most %d", total, s.maxExport)
	}
	return func(fn func(audit.Record) error) error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), auditExportTime)
		defer cancel()
		return audit.Walk(ctx, s.db, filter, fn)
	}, nil
}

// auditFilter checks the parameters and holds the caller to the trail that they may read.
func (s *Service) auditFilter(ctx context.Context, query AuditFilter, search string, tenant uuid.UUID) (audit.Filter, error) {
	wrong := fields{}
	filter := audit.Filter{
		Action: strings.ToLower(query.Action), TargetType: strings.ToLower(query.TargetType),
		TargetID: synonym(&wrong, "target", query.TargetID, query.Target),
	}
	if from := sameInstant(&wrong, "fromDate", query.From, query.FromDate); from != nil {
		filter.From = new(from.First())
	}
	if to := sameInstant(&wrong, "toDate", query.To, query.ToDate); to != nil {
		filter.To = new(to.Last())
	}
	if err := wrong.fault(); err != nil {
		return filter, err
	}
	if search != "" {
		filter.Search = resource.SearchPattern(search)
	}
	var err error
	if filter.TenantID, err = trailOf(scope.ActorFrom(ctx), tenant); err != nil {
		return filter, err
	}
	filter.ActorIDs, err = actorIDs(ctx, s.db, query.Actor)
	return filter, err
}

// trailOf is the tenant whose trail the caller reads: their own, or with admin:system the one named and
// else all.
func trailOf(a *scope.Actor, named uuid.UUID) (*uuid.UUID, error) {
	switch {
	case a.Can(adminSystem):
		return optionalID(named), nil
	case named == uuid.Nil || named == a.TenantID:
		return &a.TenantID, nil
	}
	return nil, fault.New(fault.CrossTenantForbidden, "You can read the audit log of your own tenant only.")
}

// actorIDs finds who is meant by an id or an e-mail; nil means anybody. An e-mail may have belonged to
// accounts that are deleted.
func actorIDs(ctx context.Context, q db.Queryer, actor string) ([]uuid.UUID, error) {
	if actor == "" {
		return nil, nil
	}
	if id, err := uuid.Parse(actor); err == nil {
		return []uuid.UUID{id}, nil
	}
	ids, err := listUserIDsByEmail(ctx, q, actor)
	if err != nil {
		return nil, fmt.Errorf("find who has the e-mail: %w", err)
	}
	return ids, nil
}

// synonym is the one value that two parameters give; two different ones are refused.
func synonym(wrong *fields, name, first, second string) string {
	switch {
	case first == "":
		return second
	case second != "" && first != second:
		wrong.add(name, "must be the same where both names of the parameter are given")
	}
	return first
}

func sameInstant(wrong *fields, name string, first, second *resource.Instant) *resource.Instant {
	switch {
	case first == nil:
		return second
	case second != nil && *first != *second:
		wrong.add(name, "must be the same where both names of the parameter are given")
	}
	return first
}

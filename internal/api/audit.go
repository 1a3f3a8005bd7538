package api

import (
	"context"
	"encoding/csv"
	"io"
	"strings"
	"time"

	"github.com/google/uuid"

	"steward/internal/audit"
	"steward/internal/identity"
	"steward/internal/resource"
	"steward/internal/web"
)

// auditEntryDto is one change: who did what to which thing, and what it was before and after.
type auditEntryDto struct {
	ID         uuid.UUID  `json:"id"`
	TenantID   *uuid.UUID `json:"tenantId" doc:"Tenant whose trail it belongs to; null for none."`
	ActorID    *uuid.UUID `json:"actorId" doc:"Who did it; null where nobody was signed in."`
	ActorEmail string     `json:"actorEmail"`
	APIKeyID   *uuid.UUID `json:"apiKeyId" doc:"The API key that was used; null where the person acted themselves."`
	Action     string     `json:"action" doc:"The kind of thing and what happened to it, such as user.created."`
	TargetType string     `json:"targetType"`
	TargetID   string     `json:"targetId"`
	Before     web.Object `json:"before" doc:"The changed fields as they were; null where there is nothing to tell."`
	After      web.Object `json:"after" doc:"The changed fields as they are since; null where there is nothing to tell."`
	Address    string     `json:"address" doc:"Client address of the call."`
	TraceID    string     `json:"traceId" doc:"Trace id of the call."`
	CreatedAt  time.Time  `json:"createdAt"`
}

func auditEntryOf(r audit.Record) auditEntryDto {
	return auditEntryDto{
		ID: r.ID, TenantID: r.TenantID, ActorID: r.ActorID, ActorEmail: r.ActorEmail, APIKeyID: r.APIKeyID,
		Action: r.Action, TargetType: r.TargetType, TargetID: r.TargetID, Before: web.Object(textOf(r.Before)), After: web.Object(textOf(r.After)),
		Address: r.Address, TraceID: r.TraceID, CreatedAt: r.CreatedAt.Time,
	}
}

func textOf(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

type listAuditInput struct {
	identity.AuditQuery
	TenantID *web.ID `query:"tenantId" doc:"Only the trail of this tenant: another one than that of the token only with admin:system."`
}

func (a *API) listAudit(ctx context.Context, in *listAuditInput) (*web.Reply[resource.PagedResult[auditEntryDto]], error) {
	page, err := a.Identity.ListAudit(ctx, in.AuditQuery, chosen(in.TenantID))
	if err != nil {
		return nil, err
	}
	return web.OK(resource.MapPage(page, auditEntryOf)), nil
}

type exportAuditInput struct {
	identity.AuditFilter
	Search   string  `query:"search" maxLength:"200" doc:"Keeps the entries in which this text occurs, in any case."`
	TenantID *web.ID `query:"tenantId" doc:"Only the trail of this tenant: another one than that of the token only with admin:system."`
}

func (a *API) exportAudit(ctx context.Context, in *exportAuditInput) (*web.Reply[web.File], error) {
	walk, err := a.Identity.ExportAudit(ctx, in.AuditFilter, in.Search, chosen(in.TenantID))
	if err != nil {
		return nil, err
	}
	return web.OK(web.File{
		Name: "audit-log.csv", ContentType: "text/csv; charset=utf-8",
		Stream: func(to io.Writer) error { return writeAudit(to, walk) },
	}), nil
}

var auditColumns = []string{
	"createdAt", "tenantId", "actorId", "actorEmail", "apiKeyId", "action", "targetType", "targetId", "before", "after", "address", "traceId", "id",
}

// writeAudit writes CSV as RFC 4180 has it.
func writeAudit(to io.Writer, walk func(fn func(audit.Record) error) error) error {
	w := csv.NewWriter(to)
	w.UseCRLF = true
	if err := w.Write(auditColumns); err != nil {
		return err
	}
	err := walk(func(r audit.Record) error {
		cells := []string{
			r.CreatedAt.Format(time.RFC3339Nano), idText(r.TenantID), idText(r.ActorID), r.ActorEmail, idText(r.APIKeyID),
			r.Action, r.TargetType, r.TargetID, textOf(r.Before), textOf(r.After), r.Address, r.TraceID, r.ID.String(),
		}
		for i := range cells {
			cells[i] = plainCell(cells[i])
		}
		return w.Write(cells)
	})
	if err != nil {
		return err
	}
	w.Flush()
	return w.Error()
}

// plainCell puts an apostrophe before what a spreadsheet would take for a formula.
func plainCell(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r\n", rune(text[0])) {
		return "'" + text
	}
	return text
}

func idText(id *uuid.UUID) string {
	if id == nil {
		return ""
	}
	return id.String()
}

const (
	listAuditDoc = "What was changed in the tenant of the token, newest first unless sortBy or sortDirection say otherwise. " +
		"A caller with `admin:system` sees every tenant's changes, and those that belong to none. `from` and `to` are inclusive."
	exportAuditDoc = "The same entries as the list, newest first, as CSV (RFC 4180, UTF-8) with a line of column names. " +
		"Cells that a spreadsheet would take for a formula begin with an apostrophe. At most 100,000 entries: where more match the call is refused, and `from` and `to` must be narrower."
)

var auditExample = onePage(object{
	"id": exampleID, "tenantId": exampleTenant, "actorId": exampleID, "actorEmail": "ada@example.com", "apiKeyId": nil,
	"action": "user.updated", "targetType": "user", "targetId": exampleID, "before": object{"firstName": "Grace"}, "after": object{"firstName": "Grace B."},
	"address": "192.0.2.1", "traceId": "4bf92f3577b34da6a3ce929d0e0e4736", "createdAt": exampleTime,
})

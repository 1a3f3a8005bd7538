package web

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"steward/internal/fault"
)

// refusals lists the codes that the route may answer, by status: those that follow from what it is,
// and those it names itself.
func (e *endpoint) refusals() map[int][]fault.Code {
	r := &e.route
	codes := []fault.Code{}
	if len(e.input.params) > 0 || e.input.takesBody() || r.idempotent {
		codes = append(codes, fault.Validation)
	}
	if r.access.kind != accessPublic {
		codes = append(codes, fault.TokenMissing, fault.TokenInvalid, fault.TokenExpired, fault.TokenRevoked, fault.SessionInvalidated)
	}
	if r.access.inPerson {
		codes = append(codes, fault.Forbidden)
	}
	if r.access.kind == accessTenantToken {
		codes = append(codes, fault.TenantForbidden)
	}
	if len(r.access.anyOf) > 0 {
		codes = append(codes, fault.MissingPermission)
	}
	if e.input.has("header", "If-Match") {
		codes = append(codes, fault.PreconditionFailed)
	}
	if e.input.takesBody() {
		codes = append(codes, fault.BadRequest, fault.RequestTimeout, fault.BodyTooLarge, fault.UnsupportedMediaType)
	}
	if r.idempotent {
		codes = append(codes, fault.IdempotencyBusy, fault.IdempotencyMismatch)
	}
	if len(r.limits) > 0 {
		codes = append(codes, fault.RateLimited)
	}
	codes = append(codes, r.errors...)
	codes = append(codes, fault.Internal, fault.Unavailable)

	byStatus := map[int][]fault.Code{}
	for _, code := range codes {
		status := r.statusOfFault(&fault.Fault{Code: code})
		if r.convention == Envelope {
			code = envelopeCode(code, status)
		}
		if !slices.Contains(byStatus[status], code) {
			byStatus[status] = append(byStatus[status], code)
		}
	}
	return byStatus
}

// refusal describes the answers of one status.
func (s *Server) refusal(e *endpoint, status int, codes []fault.Code) *huma.Response {
	response := &huma.Response{Headers: e.commonHeaders()}
	contentType, schema := problemType, s.registry.Schema(reflect.TypeFor[problem](), true, "Problem")
	if e.route.convention == Envelope {
		contentType, schema = jsonType, s.registry.Schema(reflect.TypeFor[envelopeError](), true, "EnvelopeError")
	}
	examples := map[string]*huma.Example{}
	lines := make([]string, len(codes))
	for i, code := range codes {
		lines[i] = fmt.Sprintf("`%s`: %s.", code, code.Meaning().Title)
		examples[string(code)] = &huma.Example{Ref: "#/components/examples/" + s.noteExample(e.route.convention, code, status)}
	}
	response.Description = strings.Join(lines, "\n\n")
	response.Content = map[string]*huma.MediaType{contentType: {Schema: schema, Examples: examples}}
	switch status {
	case http.StatusUnauthorized:
		if e.route.access.kind != accessPublic {
			response.Headers["WWW-Authenticate"] = headerRef("WWW-Authenticate")
		}
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		response.Headers["Retry-After"] = headerRef("Retry-After")
	case http.StatusConflict:
		if e.route.idempotent {
			response.Headers["Retry-After"] = headerRef("Retry-After")
		}
	}
	return response
}

// errorExample is one code as one convention shows it.
type errorExample struct {
	convention Convention
	code       fault.Code
	status     int
}

// noteExample notes that the document shows the code, and returns the name of its example.
func (s *Server) noteExample(convention Convention, code fault.Code, status int) string {
	name := "problem"
	if convention == Envelope {
		name = "envelope"
	}
	name = fmt.Sprintf("%s-%s-%d", name, code, status)
	s.examples[name] = errorExample{convention, code, status}
	return name
}

func (s *Server) errorExamples() map[string]*huma.Example {
	all := make(map[string]*huma.Example, len(s.examples))
	for name, e := range s.examples {
		f := &fault.Fault{Code: e.code}
		if e.code == fault.Validation {
			f = fault.Invalid("email", "is required")
		}
		all[name] = &huma.Example{Summary: e.code.Meaning().Title, Value: exampleOf(s.exampleBody(e, f))}
	}
	return all
}

func (s *Server) exampleBody(e errorExample, f *fault.Fault) any {
	if e.convention == Envelope {
		return newEnvelopeError(f, e.status)
	}
	return problem{
		Type: s.errorsBase + "/" + slugOf(e.code, e.status), Title: e.code.Meaning().Title, Status: e.status, Detail: detailOf(f),
		Instance: "/api/v1/apps", TraceID: "4bf92f3577b34da6a3ce929d0e0e4736", Code: e.code, Errors: detailsOf(f),
	}
}

package web

import (
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"

	"steward/internal/fault"
)

const (
	jsonType    = "application/json"
	problemType = "application/problem+json"
)

// problem is the error body of version 1 routes, RFC 7807.
type problem struct {
	Type     string     `json:"type" format:"uri-reference" doc:"The class of the problem."`
	Title    string     `json:"title" doc:"What the code stands for, in a sentence."`
	Status   int        `json:"status"`
	Detail   string     `json:"detail" doc:"What went wrong this time, for people."`
	Instance string     `json:"instance" doc:"The path of the request."`
	TraceID  string     `json:"traceId" doc:"Finds this request in the logs and traces of the service."`
	Code     fault.Code `json:"code" doc:"What went wrong, for programs."`
	Errors   details    `json:"errors" doc:"For VALIDATION_ERROR an object of field to messages, else an array of strings."`
}

func (ex *exchange) newProblem(r *http.Request, f *fault.Fault, status int) problem {
	meaning := f.Code.Meaning()
	return problem{
		Type:     ex.s.errorsBase + "/" + slugOf(f.Code, status),
		Title:    meaning.Title,
		Status:   status,
		Detail:   detailOf(f),
		Instance: r.URL.EscapedPath(),
		TraceID:  ex.origin.TraceID,
		Code:     meaning.Code, // a code that is not listed is a fault of ours
		Errors:   detailsOf(f),
	}
}

func detailOf(f *fault.Fault) string {
	if f.Detail != "" {
		return f.Detail
	}
	return f.Code.Meaning().Title + "."
}

// details are the errors of a problem, which have one of two forms.
type details struct{ form any }

func detailsOf(f *fault.Fault) details {
	if f.Code != fault.Validation {
		texts := make([]string, 0, len(f.Fields))
		for _, field := range f.Fields {
			texts = append(texts, field.Name+": "+field.Message)
		}
		return details{texts}
	}
	byField := make(map[string][]string, len(f.Fields))
	for _, field := range f.Fields {
		byField[field.Name] = append(byField[field.Name], field.Message)
	}
	return details{byField}
}

// MarshalJSON writes the form.
func (d details) MarshalJSON() ([]byte, error) { return json.Marshal(d.form, plainly) }

// Schema describes both forms.
func (details) Schema(huma.Registry) *huma.Schema {
	texts := &huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeString}}
	return &huma.Schema{OneOf: []*huma.Schema{{Type: huma.TypeObject, AdditionalProperties: texts}, texts}}
}

// slugs name the classes of problems. A released slug is an address: it never changes.
var slugs = map[int]string{
	http.StatusBadRequest:            "bad-request",
	http.StatusUnauthorized:          "unauthorized",
	http.StatusForbidden:             "forbidden",
	http.StatusNotFound:              "not-found",
	http.StatusMethodNotAllowed:      "method-not-allowed",
	http.StatusNotAcceptable:         "not-acceptable",
	http.StatusRequestTimeout:        "request-timeout",
	http.StatusConflict:              "conflict",
	http.StatusPreconditionFailed:    "precondition-failed",
	http.StatusRequestEntityTooLarge: "too-large",
	http.StatusUnsupportedMediaType:  "unsupported-media-type",
	http.StatusUnprocessableEntity:   "unprocessable",
	http.StatusLocked:                "locked",
	http.StatusTooManyRequests:       "rate-limited",
	http.StatusInternalServerError:   "internal",
	http.StatusServiceUnavailable:    "unavailable",
}

func slugOf(code fault.Code, status int) string {
	if code == fault.Validation {
		return "validation"
	}
	if slug, ok := slugs[status]; ok {
		return slug
	}
	return slugs[http.StatusInternalServerError]
}

// conventionOf is the shape of errors for a path that no route answers.
func conventionOf(path string) Convention {
	if path == "/api" || strings.HasPrefix(path, "/api/") && !strings.HasPrefix(path, "/api/v1/") && path != "/api/v1" {
		return Envelope
	}
	return Problem
}

// Package fault holds the one error that crosses rooms: a code from the list in codes.go, a detail
// that may be shown to the caller, the fields it is about, and a cause that never leaves the process.
package fault

import (
	"errors"
	"fmt"
	"time"
)

// Fault is a refusal the caller can act on. Anything else that goes wrong is a plain error and
// reaches the caller as INTERNAL_ERROR with no detail.
type Fault struct {
	Code   Code
	Detail string
	// Fields is filled for validation: which inputs are wrong and what would be right.
	Fields []Field
	// RetryAfter, where positive, tells the caller when the same call may succeed.
	RetryAfter time.Duration

	cause error
}

// Field names one wrong input by its path in the request, such as "tenants[0].roleIds".
type Field struct {
	Name    string
	Message string
}

// New makes a fault; the detail is formatted as by fmt.Sprintf and must be safe to show.
func New(code Code, format string, args ...any) *Fault {
	return &Fault{Code: code, Detail: fmt.Sprintf(format, args...)}
}

// Invalid is a VALIDATION_ERROR about one field.
func Invalid(field, format string, args ...any) *Fault {
	return InvalidFields(Field{Name: field, Message: fmt.Sprintf(format, args...)})
}

// InvalidFields is a VALIDATION_ERROR about several fields at once.
func InvalidFields(fields ...Field) *Fault {
	return &Fault{Code: Validation, Detail: "The request is not valid.", Fields: fields}
}

// Error is for logs; callers see Code, Detail and Fields only.
func (f *Fault) Error() string {
	text := string(f.Code) + ": " + f.Detail
	for _, field := range f.Fields {
		text += fmt.Sprintf(" [%s: %s]", field.Name, field.Message)
	}
	if f.cause != nil {
		text += ": " + f.cause.Error()
	}
	return text
}

// Unwrap gives the cause to errors.Is and errors.As.
func (f *Fault) Unwrap() error { return f.cause }

// Because returns a copy of f that carries cause for the log.
func (f *Fault) Because(cause error) *Fault {
	copied := *f
	copied.cause = cause
	return &copied
}

// RetryIn returns a copy of f that tells the caller to come back after d.
func (f *Fault) RetryIn(d time.Duration) *Fault {
	copied := *f
	copied.RetryAfter = d
	return &copied
}

// From finds the fault in err's chain.
func From(err error) (*Fault, bool) {
	var f *Fault
	ok := errors.As(err, &f)
	return f, ok
}

// Is reports whether err carries the code.
func Is(err error, code Code) bool {
	f, ok := From(err)
	return ok && f.Code == code
}

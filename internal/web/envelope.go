package web

import (
	"bytes"
	"net/http"

	"steward/internal/fault"
)

// List is one page of an unversioned list. The contract can be read as putting its members inside
// data or at the top level, so an envelope route answers both.
type List[T any] struct {
	Items      []T `json:"items"`
	TotalCount int `json:"totalCount"`
	Page       int `json:"page"`
	PageSize   int `json:"pageSize"`
	TotalPages int `json:"totalPages"`
}

// Spread marks the body.
func (List[T]) Spread() {}

// spread is a body whose members an envelope repeats at its top level.
type spread interface{ Spread() }

// encodeEnvelope writes {isSuccess, data, message}, leaving out what the reply does not carry.
func encodeEnvelope(to *bytes.Buffer, flag string, out *outcome) error {
	to.WriteString(`{"` + flag + `":true`)
	if out.body != nil {
		if err := encodeData(to, out.body); err != nil {
			return err
		}
	}
	if out.message != "" {
		to.WriteString(`,"message":`)
		if err := encode(to, out.message); err != nil {
			return err
		}
	}
	to.WriteByte('}')
	return nil
}

func encodeData(to *bytes.Buffer, body any) error {
	to.WriteString(`,"data":`)
	from := to.Len()
	if err := encode(to, body); err != nil {
		return err
	}
	if _, ok := body.(spread); ok {
		members := bytes.Clone(to.Bytes()[from+1 : to.Len()-1]) // without the braces
		to.WriteByte(',')
		to.Write(members)
	}
	return nil
}

// envelopeError is the error body of envelope routes.
type envelopeError struct {
	IsSuccess    bool            `json:"isSuccess" doc:"Always false."`
	ErrorCode    fault.Code      `json:"errorCode" doc:"What went wrong, for programs."`
	ErrorMessage string          `json:"errorMessage" doc:"What went wrong, for people."`
	Errors       []envelopeField `json:"errors" doc:"The fields that are wrong; empty where it is not about fields."`
}

type envelopeField struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

func newEnvelopeError(f *fault.Fault, status int) envelopeError {
	e := envelopeError{ErrorCode: envelopeCode(f.Code, status), ErrorMessage: detailOf(f), Errors: []envelopeField{}}
	for _, field := range f.Fields {
		e.Errors = append(e.Errors, envelopeField{Field: field.Name, Message: field.Message})
	}
	return e
}

// envelopeCodes are the codes that clients of envelope routes know, and for a status which none of
// these covers the general code of that status.
var envelopeCodes = map[fault.Code]bool{
	fault.Validation: true, fault.InvalidCredentials: true, fault.TokenExpired: true, fault.TokenInvalid: true,
	fault.Unauthorized: true, fault.Forbidden: true, fault.NotFound: true, fault.Conflict: true,
	fault.AccountLocked: true, fault.AccountDisabled: true, fault.EmailNotConfirmed: true,
	fault.RateLimited: true, fault.Internal: true,
	fault.MethodNotAllowed: true, fault.NotAcceptable: true, fault.RequestTimeout: true, fault.PreconditionFailed: true,
	fault.BodyTooLarge: true, fault.UnsupportedMediaType: true, fault.Unavailable: true, fault.IdempotencyMismatch: true,
}

var envelopeCodeOfStatus = map[int]fault.Code{
	http.StatusBadRequest:   fault.Validation,
	http.StatusUnauthorized: fault.TokenInvalid,
	http.StatusForbidden:    fault.Forbidden,
	http.StatusNotFound:     fault.NotFound,
	http.StatusConflict:     fault.Conflict,
	http.StatusLocked:       fault.AccountLocked,
}

func envelopeCode(code fault.Code, status int) fault.Code {
	shown := code.Meaning().Envelope
	if envelopeCodes[shown] {
		return shown
	}
	if general, ok := envelopeCodeOfStatus[status]; ok {
		return general
	}
	return shown
}

package web

// Reply is what a handler answers: data, and a few things about it that become headers.
type Reply[T any] struct {
	Body T
	// Message is shown on envelope routes only.
	Message  string
	Location string
	// ETag is the version of the body, without quotes.
	ETag string
}

// None is the body of a reply that carries no data.
type None struct{}

// OK answers with the body and the status of the route.
func OK[T any](body T) *Reply[T] { return &Reply[T]{Body: body} }

// Created answers with the body and where it can be read again.
func Created[T any](location string, body T) *Reply[T] {
	return &Reply[T]{Body: body, Location: location}
}

// Done answers with no data: a message on envelope routes, an empty body on the others.
func Done(message string) *Reply[None] { return &Reply[None]{Message: message} }

// WithETag returns the reply with the version of its body.
func (r *Reply[T]) WithETag(version string) *Reply[T] {
	r.ETag = version
	return r
}

// WithMessage returns the reply with a message beside its body.
func (r *Reply[T]) WithMessage(message string) *Reply[T] {
	r.Message = message
	return r
}

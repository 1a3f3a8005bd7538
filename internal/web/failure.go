package web

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"

	"steward/internal/db"
	"steward/internal/fault"
)

// retrySoon is when a caller should come back after the service was too busy.
const retrySoon = 2 * time.Second

// errGone says that the client no longer waits for an answer.
var errGone = errors.New("the client closed the connection")

// faultOf turns any error into the fault that the caller is shown. What is not a fault is ours: its
// text stays in the cause.
func faultOf(err error) *fault.Fault {
	if f, ok := fault.From(err); ok {
		return f
	}
	var tooLarge *http.MaxBytesError
	var network net.Error
	switch {
	case errors.As(err, &tooLarge):
		return bodyTooLarge(tooLarge.Limit)
	case errors.Is(err, context.DeadlineExceeded):
		return unavailable("The request took too long.").Because(err)
	case db.IsUnavailable(err), db.IsBusy(err), db.IsSerialisation(err):
		return unavailable("The service is too busy or its store cannot be reached.").Because(err)
	case errors.As(err, &network) && network.Timeout():
		return unavailable("A dependency did not answer in time.").Because(err)
	default:
		return fault.New(fault.Internal, "An unexpected error occurred.").Because(err)
	}
}

func unavailable(detail string) *fault.Fault {
	return fault.New(fault.Unavailable, "%s", detail).RetryIn(retrySoon)
}

func bodyTooLarge(limit int64) *fault.Fault {
	return fault.New(fault.BodyTooLarge, "The body may have at most %d bytes.", limit)
}

// statusOf is the status of a fault on this route.
func (r *Route) statusOfFault(f *fault.Fault) int {
	if status, ok := r.statusOf[f.Code]; ok {
		return status
	}
	return f.Code.Meaning().Status
}

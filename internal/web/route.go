package web

import (
	"maps"
	"net/http"
	"slices"

	"steward/internal/fault"
)

// Convention is how the answers of a route are shaped.
type Convention int

const (
	// Envelope wraps data as {isSuccess, data} and errors as {isSuccess, errorCode, ...}.
	Envelope Convention = iota + 1
	// Problem answers the resource itself and errors as RFC 7807 problem details.
	Problem
)

// Group is what the routes of one area share.
type Group struct {
	Convention Convention
	// Limit is the class of rate limit that applies unless a route names its own.
	Limit string
	// Tag is the heading of the area in the API reference.
	Tag string
}

// Get declares a route that reads.
func (g Group) Get(path string, access Access, summary string) Route {
	return g.route(http.MethodGet, path, access, summary)
}

// Post declares a route that creates or acts.
func (g Group) Post(path string, access Access, summary string) Route {
	return g.route(http.MethodPost, path, access, summary)
}

// Put declares a route that replaces.
func (g Group) Put(path string, access Access, summary string) Route {
	return g.route(http.MethodPut, path, access, summary)
}

// Delete declares a route that removes.
func (g Group) Delete(path string, access Access, summary string) Route {
	return g.route(http.MethodDelete, path, access, summary)
}

func (g Group) route(method, path string, access Access, summary string) Route {
	r := Route{method: method, path: path, access: access, summary: summary, convention: g.Convention, tag: g.Tag}
	if g.Limit != "" {
		r.limits = []string{g.Limit}
	}
	return r
}

// Route is one method on one path: who may call it, how it answers and what it may refuse. Each
// method returns a changed copy.
type Route struct {
	method, path string
	access       Access
	summary, doc string
	tag          string
	convention   Convention
	limits       []string
	status       int
	statusOf     map[fault.Code]int
	errors       []fault.Code
	idempotent   bool
	onceShown    []string
	maxBody      int64
	request      any
	response     any
	successKey   string
	files        []string
}

// Limited replaces the group's class of rate limit; with no class the route is unlimited.
func (r Route) Limited(class ...string) Route { r.limits = class; return r }

// Status sets the status of success, which is 200 otherwise.
func (r Route) Status(status int) Route { r.status = status; return r }

// As answers one code with another status than fault/codes.go gives it.
func (r Route) As(code fault.Code, status int) Route {
	statusOf := maps.Clone(r.statusOf)
	if statusOf == nil {
		statusOf = map[fault.Code]int{}
	}
	statusOf[code] = status
	r.statusOf = statusOf
	return r
}

// Doc adds text to the description in the API reference.
func (r Route) Doc(text string) Route { r.doc = text; return r }

// Errors lists the codes this route may answer beside those every route of its kind may.
func (r Route) Errors(codes ...fault.Code) Route {
	r.errors = append(slices.Clip(r.errors), codes...)
	return r
}

// Idempotent accepts an Idempotency-Key, so that a repeated call replays the first answer.
func (r Route) Idempotent() Route { r.idempotent = true; return r }

// OnceShown names body fields that are secrets: a replayed answer leaves them out.
func (r Route) OnceShown(fields ...string) Route { r.onceShown = fields; return r }

// MaxBody sets how many bytes a body may have.
func (r Route) MaxBody(n int64) Route { r.maxBody = n; return r }

// Example shows a request body and the data of its answer in the API reference.
func (r Route) Example(request, response any) Route {
	r.request, r.response = request, response
	return r
}

// SuccessKey names the flag of an envelope answer where the contract calls it otherwise than isSuccess.
func (r Route) SuccessKey(name string) Route { r.successKey = name; return r }

// String is the name of the route in messages, logs and metrics.
func (r Route) String() string { return r.method + " " + r.path }

func (r *Route) successStatus() int {
	if r.status == 0 {
		return http.StatusOK
	}
	return r.status
}

// flag is the member of an envelope that says it is a success.
func (r *Route) flag() string {
	if r.successKey == "" {
		return "isSuccess"
	}
	return r.successKey
}

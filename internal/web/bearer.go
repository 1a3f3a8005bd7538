package web

import "strings"

// Bearer is embedded in the input of a route that looks at the caller's token itself.
type Bearer struct {
	Authorization string `header:"Authorization" hidden:"true"`
}

// Token is the bearer token; the route's access has made sure that there is one.
func (b Bearer) Token() string {
	_, token, _ := strings.Cut(b.Authorization, " ")
	return strings.TrimSpace(token)
}

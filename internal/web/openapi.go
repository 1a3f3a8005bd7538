package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
)

const bearerScheme = "bearer"

// openAPICache is the document as it is served. It is made on the first request: no route is added
// once the server runs, and a start need not wait for it.
type openAPICache struct {
	once          sync.Once
	plain, packed []byte
	tag           string
	err           error
}

// OpenAPI is the document of every route mounted so far. The same routes give the same bytes.
func (s *Server) OpenAPI() ([]byte, error) {
	doc := &huma.OpenAPI{
		OpenAPI: "3.1.0",
		Info: &huma.Info{
			Title:       "Steward",
			Version:     s.options.Version,
			Description: "Sign-in, users, roles, permissions and tenants of a multi-tenant product.",
			License:     &huma.License{Name: "MIT", Identifier: "MIT"},
		},
		Paths: s.paths,
		Tags:  s.tags(),
		Components: &huma.Components{
			Schemas:         schemasOf(s.registry),
			Headers:         sharedHeaders(),
			Examples:        s.errorExamples(),
			SecuritySchemes: map[string]*huma.SecurityScheme{bearerScheme: bearer()},
		},
	}
	if s.options.PublicURL != "" {
		doc.Servers = []*huma.Server{{URL: s.options.PublicURL}}
	}
	compact, err := json.Marshal(doc)
	if err != nil {
		return nil, fmt.Errorf("write the API document: %w", err)
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, compact, "", "  "); err != nil {
		return nil, fmt.Errorf("indent the API document: %w", err)
	}
	indented.WriteByte('\n')
	return indented.Bytes(), nil
}

func bearer() *huma.SecurityScheme {
	return &huma.SecurityScheme{
		Type: "http", Scheme: "bearer", BearerFormat: "JWT",
		Description: "The access token that POST /api/auth/login answers, or an API key (`stw_...`) on routes that do not ask for a person.",
	}
}

// tags lists the areas in the order in which their first routes were mounted.
func (s *Server) tags() []*huma.Tag {
	var tags []*huma.Tag
	seen := map[string]bool{"": true}
	for _, e := range s.endpoints {
		if !seen[e.route.tag] {
			seen[e.route.tag] = true
			tags = append(tags, &huma.Tag{Name: e.route.tag})
		}
	}
	return tags
}

func (s *Server) serveOpenAPI(w http.ResponseWriter, r *http.Request) {
	c := &s.openAPI
	c.once.Do(func() {
		if c.plain, c.err = s.OpenAPI(); c.err == nil {
			var packed bytes.Buffer
			pack(&packed, c.plain)
			c.packed, c.tag = packed.Bytes(), tagOf(c.plain)
		}
	})
	if c.err != nil {
		ex := w.(*exchange)
		ex.refuse(r, ex.route(r), c.err)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-cache")
	h.Add("Vary", "Accept-Encoding")
	body, tag := c.plain, c.tag
	if wantsGzip(r) {
		body, tag = c.packed, c.tag+"-gzip"
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("ETag", `"`+tag+`"`)
	if seen := r.Header.Get("If-None-Match"); seen != "" && matchETag(seen, tag, true) {
		h.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Length", fmt.Sprint(len(body)))
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // fails only when the client has gone
	}
}

// operationID makes a name such as get-v1-admin-users-by-id.
func operationID(method, path string) string {
	words := []string{strings.ToLower(method)}
	for part := range strings.SplitSeq(strings.TrimPrefix(path, "/api"), "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			words = append(words, "by", kebab(strings.TrimSuffix(name, "}")))
		} else if part != "" {
			words = append(words, kebab(strings.Trim(part, ".")))
		}
	}
	return strings.Join(words, "-")
}

// typeName names a schema that has no Go name, such as PostAuthLoginRequest.
func typeName(route *Route, kind string) string {
	var name strings.Builder
	for word := range strings.SplitSeq(operationID(route.method, route.path)+"-"+kind, "-") {
		name.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return name.String()
}

func kebab(name string) string {
	var out strings.Builder
	for i, c := range name {
		if c >= 'A' && c <= 'Z' {
			if i > 0 {
				out.WriteByte('-')
			}
			c += 'a' - 'A'
		}
		out.WriteRune(c)
	}
	return out.String()
}

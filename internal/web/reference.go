package web

import (
	"bytes"
	_ "embed"
	"html/template"
	"net/http"

	"github.com/go-chi/chi/v5"
)

// The reference is Scalar's, vendored by scripts/update-reference; its licence lies beside it.
var (
	//go:embed reference/scalar.js.gz
	scalarBundle []byte
	//go:embed reference/reference.js
	referenceScript []byte
	//go:embed reference/reference.html
	referenceHTML string
)

// referencePolicy is wider than that of the other pages by what Scalar needs, all of it on this host:
// it writes style sheets and style attributes into the page. No other host can be called or loaded.
const referencePolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
	"font-src 'self'; connect-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'"

// mountReference serves the browsable API reference, which reads /openapi.json.
func (s *Server) mountReference(r chi.Router) {
	assets := map[string]asset{
		"scalar.js":    newPackedAsset("scalar.js", scalarBundle),
		"reference.js": newAsset("reference.js", referenceScript),
	}
	for name, a := range assets {
		mountGet(r, "/"+staticPath+name, a)
	}
	mountGet(r, "/docs", newReferencePage(assets))
	mountGet(r, "/docs/", http.RedirectHandler("/docs", http.StatusPermanentRedirect))
}

func newReferencePage(assets map[string]asset) http.Handler {
	link := func(name string) string {
		if a, ok := assets[name]; ok {
			return a.link(name)
		}
		return pageAssets[name].link(name)
	}
	var html bytes.Buffer
	page := template.Must(template.New("reference").Funcs(template.FuncMap{"asset": link}).Parse(referenceHTML))
	if err := page.Execute(&html, nil); err != nil {
		panic(err) // embedded: the template is broken for everybody
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setPageHeaders(w.Header(), referencePolicy)
		_, _ = w.Write(html.Bytes()) // fails only when the client has gone
	})
}

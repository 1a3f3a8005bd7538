package web

import (
	"bytes"
	"embed"
	"html/template"
	"net/http"
	"path"

	"github.com/go-chi/chi/v5"

	"steward/internal/fault"
)

//go:embed pages
var pageFiles embed.FS

// pagePolicy lets a page load its own script and style and call its own API, and nothing else.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// pageAssets are the scripts and styles of the pages, by file name.
var pageAssets = readPageAssets("page.css", "home.js", "form.js", "icon.svg")

func readPageAssets(names ...string) map[string]asset {
	assets := make(map[string]asset, len(names))
	for _, name := range names {
		content, err := pageFiles.ReadFile(path.Join("pages", name))
		if err != nil {
			panic(err) // embedded: a name above is mistyped
		}
		assets[name] = newAsset(name, content)
	}
	return assets
}

// pageFacts is what a page may say about this service. Nothing from a request is among them: links in
// mails carry a token, which only the script in the browser reads.
type pageFacts struct {
	Version   string
	PublicURL string
	// Slug and Codes are for the pages behind the type of a problem.
	Slug  string
	Codes []fault.Meaning
}

// codesBySlug lists the codes of each class of problems.
func codesBySlug() map[string][]fault.Meaning {
	classes := map[string][]fault.Meaning{}
	for _, meaning := range fault.All() {
		slug := slugOf(meaning.Code, meaning.Status)
		classes[slug] = append(classes[slug], meaning)
	}
	return classes
}

// mountPages serves the start page and the pages that mails link to: plain forms over the same API.
func (s *Server) mountPages(r chi.Router) {
	facts := pageFacts{Version: s.options.Version, PublicURL: s.options.PublicURL}
	mountGet(r, "/", newPage(inLayout("home.html"), facts))
	for _, name := range []string{"reset-password", "confirm-email", "invitation"} {
		mountGet(r, "/"+name, newPage(inLayout(name+".html"), facts))
	}
	for slug, codes := range codesBySlug() {
		mountGet(r, "/problems/"+slug, newPage(pageTemplate("pages/problem.html"), pageFacts{Version: facts.Version, PublicURL: facts.PublicURL, Slug: slug, Codes: codes}))
	}
	for name, a := range pageAssets {
		mountGet(r, "/"+staticPath+name, a)
	}
}

// newPage renders once: the facts do not change while the process runs.
func newPage(page *template.Template, facts pageFacts) http.Handler {
	var html bytes.Buffer
	if err := page.Execute(&html, facts); err != nil {
		panic(err) // embedded: the template is broken for everybody
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		setPageHeaders(w.Header(), pagePolicy)
		_, _ = w.Write(html.Bytes()) // fails only when the client has gone
	})
}

func inLayout(file string) *template.Template {
	return pageTemplate("pages/layout.html", "pages/"+file)
}

func pageTemplate(files ...string) *template.Template {
	link := func(name string) string { return pageAssets[name].link(name) }
	return template.Must(template.New(path.Base(files[0])).
		Funcs(template.FuncMap{"asset": link}).
		ParseFS(pageFiles, files...))
}

// setPageHeaders keeps a page, whose address may carry a token, out of caches, referrers and frames.
func setPageHeaders(h http.Header, policy string) {
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy)
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
}

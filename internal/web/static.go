package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
)

// staticPath is where embedded scripts and styles are served. Pages link to it relative to
// themselves, so that they also work below a path prefix of a proxy.
const staticPath = "static/"

// asset is one embedded file as it goes over the wire.
type asset struct {
	contentType string
	tag         string // changes whenever the content does
	plain       []byte
	packed      []byte // gzip; where it is set, plain is not
}

func newAsset(name string, plain []byte) asset {
	return asset{contentType: typeOf(name), tag: tagOf(plain), plain: plain}
}

// newPackedAsset keeps a large file compressed in memory, as most clients want it.
func newPackedAsset(name string, packed []byte) asset {
	return asset{contentType: typeOf(name), tag: tagOf(packed), packed: packed}
}

func tagOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:6])
}

func typeOf(name string) string {
	switch path.Ext(name) {
	case ".css":
		return "text/css; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	default:
		return "application/octet-stream"
	}
}

// link is the address a page uses: it names the content, so it may be kept for good.
func (a asset) link(name string) string { return staticPath + name + "?v=" + a.tag }

func (a asset) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", a.contentType)
	h.Set("X-Content-Type-Options", "nosniff")
	// Another version of the program may have made the page that asks (two nodes, one being
	// upgraded): such a page gets today's content, but must not keep it under that name.
	if r.URL.Query().Get("v") == a.tag {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	} else {
		h.Set("Cache-Control", "no-cache")
	}
	if a.packed == nil {
		h.Set("ETag", `"`+a.tag+`"`)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(a.plain))
		return
	}
	h.Add("Vary", "Accept-Encoding")
	if wantsGzip(r) {
		a.servePacked(w, r)
	} else {
		a.serveUnpacked(w, r)
	}
}

func (a asset) servePacked(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("ETag", `"`+a.tag+`-gzip"`)
	h.Set("Content-Encoding", "gzip")
	h.Set("Content-Length", strconv.Itoa(len(a.packed)))
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(a.packed))
}

func (a asset) serveUnpacked(w http.ResponseWriter, r *http.Request) {
	etag := `"` + a.tag + `"`
	w.Header().Set("ETag", etag)
	if r.Header.Get("If-None-Match") == etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if r.Method == http.MethodHead {
		return
	}
	plain, err := gzip.NewReader(bytes.NewReader(a.packed))
	if err != nil {
		http.Error(w, "the embedded file is damaged", http.StatusInternalServerError)
		return
	}
	_, _ = io.Copy(w, plain) // fails only when the client has gone
}

// wantsGzip reads Accept-Encoding as RFC 9110 has it: listed, or covered by *, and not refused by q=0.
func wantsGzip(r *http.Request) bool {
	listed, covered := false, false
	for part := range strings.SplitSeq(strings.Join(r.Header.Values("Accept-Encoding"), ","), ",") {
		coding, parameters, _ := strings.Cut(part, ";")
		q, refusable := strings.CutPrefix(strings.ReplaceAll(parameters, " ", ""), "q=")
		weight, err := strconv.ParseFloat(q, 64)
		wanted := !refusable || err != nil || weight > 0
		switch strings.ToLower(strings.TrimSpace(coding)) {
		case "gzip":
			if !wanted {
				return false
			}
			listed = true
		case "*":
			covered = wanted
		}
	}
	return listed || covered
}

// mountGet serves GET and HEAD alike.
func mountGet(r chi.Router, pattern string, h http.Handler) {
	r.Method(http.MethodGet, pattern, h)
	r.Method(http.MethodHead, pattern, h)
}

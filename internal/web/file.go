package web

import (
	"compress/gzip"
	"io"
	"mime"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
)

// File is a reply that is downloaded: it is sent as it stands, in either convention. The route says
// with Files which content types it may have.
type File struct {
	// Name is what a browser saves it as.
	Name        string
	ContentType string
	Content     []byte
	// Stream, where given, writes the content while it is sent, so that it need not fit into memory.
	Stream func(to io.Writer) error
}

var fileType = reflect.TypeFor[File]()

// Files names the content types of a route that answers a File, for the API reference.
func (r Route) Files(contentTypes ...string) Route { r.files = contentTypes; return r }

func (f *File) answer(status int) *answer {
	return &answer{
		status: status, contentType: f.ContentType, body: f.Content, stream: f.Stream,
		disposition: mime.FormatMediaType("attachment", map[string]string{"filename": f.Name}),
	}
}

// fileContent documents the files that the route answers. It panics on a route that cannot answer one.
func (r *Route) fileContent() map[string]*huma.MediaType {
	if len(r.files) == 0 {
		panic(r.String() + ": the route answers a file and does not say of which content types")
	}
	if r.idempotent {
		panic(r.String() + ": a file is not kept for replay")
	}
	content := map[string]*huma.MediaType{}
	for _, contentType := range r.files {
		content[contentType] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}
	}
	return content
}

// sendStream sends a file as it is made. The status is out by the time that something can fail, so a
// failure breaks the connection off: the client must not take half a file for a whole one.
func (ex *exchange) sendStream(r *http.Request, ans *answer) {
	h := ex.Header()
	h["Content-Type"] = contentTypeValue(ans.contentType)
	h.Add("Vary", "Accept-Encoding")
	packed := wantsGzip(r)
	if packed {
		h["Content-Encoding"] = gzipValue
	}
	ex.WriteHeader(ans.status)
	if r.Method == http.MethodHead {
		return
	}
	var err error
	if packed {
		err = packStream(ex, ans.stream)
	} else {
		err = ans.stream(ex)
	}
	if err != nil {
		if r.Context().Err() == nil {
			ex.logFailure(r, ans.status, err)
		}
		panic(http.ErrAbortHandler)
	}
}

func packStream(to io.Writer, stream func(io.Writer) error) error {
	w := packers.Get().(*gzip.Writer)
	defer packers.Put(w)
	w.Reset(to)
	if err := stream(w); err != nil {
		return err
	}
	return w.Close()
}

package web

import (
	"mime"
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
}

var fileType = reflect.TypeFor[File]()

// Files names the content types of a route that answers a File, for the API reference.
func (r Route) Files(contentTypes ...string) Route { r.files = contentTypes; return r }

func (f *File) answer(status int) *answer {
	return &answer{
		status: status, contentType: f.ContentType, body: f.Content,
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

package web

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"steward/internal/fault"
)

const multipartType = "multipart/form-data"

// Upload is a file in an input: the part of a multipart form that the tag `form` names. What the
// client calls the file and its type is not passed on, since neither can be relied on.
//
//	File web.Upload `form:"file"`
type Upload struct{ Content []byte }

// upload is the Upload of a route's input.
type upload struct {
	name  string
	index []int
	doc   string
}

func newUpload(route *Route, field reflect.StructField, index []int) *upload {
	u := &upload{name: field.Tag.Get("form"), index: index, doc: field.Tag.Get("doc")}
	if u.name == "" {
		panic(route.String() + ": field " + field.Name + " does not say its form field")
	}
	return u
}

func (in *input) takesBody() bool { return in.body != nil || in.upload != nil }

// read reads what bind needs of the body: the text of a JSON body, or the content of the file; nil
// where it is missing.
func (in *input) read(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	switch {
	case in.upload != nil:
		return in.upload.read(w, r, limit)
	case in.body != nil:
		return readBody(w, r, limit)
	default:
		return nil, refuseBody(w, r, limit)
	}
}

// read takes the whole body before it looks for the file, so that a client that went away is told
// apart from one that sent half a form.
func (u *upload) read(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if r.ContentLength == 0 || r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	boundary, ok := boundaryOf(r.Header)
	if !ok {
		return nil, fault.New(fault.UnsupportedMediaType, "The body must be "+multipartType+" with a boundary, and not compressed.")
	}
	raw, err := readLimited(w, r, limit)
	if err != nil {
		return nil, err
	}
	return u.find(multipart.NewReader(bytes.NewReader(raw), boundary))
}

func boundaryOf(h http.Header) (string, bool) {
	if coding := h.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return "", false
	}
	media, parameters, err := mime.ParseMediaType(h.Get("Content-Type"))
	boundary := parameters["boundary"]
	return boundary, err == nil && media == multipartType && boundary != ""
}

// find returns the content of the one part with the name; other parts are none of our business.
func (u *upload) find(form *multipart.Reader) (content []byte, err error) {
	for {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			return content, nil
		}
		if err != nil {
			return nil, notAForm(err)
		}
		if part.FormName() != u.name {
			continue
		}
		if content != nil {
			return nil, fault.Invalid(u.name, "must be given once")
		}
		if content, err = io.ReadAll(part); err != nil {
			return nil, notAForm(err)
		}
	}
}

func notAForm(err error) error {
	return fault.Invalid(bodyRoot, "is not valid "+multipartType).Because(err)
}

func (u *upload) bind(content []byte, v reflect.Value) []fault.Field {
	if content == nil {
		return []fault.Field{{Name: u.name, Message: "is required"}}
	}
	v.FieldByIndex(u.index).Set(reflect.ValueOf(Upload{Content: content}))
	return nil
}

// requestBody documents the form.
func (u *upload) requestBody() *huma.RequestBody {
	form := &huma.Schema{
		Type:       huma.TypeObject,
		Required:   []string{u.name},
		Properties: map[string]*huma.Schema{u.name: {Type: huma.TypeString, Format: "binary", Description: u.doc}},
	}
	return &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{multipartType: {Schema: form}}}
}

package web

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strconv"
	"sync"

	"steward/internal/fault"
)

// answer is a whole response, ready to be sent or kept.
type answer struct {
	status      int
	contentType string
	location    string
	etag        string
	disposition string
	body        []byte
	stream      func(io.Writer) error // instead of body
	replayed    bool
	buffer      *bytes.Buffer // to be given back once body was sent
}

// Header values that never change are shared between answers; nobody writes into them.
var (
	jsonValue    = []string{jsonType}
	problemValue = []string{problemType}
	gzipValue    = []string{"gzip"}
)

// shape writes the outcome in the convention of the route.
func (e *endpoint) shape(out *outcome) (*answer, error) {
	if file, ok := out.body.(*File); ok {
		return file.answer(e.route.successStatus()), nil
	}
	ans := &answer{status: e.route.successStatus(), location: out.location, etag: out.etag}
	if e.route.convention == Problem && out.body == nil || ans.status == http.StatusNoContent {
		return ans, nil
	}
	ans.buffer, ans.contentType = getBuffer(), jsonType
	var err error
	if e.route.convention == Envelope {
		err = encodeEnvelope(ans.buffer, e.route.flag(), out)
	} else {
		err = encode(ans.buffer, out.body)
	}
	ans.body = ans.buffer.Bytes()
	return ans, err
}

// shapeFault writes a fault in the convention of the route.
func (ex *exchange) shapeFault(r *http.Request, route *Route, f *fault.Fault) (*answer, error) {
	ans := &answer{status: route.statusOfFault(f), buffer: getBuffer(), contentType: problemType}
	var err error
	if route.convention == Envelope {
		ans.contentType = jsonType
		err = encode(ans.buffer, newEnvelopeError(f, ans.status))
	} else {
		err = encode(ans.buffer, ex.newProblem(r, f, ans.status))
	}
	ans.body = ans.buffer.Bytes()
	return ans, err
}

// send writes the answer to the client.
func (ex *exchange) send(r *http.Request, ans *answer) {
	h := ex.Header()
	if ans.location != "" {
		h["Location"] = []string{ans.location}
	}
	if ans.disposition != "" {
		h["Content-Disposition"] = []string{ans.disposition}
	}
	if ans.replayed {
		h[replayedHeader] = []string{"true"}
	}
	if ans.etag != "" {
		h["Etag"] = []string{`"` + ans.etag + `"`}
		if isUnchanged(r, ans) {
			ex.WriteHeader(http.StatusNotModified)
			return
		}
	}
	if ans.stream != nil {
		ex.sendStream(r, ans)
		return
	}
	if len(ans.body) > 0 {
		h["Content-Type"] = contentTypeValue(ans.contentType)
	}
	ex.sendBody(r, ans.status, ans.body)
	if ans.buffer != nil {
		putBuffer(ans.buffer)
	}
}

// isUnchanged reports whether a reader already has this version.
func isUnchanged(r *http.Request, ans *answer) bool {
	seen := r.Header["If-None-Match"]
	return len(seen) > 0 && ans.status == http.StatusOK &&
		(r.Method == http.MethodGet || r.Method == http.MethodHead) && matchETag(seen[0], ans.etag, true)
}

func contentTypeValue(contentType string) []string {
	switch contentType {
	case jsonType:
		return jsonValue
	case problemType:
		return problemValue
	default:
		return []string{contentType}
	}
}

// shortBody is what net/http buffers before it decides how to send a body.
const shortBody = 2048

// minGzip is the size under which compressing costs more than it saves.
const minGzip = 1024

// sendBody writes status and body, compressed where the client wants it and it is worth it.
func (ex *exchange) sendBody(r *http.Request, status int, body []byte) {
	h := ex.Header()
	if len(body) > minGzip {
		h.Add("Vary", "Accept-Encoding")
		if wantsGzip(r) {
			packed := getBuffer()
			defer putBuffer(packed)
			pack(packed, body)
			body = packed.Bytes()
			h["Content-Encoding"] = gzipValue
		}
	}
	// A short body has its length added by net/http, which costs less than a header of ours.
	if status != http.StatusNoContent && (len(body) > shortBody || r.Method == http.MethodHead) {
		h["Content-Length"] = ex.value(5, strconv.Itoa(len(body)))
	}
	ex.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = ex.Write(body) // fails only when the client has gone
	}
}

var packers = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is a constant of the package
	return w
}}

func pack(to *bytes.Buffer, body []byte) {
	w := packers.Get().(*gzip.Writer)
	defer packers.Put(w)
	w.Reset(to)
	_, _ = w.Write(body) // a buffer does not fail
	_ = w.Close()
}

package web

import (
	"bytes"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// plainly is how answers are written: lists are never null, maps have an order, and text that is
// broken in the store is mended rather than turned into an error.
var plainly = json.JoinOptions(json.Deterministic(true), jsontext.AllowInvalidUTF8(true))

// encode appends v as JSON.
func encode(to *bytes.Buffer, v any) error { return json.MarshalWrite(to, v, plainly) }

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func getBuffer() *bytes.Buffer { return buffers.Get().(*bytes.Buffer) }

// putBuffer keeps b for the next answer, unless one large answer would pin its memory for good.
func putBuffer(b *bytes.Buffer) {
	if b.Cap() <= 64<<10 {
		b.Reset()
		buffers.Put(b)
	}
}

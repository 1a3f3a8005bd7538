package web

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"steward/internal/fault"
)

// maxDepth bounds the nesting of a body: nobody's data is that deep, and stacks are not endless.
const maxDepth = 64

var errNotText = errors.New("must be UTF-8 text without the NUL character")

// parseStrict reads one JSON value and nothing after it. Text that is not UTF-8, keys that appear
// twice and NUL characters (which no database keeps) are refused by name.
func parseStrict(raw []byte) (any, *fault.Field) {
	if !utf8.Valid(raw) {
		return nil, &fault.Field{Name: bodyRoot, Message: "must be UTF-8"}
	}
	if depthOf(raw) > maxDepth {
		return nil, &fault.Field{Name: bodyRoot, Message: "must not be nested deeper than " + strconv.Itoa(maxDepth) + " levels"}
	}
	var parsed any
	if err := json.Unmarshal(raw, &parsed); err != nil {
		field := fieldOfDecoding(err)
		return nil, &field
	}
	if bytes.Contains(raw, []byte(`\u0000`)) {
		if path, found := findNUL(parsed, ""); found {
			return nil, &fault.Field{Name: pathName(path), Message: errNotText.Error()}
		}
	}
	return parsed, nil
}

// depthOf counts brackets outside of strings; it need not know whether they match.
func depthOf(raw []byte) int {
	depth, deepest, quoted := 0, 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return deepest
}

func findNUL(value any, path jsontext.Pointer) (jsontext.Pointer, bool) {
	switch v := value.(type) {
	case string:
		return path, strings.Contains(v, "\x00")
	case []any:
		for i, item := range v {
			if at, found := findNUL(item, path.AppendToken(strconv.Itoa(i))); found {
				return at, true
			}
		}
	case map[string]any:
		for name, item := range v {
			if strings.Contains(name, "\x00") {
				return path, true
			}
			if at, found := findNUL(item, path.AppendToken(name)); found {
				return at, true
			}
		}
	}
	return "", false
}

// fieldOfDecoding names the place where decoding stopped. It repeats no value.
func fieldOfDecoding(err error) fault.Field {
	var syntactic *jsontext.SyntacticError
	var semantic *json.SemanticError
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &syntactic):
		return fault.Field{Name: pathName(syntactic.JSONPointer), Message: "must not appear twice"}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fault.Field{Name: bodyRoot, Message: "is not valid JSON: it ends too early"}
	case errors.As(err, &syntactic):
		return fault.Field{Name: bodyRoot, Message: "is not valid JSON at byte " + strconv.FormatInt(syntactic.ByteOffset, 10)}
	case errors.As(err, &semantic):
		return fault.Field{Name: pathName(semantic.JSONPointer), Message: messageOf(semantic.Err, semantic.GoType)}
	default:
		return fault.Field{Name: bodyRoot, Message: "is not valid"}
	}
}

// messageOf says what a value of type t should have been. Only texts made for callers are shown: the
// text of any other error may hold the value.
func messageOf(err error, t reflect.Type) string {
	switch f, ok := fault.From(err); {
	case errors.Is(err, errNotUUID):
		return errNotUUID.Error()
	case errors.Is(err, errEmptyUUID):
		return errEmptyUUID.Error()
	case ok && len(f.Fields) > 0:
		return f.Fields[0].Message
	case ok:
		return f.Detail
	}
	if t == nil {
		return "is not valid"
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "must be a whole number that is not too large"
	case reflect.Float32, reflect.Float64:
		return "must be a number that is not too large"
	default:
		return "is not valid"
	}
}

// pathName writes a JSON pointer as people write paths: tenants[0].roleIds.
func pathName(pointer jsontext.Pointer) string {
	var name strings.Builder
	for token := range pointer.Tokens() {
		if _, err := strconv.ParseUint(token, 10, 32); err == nil {
			name.WriteString("[" + token + "]")
			continue
		}
		if name.Len() > 0 {
			name.WriteByte('.')
		}
		name.WriteString(token)
	}
	if name.Len() == 0 {
		return bodyRoot
	}
	return name.String()
}

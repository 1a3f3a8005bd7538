package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// Changes reduces two states of one thing to the fields that differ, each as a JSON object. A side is
// nil where the thing did not exist or where nothing differs. Fields tagged `audit:"-"` and fields
// whose name says that they hold a secret are dropped at every depth, changed or not.
func Changes(before, after any) (was, is []byte, err error) {
	b, err := object(before)
	if err != nil {
		return nil, nil, fmt.Errorf("before: %w", err)
	}
	a, err := object(after)
	if err != nil {
		return nil, nil, fmt.Errorf("after: %w", err)
	}
	for name, old := range b {
		if now, both := a[name]; both && reflect.DeepEqual(old, now) {
			delete(b, name)
			delete(a, name)
		}
	}
	if was, err = encode(b); err != nil {
		return nil, nil, err
	}
	is, err = encode(a)
	return was, is, err
}

// object is the state as JSON shows it, without what must not be kept; nil for a nil state.
func object(state any) (map[string]any, error) {
	encoded, err := json.Marshal(state)
	if err != nil {
		return nil, err
	}
	// Numbers stay text: a float64 would blur large ones and hide a change.
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.UseNumber()
	var decoded map[string]any
	if err := decoder.Decode(&decoded); err != nil {
		return nil, fmt.Errorf("%T is not an object: %w", state, err)
	}
	dropTagged(reflect.ValueOf(state), decoded)
	dropSecrets(decoded)
	return decoded, nil
}

func encode(fields map[string]any) ([]byte, error) {
	if len(fields) == 0 {
		return nil, nil
	}
	return json.Marshal(fields)
}

// dropTagged walks a value beside its decoded JSON and removes the fields tagged `audit:"-"`.
func dropTagged(v reflect.Value, decoded any) {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Struct:
		if fields, ok := decoded.(map[string]any); ok {
			dropTaggedFields(v, fields)
		}
	case reflect.Map:
		fields, _ := decoded.(map[string]any)
		for _, key := range v.MapKeys() {
			if inner, ok := fields[fmt.Sprint(key)]; ok {
				dropTagged(v.MapIndex(key), inner)
			}
		}
	case reflect.Slice, reflect.Array:
		items, _ := decoded.([]any)
		for i := range min(len(items), v.Len()) {
			dropTagged(v.Index(i), items[i])
		}
	}
}

func dropTaggedFields(v reflect.Value, fields map[string]any) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous && name == "":
			dropTagged(v.Field(i), fields)
			continue
		case !field.IsExported():
			continue
		case name == "":
			name = field.Name
		}
		if field.Tag.Get("audit") == "-" {
			delete(fields, name)
		} else if inner, ok := fields[name]; ok {
			dropTagged(v.Field(i), inner)
		}
	}
}

// secretEndings are how the names of secrets end, in lower case without separators.
var secretEndings = []string{
	"password", "passwords", "passphrase", "hash", "salt", "token", "tokens", "secret", "secrets",
	"credential", "credentials", "apikey", "privatekey", "masterkey", "authorization", "cookie",
}

var withoutSeparators = strings.NewReplacer("_", "", "-", "", ".", "", " ", "")

// secret goes by the name, and by the value where that cannot be one: mustChangePassword is a flag.
func secret(name string, value any) bool {
	switch value.(type) {
	case bool, nil:
		return false
	}
	name = withoutSeparators.Replace(strings.ToLower(name))
	for _, ending := range secretEndings {
		if strings.HasSuffix(name, ending) {
			return true
		}
	}
	return false
}

func dropSecrets(decoded any) {
	switch d := decoded.(type) {
	case map[string]any:
		for name, value := range d {
			if secret(name, value) {
				delete(d, name)
			} else {
				dropSecrets(value)
			}
		}
	case []any:
		for _, item := range d {
			dropSecrets(item)
		}
	}
}

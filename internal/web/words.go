package web

import (
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
)

// hasEnum reports whether the schema holds a list of words somewhere.
func hasEnum(registry huma.Registry, s *huma.Schema, seen map[string]bool) bool {
	if s == nil || seen[s.Ref] {
		return false
	}
	if s.Ref != "" {
		seen[s.Ref] = true
		return hasEnum(registry, registry.SchemaFromRef(s.Ref), seen)
	}
	if len(s.Enum) > 0 || hasEnum(registry, s.Items, seen) {
		return true
	}
	for _, property := range s.Properties {
		if hasEnum(registry, property, seen) {
			return true
		}
	}
	additional, _ := s.AdditionalProperties.(*huma.Schema)
	return hasEnum(registry, additional, seen)
}

// canonical returns the word of the schema's list that text means regardless of case, else text.
func canonical(s *huma.Schema, text string) string {
	for _, word := range s.Enum {
		if word, ok := word.(string); ok && strings.EqualFold(word, text) {
			return word
		}
	}
	return text
}

// canonicalise spells every word of a list as the contract does. The text is written anew only where
// something had to change.
func (b *body) canonicalise(raw []byte, parsed *any) []byte {
	changed := false
	*parsed = b.spell(b.schema, *parsed, &changed)
	if !changed {
		return raw
	}
	again, err := json.Marshal(*parsed)
	if err != nil {
		return raw // it was just decoded: then the words stay as they are and are refused
	}
	return again
}

func (b *body) spell(s *huma.Schema, value any, changed *bool) any {
	for s != nil && s.Ref != "" {
		s = b.registry.SchemaFromRef(s.Ref)
	}
	if s == nil {
		return value
	}
	switch v := value.(type) {
	case string:
		word := canonical(s, v)
		*changed = *changed || word != v
		return word
	case []any:
		for i, item := range v {
			v[i] = b.spell(s.Items, item, changed)
		}
	case map[string]any:
		additional, _ := s.AdditionalProperties.(*huma.Schema)
		for name, item := range v {
			if property, ok := s.Properties[name]; ok {
				v[name] = b.spell(property, item, changed)
			} else {
				v[name] = b.spell(additional, item, changed)
			}
		}
	}
	return value
}

package config

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/goccy/go-yaml"
)

// LoadFile reads settings from YAML (or JSON, which is YAML). It is a kong.ConfigurationLoader. A
// name that is no setting is refused, so that a typo cannot go unnoticed.
func LoadFile(r io.Reader) (kong.Resolver, error) {
	raw, err := io.ReadAll(io.LimitReader(r, 1<<20))
	if err != nil {
		return nil, err
	}
	settings := map[string]any{}
	if err := yaml.Unmarshal(raw, &settings); err != nil {
		return nil, fmt.Errorf("setting config: the file is not YAML: %w", err)
	}
	return fileResolver(settings), nil
}

type fileResolver map[string]any

// Validate implements kong.Resolver.
func (f fileResolver) Validate(app *kong.Application) error {
	known := map[string]bool{}
	for _, flags := range app.AllFlags(false) {
		for _, flag := range flags {
			known[flag.Name] = true
		}
	}
	var unknown []string
	for name := range f {
		if !known[name] {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		return fmt.Errorf("setting config: the file sets %s, which is no setting", strings.Join(unknown, ", "))
	}
	return nil
}

// Resolve implements kong.Resolver. The environment wins over the file.
func (f fileResolver) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	for _, name := range flag.Envs {
		if _, set := os.LookupEnv(name); set {
			return nil, nil
		}
	}
	value, ok := f[flag.Name]
	if !ok || value == nil {
		return nil, nil
	}
	if list, isList := value.([]any); isList {
		parts := make([]string, len(list))
		for i, item := range list {
			parts[i] = fmt.Sprint(item)
		}
		return strings.Join(parts, ","), nil
	}
	return fmt.Sprint(value), nil
}

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

// File is the flag that names a file with settings. A file that cannot be read is refused under the
// name of the setting, which kong's own type does not do.
type File string

// BeforeResolve reads the file before flags and environment are resolved.
func (File) BeforeResolve(k *kong.Kong, ctx *kong.Context, trace *kong.Path) error {
	name, _ := ctx.FlagValue(trace.Flag).(File)
	resolver, err := k.LoadConfig(string(name))
	if err != nil {
		return Refuse("config", "%v", err)
	}
	ctx.AddResolver(resolver)
	return nil
}

// LoadFile reads settings from YAML (or JSON, which is YAML). It is a kong.ConfigurationLoader. A
// name that is no setting is refused, so that a typo cannot go unnoticed.
func LoadFile(r io.Reader) (kong.Resolver, error) {
	raw, err := io.ReadAll(io.LimitReader(r, 1<<20))
	if err != nil {
		return nil, err
	}
	settings := map[string]any{}
	if err := yaml.Unmarshal(raw, &settings); err != nil {
		return nil, fmt.Errorf("the file is not YAML: %w", err)
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
		return Refuse("config", "the file sets %s, which is no setting", strings.Join(unknown, ", "))
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

// Unknown lists the variables that look like settings but are none: most likely they are misspelt.
func Unknown(app *kong.Application, environment []string) []string {
	known := map[string]bool{}
	for _, flags := range app.AllFlags(false) {
		for _, flag := range flags {
			for _, name := range flag.Envs {
				known[name] = true
			}
		}
	}
	var unknown []string
	for _, entry := range environment {
		if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "STEWARD_") && !known[name] {
			unknown = append(unknown, name)
		}
	}
	return unknown
}

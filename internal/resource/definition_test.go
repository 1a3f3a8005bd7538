package resource_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"steward/internal/fault"
	"steward/internal/resource"
	"steward/internal/resource/resourcetest"
)

func TestDeclarationsThatAreNotSoundEndTheStart(t *testing.T) {
	type untagged struct {
		resource.Record
		Name string `json:"name"`
	}
	type badQuery struct {
		resource.Params
		Name string `query:"name"`
	}
	type strangeQuery struct {
		resource.Params
		Colour *string `query:"colour"`
	}
	tests := map[string]func(){
		"nothing said": func() {
			resource.New(nil, frozen, resource.Definition[resourcetest.Part, any, any, resource.Params]{})
		},
		"no record":           func() { resource.New(nil, frozen, declared[struct{ Name string }, resourcetest.PartQuery](nil)) },
		"no column":           func() { resource.New(nil, frozen, declared[untagged, resourcetest.PartQuery](nil)) },
		"search in no text":   func() { resource.New(nil, frozen, declared[resourcetest.Part, resourcetest.PartQuery]([]string{"id"})) },
		"search in no field":  func() { resource.New(nil, frozen, declared[resourcetest.Part, resourcetest.PartQuery]([]string{"x"})) },
		"filter is required":  func() { resource.New(nil, frozen, declared[resourcetest.Part, badQuery](nil)) },
		"filter of no column": func() { resource.New(nil, frozen, declared[resourcetest.Part, strangeQuery](nil)) },
	}
	for name, fn := range tests {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if said := fmt.Sprint(recover()); !strings.HasPrefix(said, "resource: ") {
					t.Errorf("it was accepted, or failed with %q", said)
				}
			}()
			fn()
		})
	}
}

func declared[T any, Q resource.Query](search []string) resource.Definition[T, any, any, Q] {
	return resource.Definition[T, any, any, Q]{
		Name: "x", Singular: "x", Table: "x", Search: search, NotFound: fault.NotFound, AlreadyExists: fault.Conflict,
		New:   func(context.Context, any) (T, error) { var none T; return none, nil },
		Apply: func(context.Context, *T, any) error { return nil },
	}
}

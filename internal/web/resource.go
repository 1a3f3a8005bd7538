package web

import (
	"context"
	"net/http"
	"reflect"
	"strings"

	"github.com/google/uuid"

	"steward/internal/fault"
	"steward/internal/resource"
)

// Mount adds the routes of a resource below path: list, get, create, update, delete and bulk delete,
// each behind the resource's permission for it.
func Mount[T, C, U any, Q resource.Query](s *Server, g Group, path string, r *resource.Resource[T, C, U, Q]) {
	m := resourceRoutes[T, C, U, Q]{s: s, g: g, path: path, r: r}
	m.created, m.example, m.changed = r.Example()
	m.list()
	m.get()
	m.create()
	m.update()
	m.delete()
	m.bulkDelete()
	// Custom endpoints answer this; clients find it under its name even before the first one does.
	s.registry.Schema(reflect.TypeFor[resource.OperationResponse](), true, "")
}

// resourceRoutes is one mounted resource.
type resourceRoutes[T, C, U any, Q resource.Query] struct {
	s                         *Server
	g                         Group
	path                      string
	r                         *resource.Resource[T, C, U, Q]
	created, example, changed T // shown in the API reference
}

func (m *resourceRoutes[T, C, U, Q]) may(action string) Access {
	return Permission(m.r.Permission(action))
}

// doc is what the resource says of itself, and then the text.
func (m *resourceRoutes[T, C, U, Q]) doc(text string) string {
	if m.r.Doc == "" || text == "" {
		return m.r.Doc + text
	}
	return m.r.Doc + "\n\n" + text
}

func (m *resourceRoutes[T, C, U, Q]) list() {
	example := resource.NewPage([]T{m.example}, 1, resource.Window{Page: 1, Size: resource.DefaultPageSize})
	route := m.g.Get(m.path, m.may("read"), "List "+m.r.Name).
		Doc(m.doc("Sorted by `"+m.r.SortBy+"` unless sortBy names another field: `"+strings.Join(m.r.Sortable(), "`, `")+"`.")).
		Example(nil, example)
	Handle(m.s, route, func(ctx context.Context, in *Q) (*Reply[resource.PagedResult[T]], error) {
		page, err := m.r.List(ctx, *in)
		if err != nil {
			return nil, err
		}
		return OK(page), nil
	})
}

type getItem struct {
	ID             ID   `path:"id"`
	IncludeDeleted bool `query:"includeDeleted" doc:"Answers a deleted item too, to callers who may delete."`
}

func (m *resourceRoutes[T, C, U, Q]) get() {
	route := m.g.Get(m.path+"/{id}", m.may("read"), "Get one "+m.r.Singular).
		Errors(m.r.NotFound).Example(nil, m.example)
	Handle(m.s, route, func(ctx context.Context, in *getItem) (*Reply[T], error) {
		item, err := m.r.Get(ctx, in.ID.UUID, in.IncludeDeleted)
		if err != nil {
			return nil, err
		}
		return m.reply(item), nil
	})
}

type createItem[C any] struct{ Body C }

func (m *resourceRoutes[T, C, U, Q]) create() {
	route := m.g.Post(m.path, m.may("create"), "Create one "+m.r.Singular).
		Status(http.StatusCreated).Idempotent().OnceShown(m.r.OnceShown...).
		Doc(m.doc("")).Errors(m.r.AlreadyExists).Errors(m.r.Refusals...).
		Example(m.r.Examples.Create, m.created)
	Handle(m.s, route, func(ctx context.Context, in *createItem[C]) (*Reply[T], error) {
		item, err := m.r.Create(ctx, in.Body)
		if err != nil {
			return nil, err
		}
		reply := m.reply(item)
		reply.Location = m.path + "/" + m.r.ID(item).String()
		return reply, nil
	})
}

type updateItem[U any] struct {
	ID ID `path:"id"`
	IfMatch
	Body U
}

func (m *resourceRoutes[T, C, U, Q]) update() {
	route := m.g.Put(m.path+"/{id}", m.may("update"), "Update one "+m.r.Singular).
		Doc(m.doc("A field that is left out or null stays as it is; an empty text clears one that is optional.")).
		Errors(m.r.NotFound, m.r.AlreadyExists).Errors(m.r.Refusals...).Example(m.r.Examples.Update, m.changed)
	Handle(m.s, route, func(ctx context.Context, in *updateItem[U]) (*Reply[T], error) {
		item, err := m.r.Update(ctx, in.ID.UUID, in.Fits, in.Body)
		if err != nil {
			return nil, err
		}
		return m.reply(item), nil
	})
}

type deleteItem struct {
	ID ID `path:"id"`
	IfMatch
}

func (m *resourceRoutes[T, C, U, Q]) delete() {
	route := m.g.Delete(m.path+"/{id}", m.may("delete"), "Delete one "+m.r.Singular).
		Doc(m.deletion()).Status(m.deleteStatus()).Errors(m.deleteErrors()...)
	Handle(m.s, route, func(ctx context.Context, in *deleteItem) (*Reply[None], error) {
		if err := m.r.Delete(ctx, in.ID.UUID, in.Fits); err != nil {
			return nil, err
		}
		return Done(""), nil
	})
}

func (m *resourceRoutes[T, C, U, Q]) deletion() string {
	if m.r.IsSoftDeletable() {
		return "It is marked as deleted, stays stored and is shown only with `includeDeleted`."
	}
	return "It is removed for good."
}

func (m *resourceRoutes[T, C, U, Q]) deleteStatus() int {
	if m.r.DeleteAnswers200 {
		return http.StatusOK
	}
	return http.StatusNoContent
}

func (m *resourceRoutes[T, C, U, Q]) deleteErrors() []fault.Code {
	if m.r.InUse == "" {
		return []fault.Code{m.r.NotFound}
	}
	return []fault.Code{m.r.NotFound, m.r.InUse}
}

type bulkItems struct{ Body resource.BulkRequest }

func (m *resourceRoutes[T, C, U, Q]) bulkDelete() {
	id := m.r.ID(m.example)
	missing := resource.BulkItemFailure{ID: id, Code: m.r.NotFound, Message: "There is no such " + m.r.Singular + "."}
	route := m.g.Post(m.path+"/bulk-delete", m.may("delete"), "Delete many "+m.r.Name).
		Doc("Each is deleted under the rules of the single call; what is refused for one leaves the others alone.").
		Example(resource.BulkRequest{IDs: []uuid.UUID{id}}, resource.BulkOperationResponse{Failed: 1, Failures: []resource.BulkItemFailure{missing}})
	Handle(m.s, route, func(ctx context.Context, in *bulkItems) (*Reply[resource.BulkOperationResponse], error) {
		done, err := m.r.BulkDelete(ctx, in.Body)
		if err != nil {
			return nil, err
		}
		return OK(done), nil
	})
}

func (m *resourceRoutes[T, C, U, Q]) reply(item T) *Reply[T] {
	return OK(item).WithETag(m.r.Version(item))
}

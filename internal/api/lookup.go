package api

import (
	"github.com/google/uuid"

	"steward/internal/resource"
	"steward/internal/web"
)

// maxLookup is how many items a page of a picker may hold, and how many ids it may name.
const maxLookup = 50

// lookupParams are the query parameters of a route that fills a picker.
type lookupParams struct {
	Search     string   `query:"search" maxLength:"200" doc:"Keeps the items in which this text occurs, in any case."`
	Page       int      `query:"page" minimum:"1" maximum:"2147483647" doc:"Which page, counted from 1. Default 1."`
	PageNumber int      `query:"pageNumber" minimum:"1" maximum:"2147483647" doc:"The same as page."`
	PageSize   int      `query:"pageSize" minimum:"1" maximum:"50" doc:"How many items a page holds. Default 20, or as many as ids are named."`
	IDs        []web.ID `query:"ids" maxItems:"50" doc:"Keeps the items named, to show what was stored; repeated or separated by commas. Those that do not exist are left out."`
}

// window is the page asked for. Without a size all items named by their ids are on the first.
func (p lookupParams) window() (resource.Window, error) {
	size := p.PageSize
	if size == 0 {
		size = max(resource.DefaultPageSize, len(p.IDs))
	}
	return resource.NewWindow(p.Page, p.PageNumber, size, maxLookup)
}

// ids is nil where none were named.
func (p lookupParams) ids() []uuid.UUID {
	var ids []uuid.UUID
	for _, id := range p.IDs {
		ids = append(ids, id.UUID)
	}
	return ids
}

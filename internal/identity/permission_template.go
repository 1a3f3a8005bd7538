package identity

import (
	"bytes"
	"encoding/csv"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// templateCategories is what the templates hold: enough to show a comma, and a second category.
var templateCategories = []DocumentCategory{
	{Category: "Billing", Permissions: []DocumentMember{
		{Code: "read:invoices", Description: new("See invoices")},
		{Code: "create:invoices", Description: new("Issue invoices, also drafts")},
	}},
	{Category: "Stock", Permissions: []DocumentMember{
		{Code: "read:stock", Description: new("See what is in stock")},
	}},
}

// PermissionTemplateCSV is a file that ReadPermissionFile reads, in either mode.
func PermissionTemplateCSV() ([]byte, error) {
	var text bytes.Buffer
	w := csv.NewWriter(&text)
	w.UseCRLF = true
	records := [][]string{{"code", "description", "category"}}
	for _, p := range templatePermissions() {
		records = append(records, []string{p.Code, *p.Description, *p.Category})
	}
	if err := w.WriteAll(records); err != nil {
		return nil, fmt.Errorf("write template: %w", err)
	}
	return text.Bytes(), nil
}

// PermissionTemplateJSON is a file that ReadPermissionFile reads in the mode.
func PermissionTemplateJSON(mode ImportMode) ([]byte, error) {
	document := PermissionDocument{Categories: templateCategories}
	if mode != ImportCatalog {
		document = PermissionDocument{Permissions: templatePermissions()}
	}
	text, err := json.Marshal(document, jsontext.WithIndent("  "))
	if err != nil {
		return nil, fmt.Errorf("write template: %w", err)
	}
	return append(text, '\n'), nil
}

func templatePermissions() []DocumentPermission {
	var all []DocumentPermission
	for _, c := range templateCategories {
		for _, p := range c.Permissions {
			all = append(all, DocumentPermission{Code: p.Code, Description: p.Description, Category: &c.Category})
		}
	}
	return all
}

package identity

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"steward/internal/fault"
)

// PermissionDocument is an import as JSON (PermissionImportRequestDto): Permissions in the mode of that
// name, Categories in the mode Catalog.
type PermissionDocument struct {
	Permissions []DocumentPermission `json:"permissions,omitempty" nullable:"true" doc:"In mode Permissions; at most 10,000."`
	Categories  []DocumentCategory   `json:"categories,omitempty" nullable:"true" doc:"In mode Catalog; at most 10,000 permissions in all."`
}

// DocumentPermission is one permission with its category.
type DocumentPermission struct {
	Code        string  `json:"code,omitempty" nullable:"true" doc:"Without a code the row fails."`
	Description *string `json:"description,omitempty" nullable:"true" doc:"Left out or null it stays as it is where the permission exists."`
	Category    *string `json:"category,omitempty" nullable:"true" doc:"Left out or null it stays as it is where the permission exists."`
}

// DocumentCategory is one category with its permissions.
type DocumentCategory struct {
	Category    string           `json:"category,omitempty" nullable:"true"`
	Permissions []DocumentMember `json:"permissions,omitempty" nullable:"true"`
}

// DocumentMember is one permission of a category.
type DocumentMember struct {
	Code        string  `json:"code,omitempty" nullable:"true" doc:"Without a code the row fails."`
	Description *string `json:"description,omitempty" nullable:"true" doc:"Left out or null it stays as it is where the permission exists."`
}

// Rows lists the permissions of the document in its mode. A document that has none of that mode's
// list, or too many permissions, is refused.
func (d PermissionDocument) Rows(mode ImportMode) ([]PermissionRow, error) {
	rows := []PermissionRow{}
	if mode == ImportCatalog {
		if d.Categories == nil {
			return nil, fault.Invalid("categories", "is required in mode Catalog")
		}
		for _, c := range d.Categories {
			for _, p := range c.Permissions {
				rows = append(rows, PermissionRow{Code: p.Code, PermissionChange: PermissionChange{Description: p.Description, Category: &c.Category}})
			}
		}
		return rows, checkRowCount("categories", len(rows))
	}
	if d.Permissions == nil {
		return nil, fault.Invalid("permissions", "is required in mode Permissions")
	}
	for _, p := range d.Permissions {
		rows = append(rows, PermissionRow{Code: p.Code, PermissionChange: PermissionChange{Description: p.Description, Category: p.Category}})
	}
	return rows, checkRowCount("permissions", len(rows))
}

func checkRowCount(field string, rows int) error {
	if rows > MaxImportRows {
		return fault.Invalid(field, "must hold at most %d permissions", MaxImportRows)
	}
	return nil
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// ReadPermissionFile reads the rows of a file: JSON where it begins like it, else CSV. A CSV file is
// read the same in both modes, since each of its lines names its category. The field of a refusal is
// file; what is wrong with a single row is noted in the row.
func ReadPermissionFile(content []byte, mode ImportMode) ([]PermissionRow, error) {
	content = bytes.TrimPrefix(content, byteOrderMark)
	if !utf8.Valid(content) {
		return nil, fault.Invalid("file", "must be UTF-8")
	}
	start := bytes.TrimSpace(content)
	switch {
	case len(start) == 0:
		return nil, fault.Invalid("file", "must not be empty")
	case start[0] == '{' || start[0] == '[':
		return readPermissionJSON(content, mode)
	default:
		return readPermissionCSV(content)
	}
}

func readPermissionJSON(content []byte, mode ImportMode) ([]PermissionRow, error) {
	var document PermissionDocument
	if err := json.Unmarshal(content, &document); err != nil {
		return nil, fault.Invalid("file", "%s", jsonProblem(err)).Because(err)
	}
	rows, err := document.Rows(mode)
	if f, ok := fault.From(err); ok {
		return nil, fault.Invalid("file", "%s %s", f.Fields[0].Name, f.Fields[0].Message)
	}
	return rows, err
}

func jsonProblem(err error) string {
	var semantic *json.SemanticError
	var syntactic *jsontext.SyntacticError
	switch {
	case errors.As(err, &semantic) && semantic.JSONPointer != "":
		return "has a value of the wrong type at " + string(semantic.JSONPointer)
	case errors.As(err, &semantic):
		return "must be a JSON object"
	case errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &syntactic):
		return "names a key twice at " + string(syntactic.JSONPointer)
	default:
		return "is not valid JSON"
	}
}

// permissionColumns are the positions of what a CSV file tells; -1 for a column that it lacks.
type permissionColumns struct {
	code, description, category int
	width                       int
}

func readPermissionCSV(content []byte) ([]PermissionRow, error) {
	reader := csv.NewReader(bytes.NewReader(content))
	reader.FieldsPerRecord = -1 // a row of another width fails by itself
	header, err := reader.Read()
	if err != nil {
		return nil, csvFault(err)
	}
	columns, err := newPermissionColumns(header)
	if err != nil {
		return nil, err
	}
	rows := []PermissionRow{}
	for {
		record, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, csvFault(err)
		}
		if isBlank(record) {
			continue
		}
		rows = append(rows, columns.row(record))
		if err := checkRowCount("file", len(rows)); err != nil {
			return nil, err
		}
	}
}

func csvFault(err error) error {
	var wrong *csv.ParseError
	if errors.As(err, &wrong) {
		return fault.Invalid("file", "is neither JSON nor valid CSV: see line %d", wrong.StartLine).Because(err)
	}
	return fault.Invalid("file", "is neither JSON nor valid CSV").Because(err)
}

// newPermissionColumns takes the columns in any order and case. Others than the three are left aside,
// as unknown fields of JSON are, so that an export with more of them can be sent back.
func newPermissionColumns(header []string) (permissionColumns, error) {
	c := permissionColumns{code: -1, description: -1, category: -1, width: len(header)}
	named := map[string]*int{"code": &c.code, "description": &c.description, "category": &c.category}
	for i, name := range header {
		name = strings.ToLower(strings.TrimSpace(name))
		position, known := named[name]
		switch {
		case !known:
		case *position >= 0:
			return c, fault.Invalid("file", "names the column %s twice", name)
		default:
			*position = i
		}
	}
	if c.code < 0 {
		return c, fault.Invalid("file", "must be JSON, or CSV whose first line names the columns code,description,category")
	}
	return c, nil
}

func (c permissionColumns) row(record []string) PermissionRow {
	row := PermissionRow{}
	if c.code < len(record) {
		row.Code = record[c.code]
	}
	if len(record) != c.width {
		row.Problem = fmt.Sprintf("the row has %d fields, the header %d", len(record), c.width)
		return row
	}
	if c.description >= 0 {
		row.Description = &record[c.description]
	}
	if c.category >= 0 {
		row.Category = &record[c.category]
	}
	return row
}

// isBlank tells the lines of separators that spreadsheets leave behind.
func isBlank(record []string) bool {
	return !slices.ContainsFunc(record, func(cell string) bool { return strings.TrimSpace(cell) != "" })
}

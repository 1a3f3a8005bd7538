package resource

import "strings"

// searchColumn holds the searched fields of a row in lower case. It is filled by the program: the
// databases disagree on what lower case is beyond ASCII.
const searchColumn = "search_key"

var escapeLike = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// SearchKey is what a search column keeps for the texts of a row.
func SearchKey(texts ...string) string { return strings.ToLower(strings.Join(texts, "\n")) }

// SearchPattern matches the search keys in which the term occurs, whatever characters it has.
func SearchPattern(term string) string {
	return "%" + escapeLike.Replace(strings.ToLower(term)) + "%"
}

// SearchSQL is the condition that the column matches the SearchPattern bound to the placeholder.
func SearchSQL(column, placeholder string) string {
	return column + ` LIKE ` + placeholder + ` ESCAPE '\'`
}

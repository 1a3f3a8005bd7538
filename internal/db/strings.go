package db

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
)

// Strings is a list of texts that both databases keep as JSON.
type Strings []string

// Value implements driver.Valuer; nil is kept as the empty list.
func (s Strings) Value() (driver.Value, error) {
	if s == nil {
		return "[]", nil
	}
	text, err := json.Marshal([]string(s))
	return string(text), err
}

// Scan implements sql.Scanner.
func (s *Strings) Scan(src any) error {
	text, ok := src.(string)
	if !ok {
		return fmt.Errorf("scan strings: cannot read %T", src)
	}
	*s = Strings{}
	return json.Unmarshal([]byte(text), (*[]string)(s))
}

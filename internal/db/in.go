package db

import (
	"strconv"
	"strings"
)

// In writes n placeholders that begin with the number from, for a list whose length is bounded by its
// caller: "$2, $3, $4". It is never empty, so that IN (...) stays valid: with n 0 it matches nothing.
func In(from, n int) string {
	if n == 0 {
		return "NULL"
	}
	var list strings.Builder
	for i := range n {
		if i > 0 {
			list.WriteString(", ")
		}
		list.WriteString("$" + strconv.Itoa(from+i))
	}
	return list.String()
}

// Args puts the values of a list behind the arguments before it.
func Args[T any](before []any, list []T) []any {
	for _, value := range list {
		before = append(before, value)
	}
	return before
}

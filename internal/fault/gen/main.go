// Command gen prints docs/problems.md: every code of the API with its status and meaning.
package main

import (
	"bufio"
	"fmt"
	"os"

	"steward/internal/fault"
)

const head = `# Codes of refusals

Made from ` + "`internal/fault/codes.go`" + ` by ` + "`make generate`" + `; changes here are lost.

Clients branch on the code, never on a text: a released code keeps its meaning. Routes below ` + "`/api/v1`" + `
answer problem details (RFC 7807) whose ` + "`code`" + ` is the first column. All other routes below ` + "`/api`" + `
answer the envelope, whose ` + "`errorCode`" + ` is the last column: their clients know a shorter list. A route may
give one code another status where the API reference says so.

| Code | Status | Meaning | In the envelope |
|---|---|---|---|
`

func main() {
	out := bufio.NewWriter(os.Stdout)
	fmt.Fprint(out, head)
	for _, listed := range fault.All() {
		m := listed.Code.Meaning()
		fmt.Fprintf(out, "| `%s` | %d | %s | `%s` |\n", m.Code, m.Status, m.Title, m.Envelope)
	}
	if err := out.Flush(); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

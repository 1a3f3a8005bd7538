package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// report collects the figures and writes them as Markdown.
type report struct {
	machine [][2]string
	targets []target
	races   []table
	peers   []comparison
	idling  []idling
	sizes   [2]int64 // Steward, PocketBase
	syncs   float64
	took    time.Duration
	others  float64 // share of the cores that other work took meanwhile
}

type target struct {
	name, measured, limit string
	met                   bool
}

type table struct {
	title string
	lanes []standing
}

type comparison struct {
	title      string
	own, other standing
}

func (r *report) judge(name, measured, limit string, met bool) {
	r.targets = append(r.targets, target{name, measured, limit, met})
	say("  %s: %s (%s)%s", name, measured, limit, map[bool]string{false: " MISSED"}[met])
}

func (r *report) race(title string, lanes []standing) { r.races = append(r.races, table{title, lanes}) }
func (r *report) peer(title string, own, other standing) {
	r.peers = append(r.peers, comparison{title, own, other})
}

// missed counts the targets that were not met.
func (r *report) missed() (n int) {
	for _, t := range r.targets {
		if !t.met {
			n++
		}
	}
	return n
}

// markdown is the whole of RESULTS.md.
func (r *report) markdown(p plan) string {
	var w strings.Builder
	w.WriteString("# Bench results\n\nWritten by `make bench`; do not edit.\n\n## Machine\n\n| | |\n|---|---|\n")
	for _, row := range r.machine {
		fmt.Fprintf(&w, "| %s | %s |\n", row[0], row[1])
	}
	if r.others > quiet {
		w.WriteString("\n**The machine was busy with other work: these figures mean little. Run it again on a quiet one.**\n")
	}
	r.writeTargets(&w)
	r.writePeers(&w)
	r.writeRaces(&w)
	fmt.Fprintf(&w, method, p.accounts, p.clients, p.rounds, p.span, p.loginSpan, p.idle, p.starts, r.took.Round(time.Second))
	return w.String()
}

func (r *report) writeTargets(w *strings.Builder) {
	w.WriteString("\n## Targets\n\n| what | measured | target | |\n|---|--:|--:|---|\n")
	for _, t := range r.targets {
		verdict := "met"
		if !t.met {
			verdict = "**missed**"
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s |\n", t.name, t.measured, t.limit, verdict)
	}
	if r.syncs > 0 {
		fmt.Fprintf(w, "\nThe floor under every durable write: this disk confirms %s of 4 KiB written and synced one after the other.\n", perSecond(r.syncs))
	}
}

func (r *report) writePeers(w *strings.Builder) {
	w.WriteString("\n## Beside PocketBase v0.39.0\n\nBoth on SQLite, same machine, same run, same accounts, same clients.\n\n" +
		"| what | Steward | PocketBase | Steward : PocketBase |\n|---|--:|--:|--:|\n")
	for _, c := range r.peers {
		fmt.Fprintf(w, "| %s | %s | %s | %.2f |\n", c.title, perSecond(c.own.rate()), perSecond(c.other.rate()), c.own.against(c.other))
	}
	if len(r.idling) == 0 {
		return
	}
	own, other := r.idling[0], r.idling[2]
	fmt.Fprintf(w, "| cold start | %s | %s | %.2f |\n", millis(own.start()), millis(other.start()), own.start().Seconds()/other.start().Seconds())
	fmt.Fprintf(w, "| idle memory | %s | %s | %.2f |\n", megabytes(own.idle), megabytes(other.idle), float64(own.idle)/float64(other.idle))
	fmt.Fprintf(w, "| memory after the load | %s | %s | %.2f |\n", megabytes(own.loaded), megabytes(other.loaded), float64(own.loaded)/float64(other.loaded))
	fmt.Fprintf(w, "| stripped binary | %s | %s | %.2f |\n", megabytes(r.sizes[0]), megabytes(r.sizes[1]), float64(r.sizes[0])/float64(r.sizes[1]))
}

func (r *report) writeRaces(w *strings.Builder) {
	w.WriteString("\n## All rates\n\nMedian of the rounds, with the slowest and the fastest round; latencies over all rounds; processor time of the server process alone (without PostgreSQL's).\n\n" +
		"| what | server | rate | slowest to fastest | p50 | p99 | CPU per call | calls |\n|---|---|--:|--:|--:|--:|--:|--:|\n")
	for _, t := range r.races {
		for _, s := range t.lanes {
			p50, p99 := "", ""
			if len(s.latencies) > 0 {
				p50, p99 = millis(s.percentile(50)), millis(s.percentile(99))
			}
			fmt.Fprintf(w, "| %s | %s | %s | %.0f to %.0f | %s | %s | %.0f us | %d |\n", t.title, s.name, perSecond(s.rate()),
				slices.Min(s.rates), slices.Max(s.rates), p50, p99, median(s.cpuPerOp)*1e6, s.ops)
		}
	}
}

const method = `
## How it is measured

- One run, one machine: every server is a process of its own on loopback, stripped, with its shipped settings; %d accounts on each, %d keep-alive connections of a client that sends requests made beforehand and checks the status and body of every answer. One wrong answer fails the run.
- Contenders take turns in rounds (%d rounds of %s, logins %s), forwards and backwards; a share is the median of the shares of each round. The client runs on the same cores as the server, alike for all. A round beside which other work took more than a tenth of the cores is run again, for a few minutes at most; the share that remained stands under Machine.
- The bare handler is net/http's ServeMux repeating the bytes of an answer of me, headers and body, to the same request; beside it, for those who count otherwise, one that sends the body and its content type alone. The bare hash is Argon2id (m=19 MiB, t=2, p=1) in one loop per core.
- Steward's limiter is in place and counts; only its limits are raised. PocketBase's limiter ships switched off and is left so.
- Every refresh of Steward is a durable write: it rotates the token and answers after the commit (SQLite in WAL mode with synchronous FULL, PostgreSQL with its defaults). PocketBase's refresh signs a new token and writes nothing, and its SQLite runs with synchronous NORMAL.
- Steward signs tokens with ES256, so that other services verify them with the public key alone; PocketBase with HS256. Passwords: Argon2id against bcrypt of cost 10, each as shipped.
- Read by id: GET /api/v1/users/{id} with permission and tenant checked, against a record of the users collection with its owner rule checked.
- p99 of me while logins saturate: 4 readers on fixed instants, 400 calls a second together, beside all the clients signing in; a latency counts from the instant the call was due.
- Idle memory is the resident set %s after a start on the filled folder. Cold start, the median of %d, is from starting the process to the first 200 for a signed-in caller (PocketBase: its health check), the files being in the page cache.
- The measuring took %s.
`

func percent(share float64) string  { return fmt.Sprintf("%.1f %%", share*100) }
func perSecond(rate float64) string { return fmt.Sprintf("%.0f/s", rate) }
func megabytes(bytes int64) string  { return fmt.Sprintf("%.1f MB", float64(bytes)/1e6) }
func millis(d time.Duration) string { return fmt.Sprintf("%.4g ms", float64(d.Microseconds())/1000) }

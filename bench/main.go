// Command bench measures Steward against its limits and its peers: one run, one machine, every figure
// beside what it is compared with. `make bench` runs it and writes RESULTS.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// plan is how much is done.
type plan struct {
	accounts, clients    int
	rounds               int
	span, loginSpan      time.Duration
	mixed, idle, syncing time.Duration
	starts               int
}

var (
	fullPlan = plan{
		accounts: 1000, clients: 16, rounds: 7, span: time.Second, loginSpan: 1500 * time.Millisecond,
		mixed: 8 * time.Second, idle: 5 * time.Second, syncing: 2 * time.Second, starts: 9,
	}
	// quickPlan proves that everything runs; its figures are too short to judge by.
	quickPlan = plan{
		accounts: 32, clients: 16, rounds: 2, span: 200 * time.Millisecond, loginSpan: 300 * time.Millisecond,
		mixed: 500 * time.Millisecond, idle: 500 * time.Millisecond, syncing: 200 * time.Millisecond, starts: 2,
	}
)

// bench is one run: what it started and what it found.
type bench struct {
	plan
	dir      string
	bins     binaries
	cluster  *postgres
	sqlite   *steward
	postgres *steward
	pocket   *pocketbase
	bare     *bare
	calm     calm
	report   report
}

func main() {
	quick := flag.Bool("quick", false, "a smoke run of seconds: checks that everything works, judges no figure, writes no file")
	root := flag.String("root", "..", "folder of the Steward module")
	own := flag.String("steward", "", "a program to measure instead of building it; writes no file")
	out := flag.String("out", "RESULTS.md", "file that a full run writes")
	only := flag.String("only", "", "comma-separated scenarios to run instead of all (me,login,refresh,read,start); writes no file")
	accounts := flag.Int("accounts", 0, "accounts on each server instead of the plan's; writes no file")
	patience := flag.Duration("patience", 3*time.Minute, "time to spend on running again what other work on the machine disturbed")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	b := &bench{plan: fullPlan, calm: calm{patience: *patience}}
	if *quick {
		b.plan, b.calm.patience = quickPlan, 0
	}
	if *accounts > 0 {
		b.accounts = max(*accounts, b.clients)
	}
	if err := b.run(ctx, *root, *own, *only); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	text := b.report.markdown(b.plan)
	fmt.Print(text)
	if *quick || *only != "" || *own != "" || *accounts > 0 {
		return
	}
	if err := os.WriteFile(*out, []byte(text), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	if missed := b.report.missed(); missed > 0 {
		fmt.Fprintf(os.Stderr, "bench: %d targets missed\n", missed)
		os.Exit(1)
	}
}

// run builds and measures everything. Whatever happens, nothing of it is left behind.
func (b *bench) run(ctx context.Context, root, own, only string) (err error) {
	if b.dir, err = os.MkdirTemp("", "steward-bench-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	say("building")
	if b.bins, err = build(ctx, root, own, b.dir); err != nil {
		return err
	}
	began := time.Now()
	b.calm.own = func() time.Duration { return ownTime(b.processes()) }
	if err := errors.Join(b.measure(ctx, only), b.stopAll()); err != nil {
		return err
	}
	b.report.took, b.report.others = time.Since(began), b.calm.others()
	b.report.machine, err = describe(b.dir, &b.calm)
	return err
}

// measure starts every server and runs the scenarios, or those named.
func (b *bench) measure(ctx context.Context, only string) error {
	if err := b.prepare(ctx); err != nil {
		return err
	}
	for _, s := range []struct {
		name string
		run  func(context.Context) error
	}{
		{"me", b.measureMe}, {"login", b.measureLogin}, {"refresh", b.measureRefresh},
		{"read", b.measureRead}, {"start", b.measureStart},
	} {
		if only != "" && !slices.Contains(strings.Split(only, ","), s.name) {
			continue
		}
		say("measuring: %s", s.name)
		if err := s.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// prepare starts every server with its accounts.
func (b *bench) prepare(ctx context.Context) (err error) {
	say("preparing: %d accounts on each server", b.accounts)
	if b.cluster, err = startPostgres(ctx); err != nil {
		return err
	}
	url, err := b.cluster.url(ctx, "bench")
	if err != nil {
		return err
	}
	if b.sqlite, err = b.serve(ctx, "sqlite", ""); err != nil {
		return err
	}
	if b.postgres, err = b.serve(ctx, "postgresql", url); err != nil {
		return err
	}
	answer, err := raw(b.sqlite.addr, get("/api/auth/me", b.sqlite.sessions[0].token))
	if err != nil {
		return err
	}
	if b.bare, err = startBare(ctx, b.bins.bare, b.dir, answer); err != nil {
		return err
	}
	if b.pocket, err = newPocketbase(ctx, b.bins.pocketbase, b.dir, b.accounts); err != nil {
		return err
	}
	if _, err = b.pocket.again(ctx); err != nil {
		return err
	}
	return b.pocket.signIn(b.clients)
}

// serve starts a Steward and fills it.
func (b *bench) serve(ctx context.Context, name, url string) (*steward, error) {
	s, err := newSteward(name, b.bins.steward, b.dir, url)
	if err != nil {
		return nil, err
	}
	if _, err := s.boot(ctx, readyRequest); err != nil {
		return nil, errors.Join(err, s.halt())
	}
	if err := s.fill(b.accounts, b.clients); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), s.halt())
	}
	return s, nil
}

// stopAll stops what was started, the database last.
func (b *bench) stopAll() error {
	var errs []error
	for _, s := range []*steward{b.sqlite, b.postgres} {
		if s != nil {
			errs = append(errs, s.halt())
		}
	}
	if b.pocket != nil {
		errs = append(errs, b.pocket.halt())
	}
	b.bare.halt()
	if b.cluster != nil {
		errs = append(errs, b.cluster.close())
	}
	return errors.Join(errs...)
}

// processes are the servers that run now.
func (b *bench) processes() []*process {
	var all []*process
	add := func(p *process) {
		if p != nil {
			all = append(all, p)
		}
	}
	for _, s := range []*steward{b.sqlite, b.postgres} {
		if s != nil {
			add(s.process)
		}
	}
	if b.pocket != nil {
		add(b.pocket.process)
	}
	if b.bare != nil {
		add(b.bare.process)
	}
	if b.cluster != nil {
		add(b.cluster.process)
	}
	return all
}

func say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// stopGrace is how long a server may take to end by itself before it is killed.
const stopGrace = 15 * time.Second

// tick is the unit of processor time in /proc: USER_HZ is 100 wherever Go runs on Linux.
const tick = 10 * time.Millisecond

// process is a server that this run started, and the only kind of process it ever stops.
type process struct {
	name    string
	addr    string
	log     string
	cmd     *exec.Cmd
	began   time.Time
	ended   chan struct{}
	waitErr error
}

// command says how to start a server.
type command struct {
	name string
	bin  string
	args []string
	env  []string
	addr string
	dir  string // where its log goes
	as   *syscall.Credential
}

// start begins the server and returns at once. Nothing of this process's own settings is passed on,
// so that a STEWARD_ variable of the shell cannot change what is measured.
func start(c command) (*process, error) {
	p := &process{name: c.name, addr: c.addr, log: filepath.Join(c.dir, c.name+".log"), ended: make(chan struct{})}
	out, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	p.cmd = exec.Command(c.bin, c.args...)
	p.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + c.dir, "LC_ALL=C"}, c.env...)
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = c.dir, out, out
	// A group of its own keeps the terminal's interrupt for this process, which then stops its servers.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: c.as}
	p.began = time.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", c.name, err)
	}
	go func() {
		p.waitErr = p.cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// stop ends the server with the given signal and fails if it does not exit cleanly in time.
// Stopping a server that has ended already does nothing.
func (p *process) stop(signal os.Signal) error {
	if !p.running() {
		return nil
	}
	if err := p.cmd.Process.Signal(signal); err != nil {
		return fmt.Errorf("stop %s: %w", p.name, err)
	}
	select {
	case <-p.ended:
		if p.waitErr != nil {
			return fmt.Errorf("%s did not stop cleanly: %w\n%s", p.name, p.waitErr, p.tail())
		}
		return nil
	case <-time.After(stopGrace):
		_ = p.cmd.Process.Kill()
		<-p.ended
		return fmt.Errorf("%s did not stop within %s", p.name, stopGrace)
	}
}

func (p *process) running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// await asks until the server first answers 200 and returns the time since it was started.
func (p *process) await(ctx context.Context, request []byte) (time.Duration, error) {
	deadline := time.Now().Add(30 * time.Second)
	var last error
	for time.Now().Before(deadline) {
		status, err := once(p.addr, request)
		if err == nil && status == 200 {
			return time.Since(p.began), nil
		}
		if last = err; err == nil {
			last = fmt.Errorf("status %d", status)
		}
		select {
		case <-p.ended:
			return 0, fmt.Errorf("%s ended: %v\n%s", p.name, p.waitErr, p.tail())
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
	return 0, fmt.Errorf("%s never answered 200: %w\n%s", p.name, last, p.tail())
}

func once(addr string, request []byte) (int, error) {
	c, err := dial(addr)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	status, _, err := c.do(request)
	return status, err
}

func (p *process) tail() string {
	text, _ := os.ReadFile(p.log)
	return string(text[max(0, len(text)-2000):])
}

// cpu is the processor time the server has used so far.
func (p *process) cpu() time.Duration { return cpuTime(p.cmd.Process.Pid, 11, 12) }

// cpuTime adds fields of /proc/PID/stat, counted from the one after the name: 11 and 12 are the user
// and system time of the process, 13 and 14 those of its children that have ended.
func cpuTime(pid int, fields ...int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The name in brackets may hold spaces.
	values := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	var ticks int
	for _, i := range fields {
		if i < len(values) {
			n, _ := strconv.Atoi(values[i])
			ticks += n
		}
	}
	return time.Duration(ticks) * tick
}

// rss is the memory of the server that is resident now, in bytes.
func (p *process) rss() (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	_, rest, found := strings.Cut(string(text), "VmRSS:")
	if !found {
		return 0, errors.New("no VmRSS")
	}
	kilobytes, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	return kilobytes << 10, err
}

// freeAddr returns a loopback address that nobody listens on.
func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

package main

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// quiet is the share of the cores that other work may take beside a round.
const quiet = 0.10

// calm keeps other work on the machine out of the figures: a round beside which others were busy is
// run again, as long as the patience lasts.
type calm struct {
	own      func() time.Duration // processor time of this run so far, its servers' included
	patience time.Duration
	repeated int
	foreign  time.Duration // of others, beside the rounds that count
	measured time.Duration // length of those, times the cores
}

// lane makes a lane that runs again what was disturbed.
func (c *calm) lane(l lane) lane {
	return lane{l.name, func(span time.Duration) round {
		for {
			began, busy, own := time.Now(), busyTime(), c.own()
			r := l.run(span)
			took := time.Since(began)
			foreign, room := busyTime()-busy-(c.own()-own), took*time.Duration(runtime.NumCPU())
			if r.failed > 0 || c.patience <= 0 || foreign.Seconds() <= quiet*room.Seconds() {
				c.foreign, c.measured = c.foreign+foreign, c.measured+room
				return r
			}
			c.patience -= took
			c.repeated++
			c.await()
		}
	}}
}

// await waits until the machine is quiet or the patience is gone. Nothing of this run may be busy.
func (c *calm) await() {
	const sample = 100 * time.Millisecond
	for c.patience > 0 {
		busy := busyTime()
		time.Sleep(sample)
		if busyTime()-busy <= 2*tick {
			return
		}
		c.patience -= sample
	}
}

// others is the share of the cores that other work took beside the rounds that count.
func (c *calm) others() float64 {
	return max(0, c.foreign.Seconds()/max(c.measured.Seconds(), 1e-9))
}

// busyTime is what all cores have worked since the machine was started, stolen time included.
func busyTime() time.Duration {
	var ticks int
	for i, field := range strings.Fields(after("/proc/stat", "cpu ")) {
		if i == 3 || i == 4 || i > 7 { // idle, waiting for a disk, guests (counted as user)
			continue
		}
		n, _ := strconv.Atoi(field)
		ticks += n
	}
	return time.Duration(ticks) * tick
}

// ownTime is that of this process and of all it started, those that have ended included.
func ownTime(running []*process) time.Duration {
	var sum time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if err := syscall.Getrusage(who, &u); err == nil {
			sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	}
	for _, p := range running {
		if pid := p.cmd.Process.Pid; p.running() {
			sum += cpuTime(pid, 11, 12, 13, 14)
			for _, child := range children(pid) {
				sum += cpuTime(child, 11, 12)
			}
		}
	}
	return sum
}

// children are the processes that another has started itself: PostgreSQL has one for each connection.
func children(pid int) []int {
	id := strconv.Itoa(pid)
	text, _ := os.ReadFile("/proc/" + id + "/task/" + id + "/children")
	var pids []int
	for _, field := range strings.Fields(string(text)) {
		if n, err := strconv.Atoi(field); err == nil {
			pids = append(pids, n)
		}
	}
	return pids
}

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// describe says what the figures were taken on, as rows of a table.
func describe(dir string, c *calm) ([][2]string, error) {
	kernel, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return nil, err
	}
	bin, err := postgresBin()
	if err != nil {
		return nil, err
	}
	server, err := exec.Command(filepath.Join(bin, "postgres"), "--version").Output()
	if err != nil {
		return nil, err
	}
	kilobytes, _ := strconv.ParseInt(strings.TrimSuffix(after("/proc/meminfo", "MemTotal:"), " kB"), 10, 64)
	return [][2]string{
		{"date", time.Now().UTC().Format("2006-01-02 15:04 UTC")},
		{"cores", strconv.Itoa(runtime.NumCPU())},
		{"processor", after("/proc/cpuinfo", "model name")},
		{"memory", fmt.Sprintf("%.1f GB", float64(kilobytes)*1024/1e9)},
		{"file system", fileSystem(dir)},
		{"kernel", strings.TrimSpace(string(kernel)) + ", " + runtime.GOOS + "/" + runtime.GOARCH},
		{"Go", runtime.Version()},
		{"PostgreSQL", strings.TrimSpace(strings.TrimPrefix(string(server), "postgres (PostgreSQL)"))},
		{"peer", "PocketBase v0.39.0"},
		{"other work meanwhile", fmt.Sprintf("%s of the cores; %d disturbed rounds run again", percent(c.others()), c.repeated)},
	}, nil
}

// after returns what follows a key on the first line of a file that begins with it.
func after(file, key string) string {
	text, _ := os.ReadFile(file)
	for line := range strings.Lines(string(text)) {
		if rest, found := strings.CutPrefix(line, key); found {
			return strings.Trim(rest, " \t:\n")
		}
	}
	return "unknown"
}

// fileSystem names the kind that the data lies on: on one in memory, durable writes cost nothing and
// the figures for refresh mean nothing.
func fileSystem(dir string) string {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return "unknown"
	}
	names := map[int64]string{
		0xEF53: "ext4", 0x58465342: "xfs", 0x9123683E: "btrfs", 0x794C7630: "overlay", 0x2FC12FC1: "zfs",
		0x01021994: "tmpfs (in memory: durable writes are free here)",
	}
	if name, known := names[int64(s.Type)]; known {
		return name
	}
	return fmt.Sprintf("type %#x", s.Type)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
)

// binaries are the programs of a run.
type binaries struct{ steward, pocketbase, bare string }

// build makes all three as they would be shipped: stripped. The working folder is this one; own, where
// given, is a Steward built before.
func build(ctx context.Context, root, own, dir string) (binaries, error) {
	b := binaries{filepath.Join(dir, "steward.bin"), filepath.Join(dir, "pocketbase.bin"), filepath.Join(dir, "bare.bin")}
	err := errors.Join(goBuild(ctx, ".", "./bare", b.bare), goBuild(ctx, "pocketbase", ".", b.pocketbase))
	if own != "" {
		path, pathErr := filepath.Abs(own)
		b.steward = path
		return b, errors.Join(err, pathErr)
	}
	return b, errors.Join(err, goBuild(ctx, root, "./cmd/steward", b.steward))
}

func goBuild(ctx context.Context, folder, pkg, out string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", out, pkg)
	cmd.Dir = folder
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", pkg, err, text)
	}
	return nil
}

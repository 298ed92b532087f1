// Command realnova runs a real Nova from the pods the operator renders, and checks what
// nothing simulated can show: that the Jobs, probes, configuration and credentials are
// right for the program they are made for.
//
// It builds root file systems of Nova and of the services around it from Debian's
// packages, starts a Kubernetes control plane with one real kubelet, the services, and
// the operator under its generated role, applies fixtures/nova/real, and works through
// the checks. Everything runs in namespaces of its own, so that nothing is left whatever
// ends it. It needs root, Linux with cgroups, Go, and a Debian mirror in apt's sources.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// options are the flags.
type options struct {
	keep     bool
	only     string
	buildRef bool
	refresh  bool
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == initArgument {
		os.Exit(runInit(os.Args[2:]))
	}
	var o options
	inside := flag.String(insideFlag, "", "for the command's own use: the file that describes the sandbox")
	flag.BoolVar(&o.keep, "keep", os.Getenv("KEEP") != "", "stay up after the checks until ^C and say how to look around")
	flag.StringVar(&o.only, "checks", os.Getenv("CHECKS"), "comma `list` of checks to run; empty runs all, \"none\" only what brings the Nova up")
	flag.BoolVar(&o.refresh, "refresh", os.Getenv("REFRESH") != "", "make the images anew from what the suites hold today")
	flag.BoolVar(&o.buildRef, "build", false, "only build what is missing")
	flag.Parse()
	// The first signal ends the run in order, a second one at once.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop)
	var err error
	if *inside != "" {
		err = runInside(ctx, *inside, o)
	} else {
		err = runOutside(ctx, o)
	}
	if err != nil && !errors.Is(err, errReported) {
		say("%v", err)
	}
	if err != nil {
		os.Exit(1)
	}
}

// errReported ends the command with a failure that somebody else has already printed.
var errReported = errors.New("reported")

// began is when this process started; say counts from there.
var began = time.Now()

// say prints a step with the time since the start.
func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%6.1fs  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
}

// repository is the root of this repository, from where the command is started.
func repository() (string, error) {
	root, err := filepath.Abs(".")
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(root, "test", "realnova", "main.go")); err != nil {
		return "", fmt.Errorf("start it from the root of the repository, with make e2e: %w", err)
	}
	return root, nil
}

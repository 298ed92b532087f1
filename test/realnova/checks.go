package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// check is one thing that is shown.
type check struct {
	name  string
	title string
	// needs are checks without whose success this one says nothing.
	needs []string
	// limit bounds it.
	limit time.Duration
	// run returns what was measured.
	run func(context.Context, *rig) (string, error)
}

// checks are worked through in this order.
var checks = []check{
	{"ready", "an empty cluster comes up: five Deployments ready through their probes under the restricted profile", nil, 5 * time.Minute, checkReady},
	{"cells", "status.cells are the cells the database maps", []string{"ready"}, time.Minute, checkCells},
	{"api", "the API answers: versions, token, services up", []string{"ready"}, 3 * time.Minute, checkAPI},
	{"compute", "a compute started from the contract as it stands registers and is mapped", []string{"api"}, 5 * time.Minute, checkCompute},
	{"boot", "a server boots on it", []string{"compute"}, 3 * time.Minute, checkBoot},
	{"metadata", "the metadata API takes a signed request and refuses a wrong signature", []string{"boot"}, 2 * time.Minute, checkMetadata},
	{"drain", "pods that are deleted finish what they do and end", []string{"boot"}, 10 * time.Minute, checkDrain},
	{"config", "oslo.config's validator knows every option of every file, in both releases", []string{"ready"}, 3 * time.Minute, checkConfig},
	{"second-sync", "a second db-sync maps no second cell", []string{"ready"}, 5 * time.Minute, checkSecondSync},
	{"archive", "the archive moves soft-deleted rows; each way to fail shows in the condition", []string{"boot"}, 6 * time.Minute, checkArchive},
	{"outage", "the broker, the database and the API server die and come back, one at a time", []string{"boot"}, 12 * time.Minute, checkOutage},
	{"rotate", "each credential is changed while the Nova is in use", []string{"boot"}, 20 * time.Minute, checkRotate},
	{"tls", "TLS to databases and broker, names and clients checked; another name is refused", []string{"boot"}, 12 * time.Minute, checkTLS},
	{"abort", "an upgrade taken back in Migrating leaves the older release serving", []string{"boot"}, 6 * time.Minute, checkAbort},
	{"expand-fails", "an expand Job that fails stops the upgrade, and goes on once repaired", []string{"boot"}, 8 * time.Minute, checkExpandFails},
	{"upgrade", "an upgrade to the next release under load: phases and roles in order, contract, promotion, second roll", []string{"boot"}, 15 * time.Minute, checkUpgrade},
}

// errNotRun is the result of a check that needs something this run doesn't have.
var errNotRun = errors.New("not run")

// result of a check.
type result struct {
	check
	err  error
	note string
	took time.Duration
}

type results []result

func (rs results) failed() bool {
	return slices.ContainsFunc(rs, func(r result) bool { return r.err != nil && !errors.Is(r.err, errNotRun) })
}

// choose finds the checks of a comma list with those they need, in their order.
func choose(list string) ([]check, error) {
	if list == "" {
		return checks, nil
	}
	wanted := map[string]bool{"ready": true}
	for _, name := range strings.Split(list, ",") {
		if name == "none" {
			continue
		}
		if !slices.ContainsFunc(checks, func(c check) bool { return c.name == name }) {
			return nil, fmt.Errorf("no check %q", name)
		}
		wanted[name] = true
	}
	var chosen []check
	for _, c := range slices.Backward(checks) {
		if wanted[c.name] {
			chosen = append(chosen, c)
			for _, name := range c.needs {
				wanted[name] = true
			}
		}
	}
	slices.Reverse(chosen)
	return chosen, nil
}

// work runs checks in their order; one that lacks what it needs isn't run.
func (r *rig) work(ctx context.Context, chosen []check) results {
	var all results
	good := map[string]bool{}
	for _, c := range chosen {
		one := result{check: c}
		missing := slices.IndexFunc(c.needs, func(name string) bool { return !good[name] })
		switch {
		case ctx.Err() != nil:
			one.err = fmt.Errorf("%w: ended before it", errNotRun)
		case missing >= 0:
			one.err = fmt.Errorf("%w: %s didn't pass", errNotRun, c.needs[missing])
		default:
			say("check %s: %s", c.name, c.title)
			start := time.Now()
			limited, cancel := within(ctx, c.limit)
			one.note, one.err = c.run(limited, r)
			cancel()
			one.took = time.Since(start)
			good[c.name] = one.err == nil
			if one.err != nil {
				say("check %s: %v", c.name, one.err)
			} else {
				say("check %s: passed; %s", c.name, one.note)
			}
		}
		all = append(all, one)
	}
	return all
}

func printTable(w io.Writer, all results) {
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintf(tw, "\nCHECK\tRESULT\tSECONDS\tWHAT\n")
	for _, r := range all {
		outcome, note := "pass", r.note
		switch {
		case errors.Is(r.err, errNotRun):
			outcome, note = "not run", strings.TrimPrefix(r.err.Error(), errNotRun.Error()+": ")
		case r.err != nil:
			outcome, note = "FAIL", strings.ReplaceAll(r.err.Error(), "\n", " ")
		}
		if runes := []rune(note); len(runes) > 200 {
			note = string(runes[:199]) + "…"
		}
		fmt.Fprintf(tw, "%s\t%s\t%.0f\t%s\n", r.name, outcome, r.took.Seconds(), r.title)
		if note != "" {
			fmt.Fprintf(tw, "\t\t\t  %s\n", note)
		}
	}
	_ = tw.Flush()
}

// explain says how to look around while everything is up.
func (r *rig) explain(w io.Writer) {
	// The sandbox's first process, seen from outside: its only child below the command.
	fmt.Fprintf(w, `
Everything stays up until ^C. In another terminal, as root:

  in='nsenter --target '"$(pgrep -f %[1]q | head -n1)"' --all --wd=/'
  $in kubectl --kubeconfig %[2]s -n %[3]s get novas,pods,jobs
  token=$($in curl -si %[4]s/v3/auth/tokens -H 'Content-Type: application/json' -d '{"auth":{"identity":{"methods":["password"],"password":{"user":{"name":"admin","password":"%[5]s","domain":{"id":"default"}}}},"scope":{"project":{"name":"admin","domain":{"id":"default"}}}}}' | awk 'tolower($1)=="x-subject-token:" {print $2}' | tr -d '\r')
  $in curl -s %[6]s/v2.1/os-services -H "X-Auth-Token: $token" -H 'OpenStack-API-Version: compute 2.93'
  $in chroot %[7]s mariadb --no-defaults -uroot -S /run/mysql.sock nova_api

Logs lie in %[8]s/logs and %[8]s/pods.
`, initArgument, r.control.Kubeconfig, namespace, serviceURL("keystone", portKeystone), adminPassword,
		serviceURL("nova", "8774"), r.base.root, r.box.Dir)
}

// keepLogs copies the logs of a failed run to where they outlive it.
func (r *rig) keepLogs() {
	target := filepath.Join(r.box.Root, "bin", "realnova-logs")
	_ = os.RemoveAll(target)
	if err := os.MkdirAll(target, 0o755); err != nil {
		return
	}
	for _, name := range []string{"logs", "pods"} {
		_ = exec.Command("cp", "-r", filepath.Join(r.box.Dir, name), target).Run()
	}
	say("logs are kept in %s", target)
}

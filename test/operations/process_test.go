package operations_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/test/cluster"
)

// leads reports what a process says about itself.
func (o *operator) leads(t *testing.T) bool {
	t.Helper()
	return strings.Contains(o.scrape(t), fmt.Sprintf("leader_election_master_status{name=%q} 1", lease))
}

func TestLeaderElection_TheOtherTakesOverWhatACrashLeft(t *testing.T) {
	c := cluster.Shared(t)
	i := install(t, c, namespaced(t, c))
	i.freeLease(t, c)
	w := newWorld(t, c, own)
	w.awaitEmpty()
	first := i.start(t, c, w.Surroundings.Network)
	first.awaitReady(t)
	holder := i.awaitLeader(t, c, "")
	second := i.start(t, c, w.Surroundings.Network)
	second.awaitReady(t)
	if !first.leads(t) || second.leads(t) {
		t.Fatalf("the first leads: %t, the second: %t", first.leads(t), second.leads(t))
	}
	for _, o := range []*operator{first, second} {
		for _, path := range []string{"/healthz", "/readyz"} {
			if code, body, err := o.get(t.Context(), "http://"+o.probes+path); code != http.StatusOK {
				t.Errorf("%s: %d %s, %v", path, code, body, err)
			}
		}
	}
	w.inputs()
	w.Create(w.Minimal())
	w.AwaitReady()
	for a := range second.api.used() {
		if a.resource != "leases" && !slices.Contains([]string{"get", "list", "watch"}, a.verb) {
			t.Errorf("the one in waiting asked to %s", a)
		}
	}

	// A crash in the middle of a change: the first has begun, the second ends it.
	first.api.slow(slowPatches)
	w.patch(`{"spec": {"region": "RegionTwo"}}`)
	cluster.Eventually(t, "the change to begin", first.api.holding)
	first.kill()
	died := time.Now()
	i.awaitLeader(t, c, holder)
	w.AwaitReady()
	t.Logf("taken over and Ready again %s after the crash", time.Since(died).Round(100*time.Millisecond))
	if !second.leads(t) {
		t.Error("the second does not say that it leads")
	}
	w.remove()
	second.api.mustAllow(t)
	if took, err := second.stop(t, i.grace()); err != nil {
		t.Errorf("after %s: %v", took, err)
	}
}

func TestLeaderElection_AStopHandsTheLeaseOver(t *testing.T) {
	c := cluster.Shared(t)
	i := install(t, c, namespaced(t, c))
	i.freeLease(t, c)
	w := newWorld(t, c, own)
	first := i.start(t, c, w.Surroundings.Network)
	holder := i.awaitLeader(t, c, "")
	second := i.start(t, c, w.Surroundings.Network)
	second.awaitReady(t)
	if _, err := first.stop(t, i.grace()); err != nil {
		t.Errorf("exit: %v", err)
	}
	stopped := time.Now()
	i.awaitLeader(t, c, holder)
	if took := time.Since(stopped); took > 10*time.Second {
		t.Errorf("nobody led for %s: the lease ran out", took)
	}
}

// slowPatches holds writes of children up.
func slowPatches(info *request.RequestInfo) time.Duration {
	if info.Verb == "patch" && info.Resource != "novas" && info.Resource != "events" {
		return 2 * time.Second
	}
	return 0
}

// grace is how long the kubelet waits before it kills.
func (i *installation) grace() time.Duration {
	return time.Duration(*i.manager.Spec.Template.Spec.TerminationGracePeriodSeconds) * time.Second
}

// SIGTERM in the middle of a pass: the process ends in time and well, what it wrote is
// whole, and the next one goes on without doing anything twice.
func TestStop_InAPassLeavesNothingHalfWritten(t *testing.T) {
	c := cluster.Shared(t)
	i := install(t, c, namespaced(t, c))
	for stage, kind := range map[string]string{"while Secrets are written": "secrets", "while a Job is written": "jobs"} {
		t.Run(stage, func(t *testing.T) {
			i.freeLease(t, c)
			w := newWorld(t, c, own)
			w.awaitEmpty()
			first := i.start(t, c, w.Surroundings.Network)
			first.awaitReady(t)
			i.awaitLeader(t, c, "")
			first.api.slow(func(info *request.RequestInfo) time.Duration {
				if info.Verb == "patch" && info.Resource == kind {
					return 5 * time.Second
				}
				return 0
			})
			w.inputs()
			w.Create(w.Minimal())
			cluster.Eventually(t, "the pass", first.api.holding)
			took, err := first.stop(t, i.grace())
			if err != nil {
				t.Errorf("exit: %v", err)
			}
			t.Logf("ended %s after SIGTERM", took.Round(time.Millisecond))
			before := w.children()

			i.freeLease(t, c)
			second := i.start(t, c, w.Surroundings.Network)
			w.AwaitReady()
			after := w.children()
			kept := map[string]string{}
			for name := range before {
				kept[name] = after[name]
			}
			if diff := cmp.Diff(before, kept); diff != "" {
				t.Errorf("what the first wrote was made again: %s", diff)
			}
			for _, e := range w.Events() {
				if e.Reason == v1alpha1.EventDriftCorrected || e.Reason == v1alpha1.EventFieldConflict {
					t.Errorf("event %s: %s", e.Reason, e.Message)
				}
			}
			w.remove()
			second.api.mustAllow(t)
			second.kill()
		})
	}
}

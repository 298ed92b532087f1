package openstack

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/c5c3/nova-operator/render/openstack"
	"github.com/c5c3/nova-operator/render/pipeline"
)

const (
	// callLimit bounds one call.
	callLimit = 10 * time.Second
	// maxRounds bounds how often the outcomes of calls may lead to further calls in one
	// pass.
	maxRounds = 16
)

// Subject is a pipeline.Subject that takes the outcomes of calls in.
type Subject interface {
	pipeline.Subject
	// Tell takes an outcome into the observation.
	Tell(openstack.Outcome)
}

// Execute makes the calls that a decision wants, after its set was applied: in order, each
// once. Every outcome is taken in and the subject decides again, which may want further
// calls; record is then called before the next one, so that the status remembers what a
// call brought about even when this process ends. The set of the decision stays as it was
// applied.
//
// The result is the last decision and what was called. The error is about calls that keep
// leading to further ones, or that of record.
func Execute(
	ctx context.Context, s Subject, d pipeline.Decision,
	make func(context.Context, openstack.Call) openstack.Outcome,
	record func(pipeline.Decision, openstack.Outcome) error,
) (pipeline.Decision, []openstack.Outcome, error) {
	applied := d.Set
	var done []openstack.Outcome
	for range maxRounds {
		round := unmade(d.Calls, done)
		if len(round) == 0 {
			return d, done, nil
		}
		for _, call := range round {
			if !wanted(d.Calls, call) { // what was called before it made it needless
				continue
			}
			limited, cancel := context.WithTimeout(ctx, callLimit)
			outcome := make(limited, call)
			cancel()
			done = append(done, outcome)
			s.Tell(outcome)
			d = s.Decide()
			d.Set = applied
			if err := record(d, outcome); err != nil {
				return d, done, err
			}
		}
	}
	left := unmade(d.Calls, done)
	if len(left) == 0 {
		return d, done, nil
	}
	var words []string
	for _, call := range left {
		words = append(words, call.Words)
	}
	return d, done, fmt.Errorf("%d rounds of calls led to further ones; still wanted: %s", maxRounds, strings.Join(words, ", "))
}

func wanted(calls []openstack.Call, call openstack.Call) bool {
	return slices.ContainsFunc(calls, func(c openstack.Call) bool { return c.Request == call.Request })
}

// unmade are the calls that were not made yet.
func unmade(calls []openstack.Call, done []openstack.Outcome) []openstack.Call {
	var out []openstack.Call
	for _, call := range calls {
		made := slices.ContainsFunc(done, func(o openstack.Outcome) bool { return o.Request == call.Request })
		if !made && !wanted(out, call) {
			out = append(out, call)
		}
	}
	return out
}

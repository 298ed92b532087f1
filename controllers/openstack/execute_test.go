package openstack

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/openstack"
	"github.com/c5c3/nova-operator/render/pipeline"
)

// subject wants calls that follow from those that were made.
type subject struct {
	done []string
	want func(done []string) []string
}

func (s *subject) Resource() v1alpha1.Resource { return &v1alpha1.Nova{} }

func (s *subject) Tell(o openstack.Outcome) { s.done = append(s.done, o.Words) }

func (s *subject) Decide() pipeline.Decision {
	d := pipeline.Decision{Set: render.Set{Held: []render.Held{{Gate: fmt.Sprint(len(s.done))}}}}
	for _, words := range s.want(s.done) {
		d.Calls = append(d.Calls, openstack.Call{Request: openstack.Request{Method: "PUT", URL: "http://nova/" + words}, Words: words})
	}
	return d
}

func TestExecute(t *testing.T) {
	for name, tc := range map[string]struct {
		want func(done []string) []string
		// made are the calls in order; fails is what the error mentions.
		made  []string
		fails string
	}{
		"nothing to do": {want: func([]string) []string { return nil }},
		"each once, in order, although they stay wanted": {
			want: func([]string) []string { return []string{"a", "b", "a"} }, made: []string{"a", "b"},
		},
		"an outcome makes a later call needless": {
			want: func(done []string) []string {
				if len(done) > 0 {
					return nil
				}
				return []string{"a", "b"}
			},
			made: []string{"a"},
		},
		"an outcome leads to a further call": {
			want: func(done []string) []string {
				if slices.Contains(done, "a") {
					return []string{"then"}
				}
				return []string{"a"}
			},
			made: []string{"a", "then"},
		},
		"calls that lead on and on": {
			want: func(done []string) []string { return []string{fmt.Sprintf("call %d", len(done))} },
			made: func() (all []string) {
				for i := range maxRounds {
					all = append(all, fmt.Sprintf("call %d", i))
				}
				return all
			}(),
			fails: fmt.Sprintf("still wanted: call %d", maxRounds),
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &subject{want: tc.want}
			var made, recorded []string
			d, outcomes, err := Execute(t.Context(), s, s.Decide(),
				func(ctx context.Context, c openstack.Call) openstack.Outcome {
					if _, bounded := ctx.Deadline(); !bounded {
						t.Error("a call without a limit")
					}
					if !slices.Equal(made, recorded) {
						t.Errorf("%s is made before %v is recorded", c.Words, made)
					}
					made = append(made, c.Words)
					return openstack.Outcome{Call: c, Ended: openstack.Done}
				},
				func(_ pipeline.Decision, o openstack.Outcome) error {
					recorded = append(recorded, o.Words)
					return nil
				})
			if diff := cmp.Diff(tc.made, made); diff != "" {
				t.Error(diff)
			}
			if (err != nil) != (tc.fails != "") || err != nil && !strings.Contains(err.Error(), tc.fails) {
				t.Errorf("error %v", err)
			}
			if len(outcomes) != len(made) || d.Set.Held[0].Gate != "0" {
				t.Errorf("%d outcomes; the set became that of decision %s", len(outcomes), d.Set.Held[0].Gate)
			}
		})
	}
}

// What can't be recorded ends the calls: the status would forget what they brought about.
func TestExecute_EndsWhenAnOutcomeIsNotRecorded(t *testing.T) {
	s := &subject{want: func([]string) []string { return []string{"a", "b"} }}
	lost := errors.New("conflict")
	_, outcomes, err := Execute(t.Context(), s, s.Decide(),
		func(_ context.Context, c openstack.Call) openstack.Outcome { return openstack.Outcome{Call: c} },
		func(pipeline.Decision, openstack.Outcome) error { return lost })
	if !errors.Is(err, lost) || len(outcomes) != 1 {
		t.Errorf("error %v after %d calls", err, len(outcomes))
	}
}

package render

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRefusals(t *testing.T) {
	a, b, c := &ReasonError{Reason: "A", Err: errors.New("a")}, &ReasonError{Reason: "B", Err: errors.New("b")}, &ReasonError{Reason: "C", Err: errors.New("c")}
	for name, tc := range map[string]struct {
		err  error
		want []string
	}{
		"no error":                             {},
		"an error that is none":                {err: errors.New("other")},
		"one":                                  {err: a, want: []string{"A"}},
		"one that is wrapped":                  {err: fmt.Errorf("decide: %w", fmt.Errorf("step: %w", a)), want: []string{"A"}},
		"joined, among others":                 {err: errors.Join(a, errors.New("other"), b), want: []string{"A", "B"}},
		"wrapped joined ones in a joined one":  {err: errors.Join(c, fmt.Errorf("group: %w", errors.Join(a, fmt.Errorf("step: %w", b)))), want: []string{"C", "A", "B"}},
		"one that wraps another counts itself": {err: &ReasonError{Reason: "outer", Err: a}, want: []string{"outer"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for reason := range Refusals(tc.err) {
				got = append(got, reason.Reason)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	for range Refusals(errors.Join(fmt.Errorf("group: %w", errors.Join(a, b)), c)) {
		break // the walk must end with its reader
	}
}

func TestUnjoin_LeavesWrappedOnesWhole(t *testing.T) {
	a, b, c := errors.New("a"), errors.New("b"), errors.New("c")
	wrapped := fmt.Errorf("group: %w", errors.Join(b, c))
	if got := Unjoin(errors.Join(errors.Join(a, b), wrapped)); !slices.Equal(got, []error{a, b, wrapped}) {
		t.Errorf("got %v", got)
	}
}

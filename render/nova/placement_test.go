package nova

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
)

// What leaves the finalizers behind is said once for each of them.
func TestAbandoned(t *testing.T) {
	const (
		data     = "Target cluster is no longer registered; releasing the finalizer without deleting the MariaDB Databases, Users, and Grants on it"
		children = "Target cluster is no longer registered; releasing the remote-children finalizer without deleting the objects on it labelled as owned by this Nova"
	)
	for name, tc := range map[string]struct{ finalizers, want []string }{
		"both":             {[]string{v1alpha1.FinalizerRemoteChildren, "other", v1alpha1.FinalizerNova}, []string{data, children}},
		"the data is gone": {[]string{v1alpha1.FinalizerRemoteChildren}, []string{children}},
		"none":             {[]string{"other"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			n := &v1alpha1.Nova{}
			n.Finalizers = tc.finalizers
			var got []string
			for _, e := range Abandoned(n) {
				if e.Type != "Warning" || e.Reason != v1alpha1.EventRemoteChildrenAbandoned {
					t.Errorf("event %+v", e)
				}
				got = append(got, e.Message)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// On a target cluster the probe comes from the API server: a namespace of the operator's
// name is somebody else's there.
func TestNetworkPolicy_OfAPlacedNovaTrustsNoOperatorThere(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*v1alpha1.Nova)
		want   bool
	}{
		"at home": {func(*v1alpha1.Nova) {}, true},
		"placed":  {placedOnEdge, false},
	} {
		t.Run(name, func(t *testing.T) {
			in := settledFixture(t, "minimal")
			in.Nova.Spec.NetworkPolicy = openPolicy()
			tc.change(in.Nova)
			in.Settings.OperatorNamespace = "operators-own"
			found := false
			for _, o := range Decide(in).Set.Desired {
				if o.Key().GroupVersionKind == render.KindNetworkPolicy {
					found = found || strings.Contains(fmt.Sprint(o.Content.Object), "operators-own")
				}
			}
			if found != tc.want {
				t.Errorf("the operator's namespace may enter: %v", found)
			}
		})
	}
}

package pass

import (
	"context"
	"errors"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/controllers/clusters"
	testcluster "github.com/c5c3/nova-operator/test/cluster"
)

// answers is a fleet with one answer.
type answers struct {
	cluster cluster.Cluster
	err     error
}

func (a *answers) Get(context.Context, multicluster.ClusterName) (cluster.Cluster, error) {
	return a.cluster, a.err
}

// named is a cluster that is only compared.
type named struct {
	cluster.Cluster
	name string
}

// A resource is placed on the cluster its registration stands for now, and on no other.
func TestPlaces(t *testing.T) {
	n := &v1alpha1.Nova{Spec: v1alpha1.NovaSpec{TargetClusterRef: &v1alpha1.TargetClusterRefSpec{Name: "edge"}}}
	one, other := &named{name: "one"}, &named{name: "other"}
	unreachable := errors.New("unreachable")
	now := time.Unix(1000, 0)
	fleet := &answers{err: multicluster.ErrClusterNotFound}
	p := &places{fleet: fleet, home: &Place{}, now: func() time.Time { return now }, targets: map[string]*Place{}, lost: map[string]time.Time{}}
	ctx, end := context.WithCancel(t.Context())
	p.engage(ctx, "edge", &Place{cluster: one})

	for _, step := range []struct {
		name    string
		answer  answers
		passes  time.Duration
		want    error
		lostFor time.Duration
	}{
		{"nothing is registered", answers{err: multicluster.ErrClusterNotFound}, 0, multicluster.ErrClusterNotFound, 0},
		{"nor a minute later", answers{err: multicluster.ErrClusterNotFound}, time.Minute, multicluster.ErrClusterNotFound, time.Minute},
		{"a registration that can't be used stops the clock", answers{err: unreachable}, time.Minute, unreachable, 0},
		{"it was taken back", answers{err: multicluster.ErrClusterNotFound}, time.Minute, multicluster.ErrClusterNotFound, 0},
		{"it stands for another cluster", answers{cluster: other}, time.Minute, clusters.ErrEngaging, 0},
		{"it stands for the cluster that is engaged", answers{cluster: one}, time.Minute, nil, 0},
	} {
		t.Run(step.name, func(t *testing.T) {
			*fleet = step.answer
			now = now.Add(step.passes)
			got, err := p.of(t.Context(), n)
			if !errors.Is(err, step.want) || (got != nil) != (step.want == nil) {
				t.Errorf("%v, %v", got, err)
			}
			if lost := p.lostFor("edge"); lost != step.lostFor {
				t.Errorf("lost for %s", lost)
			}
		})
	}
	end()
	testcluster.Eventually(t, "the end of the engagement", func(ctx context.Context) (bool, error) {
		_, err := p.of(ctx, n)
		return errors.Is(err, clusters.ErrEngaging), nil
	})
	n.Spec.TargetClusterRef = nil
	if got, err := p.of(t.Context(), n); got != p.home || err != nil {
		t.Errorf("at home: %v, %v", got, err)
	}
	n.Spec.TargetClusterRef = &v1alpha1.TargetClusterRefSpec{Name: "edge"}
	p.fleet = nil
	if _, err := p.of(t.Context(), n); !errors.Is(err, ErrNoFleet) {
		t.Errorf("without a fleet: %v", err)
	}
}

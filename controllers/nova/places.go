package nova

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/apply"
	"github.com/c5c3/nova-operator/controllers/clusters"
	rendernova "github.com/c5c3/nova-operator/render/nova"
)

// Place is a cluster that receives children, and how it is reached: the operator's own,
// or a target cluster.
type Place struct {
	// Reader is its cache. Uncached reads pods, and whatever a cache must not answer.
	Reader, Uncached client.Reader
	Applier          *apply.Applier
	// Capabilities says which optional kinds it serves.
	Capabilities func() Capabilities
	// HTTP reaches the Services on it.
	HTTP *http.Client
}

// NewPlace returns a cluster as a place. The optional kinds of the operator's own cluster
// are asked for once: its watches are built from the answer. Those of a target cluster
// are asked for in every pass. web reaches Services; nil means the default transport.
func NewPlace(cl cluster.Cluster, web *http.Client, latched bool) (Place, error) {
	if web == nil {
		web = &http.Client{}
	}
	disco, err := discovery.NewDiscoveryClientForConfigAndClient(cl.GetConfig(), cl.GetHTTPClient())
	if err != nil {
		return Place{}, fmt.Errorf("build discovery client: %w", err)
	}
	p := Place{
		Reader: cl.GetCache(), Uncached: cl.GetAPIReader(), HTTP: web,
		Applier: apply.New(apply.Options{
			Client: cl.GetClient(), Reader: cl.GetCache(), Uncached: cl.GetAPIReader(), OpenAPI: disco.OpenAPIV3(),
		}),
		Capabilities: func() Capabilities { return Served(cl.GetRESTMapper()) },
	}
	if latched {
		answer := p.Capabilities()
		p.Capabilities = func() Capabilities { return answer }
		return p, answer.Err()
	}
	return p, nil
}

// Fleet are the target clusters. A name under which nothing valid is registered is
// multicluster.ErrClusterNotFound.
type Fleet interface {
	Get(ctx context.Context, name multicluster.ClusterName) (cluster.Cluster, error)
}

// ErrNoFleet is what a placed Nova gets from an operator without target clusters.
var ErrNoFleet = errors.New("this operator reaches its own cluster only: it runs with --namespace, or --clusters-namespace is empty")

// place is a Place in use.
type place struct {
	// cluster is what a target was engaged as; nil at home.
	cluster  cluster.Cluster
	observer observer
	applier  *apply.Applier
	health   *healthProbe
}

// observeLimit bounds the reading of a target cluster: a read through a cache that can't
// be filled waits for ever.
const observeLimit = time.Minute

// observe returns the state of the world for one Nova.
func (p *place) observe(ctx context.Context, n *v1alpha1.Nova) (rendernova.Observed, error) {
	if n.Spec.TargetClusterRef == nil {
		return p.observer.observe(ctx, n)
	}
	limited, cancel := context.WithTimeout(ctx, observeLimit)
	defer cancel()
	return p.observer.observe(limited, n)
}

// places are the clusters that are in use, and those that were asked for in vain.
type places struct {
	fleet Fleet
	home  *place
	now   func() time.Time

	mu      sync.Mutex
	targets map[string]*place
	// lost is when a name was first found without a registration; it is forgotten when
	// one comes. A restart forgets, too: "not engaged yet" looks the same.
	lost map[string]time.Time
}

// of returns the place of the children of a Nova. The error is the condition's message,
// but for clusters.ErrEngaging: then nothing is known yet.
func (p *places) of(ctx context.Context, n *v1alpha1.Nova) (*place, error) {
	if n.Spec.TargetClusterRef == nil {
		return p.home, nil
	}
	if p.fleet == nil {
		return nil, ErrNoFleet
	}
	name := n.Spec.TargetClusterRef.Name
	engaged, err := p.fleet.Get(ctx, multicluster.ClusterName(name))
	p.mu.Lock()
	defer p.mu.Unlock()
	if !errors.Is(err, multicluster.ErrClusterNotFound) {
		delete(p.lost, name)
	} else if _, known := p.lost[name]; !known {
		p.lost[name] = p.now()
	}
	if err != nil {
		return nil, err
	}
	// After a change of the registration the name may stand for another cluster.
	if target := p.targets[name]; target != nil && target.cluster == engaged {
		return target, nil
	}
	return nil, clusters.ErrEngaging
}

// lostFor is how long a name has been without a registration.
func (p *places) lostFor(name string) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	since, lost := p.lost[name]
	if !lost {
		return 0
	}
	return p.now().Sub(since)
}

// engage makes a cluster a place until its context ends.
func (p *places) engage(ctx context.Context, name string, target *place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.targets[name] = target
	context.AfterFunc(ctx, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.targets[name] == target {
			delete(p.targets, name)
		}
	})
}

package pass

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/apply"
	"github.com/c5c3/nova-operator/controllers/clusters"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/facts"
)

// Capabilities are the optional kinds a cluster serves.
type Capabilities struct {
	GatewayAPI, VPA facts.Capability
}

// optional are the kinds that Capabilities tells about.
var optional = map[schema.GroupVersionKind]bool{render.KindHTTPRoute: true, render.KindVPA: true}

// Err is why a question could not be answered.
func (c Capabilities) Err() error {
	if why := cmp.Or(c.GatewayAPI.Error, c.VPA.Error); why != "" {
		return errors.New(why)
	}
	return nil
}

// Served tells which of the optional kinds a cluster serves now.
func Served(mapper meta.RESTMapper) Capabilities {
	return Capabilities{GatewayAPI: capability(mapper, render.KindHTTPRoute), VPA: capability(mapper, render.KindVPA)}
}

func capability(mapper meta.RESTMapper, gvk schema.GroupVersionKind) facts.Capability {
	served, err := serves(mapper, gvk)
	if err != nil {
		return facts.Capability{Error: err.Error()}
	}
	return facts.Capability{Served: served}
}

func serves(mapper meta.RESTMapper, gvk schema.GroupVersionKind) (bool, error) {
	_, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	switch {
	case meta.IsNoMatchError(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("ask for %s: %w", gvk, err)
	}
	return true, nil
}

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

	// cluster is what a target was engaged as; nil at home.
	cluster cluster.Cluster
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

// reads is a place as an observer sees it in one pass.
func (r *Reconciler) reads(p *Place) Reads {
	return Reads{Cached: p.Reader, Uncached: p.Uncached, Resources: r.reader, Capabilities: p.Capabilities(), Settings: r.settings}
}

// Fleet are the target clusters. A name under which nothing valid is registered is
// multicluster.ErrClusterNotFound.
type Fleet interface {
	Get(ctx context.Context, name multicluster.ClusterName) (cluster.Cluster, error)
}

// ErrNoFleet is what a placed resource gets from an operator without target clusters.
var ErrNoFleet = errors.New("this operator reaches its own cluster only: it runs with --namespace, or --clusters-namespace is empty")

// places are the clusters that are in use, and those that were asked for in vain.
type places struct {
	fleet Fleet
	home  *Place
	now   func() time.Time

	mu      sync.Mutex
	targets map[string]*Place
	// lost is when a name was first found without a registration; it is forgotten when
	// one comes. A restart forgets, too: "not engaged yet" looks the same.
	lost map[string]time.Time
}

// of returns the place of the children of a resource. The error is the condition's message,
// but for clusters.ErrEngaging: then nothing is known yet.
func (p *places) of(ctx context.Context, r v1alpha1.Resource) (*Place, error) {
	name := r.TargetCluster()
	switch {
	case name == "":
		return p.home, nil
	case p.fleet == nil:
		return nil, ErrNoFleet
	}
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
func (p *places) engage(ctx context.Context, name string, target *Place) {
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

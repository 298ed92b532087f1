package nova

import (
	"strings"

	"github.com/c5c3/nova-operator/api/catalog"
	"github.com/c5c3/nova-operator/api/v1alpha1"
)

// What follows is resolved at render time and never stored, so that an unset field
// keeps following the operator's default.

// publicKeystone is where clients are sent for a token.
func publicKeystone(n *v1alpha1.Nova) string {
	if n.Spec.KeystonePublicEndpoint != "" {
		return n.Spec.KeystonePublicEndpoint
	}
	return n.Spec.KeystoneEndpoint
}

// archive is the effective dbArchive block.
type archive struct {
	schedule       string
	maxRows, sleep int32
	// retentionDays is nil without a window.
	retentionDays *int32
	suspend       bool
}

func archiveOf(n *v1alpha1.Nova) archive {
	a := archive{schedule: v1alpha1.DefaultArchiveSchedule, maxRows: v1alpha1.DefaultArchiveMaxRows, sleep: v1alpha1.DefaultArchiveSleep}
	spec := n.Spec.DBArchive
	if spec == nil {
		return a
	}
	if spec.Schedule != "" {
		a.schedule = spec.Schedule
	}
	if spec.MaxRows != nil {
		a.maxRows = *spec.MaxRows
	}
	if spec.Sleep != nil {
		a.sleep = *spec.Sleep
	}
	a.retentionDays, a.suspend = spec.RetentionDays, spec.Suspend
	return a
}

// gracePeriod is how long a pod may take to stop, in seconds: nova's own graceful
// shutdown time of the release and 5 s for the rest, unless the block names one.
func gracePeriod(n *v1alpha1.Nova, d *v1alpha1.DeploymentSpec) int64 {
	if d.TerminationGracePeriodSeconds != nil {
		return *d.TerminationGracePeriodSeconds
	}
	return int64(catalog.ShutdownTimeout(n.Spec.OpenStackRelease, n.Spec.ExtraConfig.Catalog())) + 5
}

// preStop is how long a pod keeps serving after it left the endpoints, in seconds.
func preStop(d *v1alpha1.DeploymentSpec) int64 {
	if d.PreStopSleepSeconds != nil {
		return *d.PreStopSleepSeconds
	}
	return v1alpha1.DefaultPreStopSleep
}

// cacheServers are the memcached addresses, host:port.
func cacheServers(n *v1alpha1.Nova) []string {
	if ref := n.Spec.Cache.ClusterRef; ref != nil {
		return []string{ref.Name + ":11211"}
	}
	return n.Spec.Cache.Servers
}

// consoleEnabled reports whether the noVNC proxy runs.
func consoleEnabled(n *v1alpha1.Nova) bool { return n.Spec.ConsoleProxy.IsEnabled() }

// lowerAPIReplicas is the smallest count the API Deployment may be scaled to.
func lowerAPIReplicas(n *v1alpha1.Nova) int32 {
	if a := n.Spec.Autoscaling; a != nil && a.MinReplicas != nil {
		return *a.MinReplicas
	}
	return n.Spec.API.Deployment.Replicas
}

// upperAPIReplicas is the largest one.
func upperAPIReplicas(n *v1alpha1.Nova) int32 {
	if n.Spec.Autoscaling != nil {
		return n.Spec.Autoscaling.MaxReplicas
	}
	return n.Spec.API.Deployment.Replicas
}

// routePath is the path prefix of a route, with its leading slash.
func routePath(g *v1alpha1.GatewaySpec) string {
	return "/" + strings.TrimPrefix(g.Path, "/")
}

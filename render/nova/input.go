package nova

import (
	"maps"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/facts"
	"github.com/c5c3/nova-operator/render/openstack"
	"github.com/c5c3/nova-operator/render/pipeline"
)

// Input is everything a decision depends on. It is the pipeline.Subject and the
// foresee.World of a Nova.
type Input struct {
	// Nova is the resource with the status of the last pass. It is read only.
	Nova *v1alpha1.Nova
	// Observed is what was seen on the children cluster.
	Observed Observed
	// Settings are the operator's own.
	Settings render.Settings

	// forms spare repeated decisions work; nil in a single one.
	forms render.Forms
}

// Resource implements pipeline.Subject.
func (in *Input) Resource() v1alpha1.Resource { return in.Nova }

// Decide implements pipeline.Subject.
func (in *Input) Decide() pipeline.Decision { return Decide(*in) }

// Observed is the state of the world that a decision reads. It is a document: `render
// --observed` takes it as YAML. An absent entry of a map means "not found".
type Observed struct {
	// TargetCluster is why the children cluster does not resolve; empty when it does.
	TargetCluster string `json:"targetCluster,omitempty"`
	// Store is the secret store the credentials come from; nil when there is none of
	// that name.
	Store *facts.Readiness `json:"store,omitempty"`
	// Secrets are the referenced Secrets, by name, or by namespace/name outside the
	// Nova's namespace.
	Secrets map[string]facts.SecretData `json:"secrets,omitempty"`
	// ExternalSecrets, by name; they only word a wait.
	ExternalSecrets map[string]facts.Readiness `json:"externalSecrets,omitempty"`
	// RabbitmqClusters, by name.
	RabbitmqClusters map[string]facts.RabbitmqCluster `json:"rabbitmqClusters,omitempty"`
	// MariaDBs are the referenced servers, by name.
	MariaDBs map[string]facts.Readiness `json:"mariadbs,omitempty"`
	// Databases, Users and Grants of this Nova, by name.
	Databases map[string]facts.Database  `json:"databases,omitempty"`
	Users     map[string]facts.Readiness `json:"users,omitempty"`
	Grants    map[string]facts.Readiness `json:"grants,omitempty"`
	// Claims are what others claim of its schemas.
	Claims []facts.SchemaClaim `json:"claims,omitempty"`
	// Deployments of this Nova, by name.
	Deployments map[string]facts.Deployment `json:"deployments,omitempty"`
	// Jobs of this Nova, by name, without those of the archive.
	Jobs map[string]facts.Job `json:"jobs,omitempty"`
	// ArchiveJobs are the runs of the archive CronJob.
	ArchiveJobs []facts.Job `json:"archiveJobs,omitempty"`
	// ArchiveConfigMap is what the live CronJob mounts; empty when there is none.
	ArchiveConfigMap string `json:"archiveConfigMap,omitempty"`
	// MountedConfigMaps are what ReplicaSets that have or want pods mount, and pods, and Jobs
	// of any name. They are read only when a generation could go.
	MountedConfigMaps []string `json:"mountedConfigMaps,omitempty"`
	// MountsUnknown is true when the operator may not read them: then none may go.
	MountsUnknown bool `json:"mountsUnknown,omitempty"`
	// ConfigMaps are the generations of the configuration this Nova owns.
	ConfigMaps []facts.ConfigMap `json:"configMaps,omitempty"`
	// Routes of this Nova, by name.
	Routes map[string]facts.Route `json:"routes,omitempty"`
	// GatewayAPI and VPA tell whether the children cluster serves the kind.
	GatewayAPI facts.Capability `json:"gatewayAPI,omitzero"`
	VPA        facts.Capability `json:"vpa,omitzero"`
	// Health is the newest answer of the API; nil while there is none.
	Health *openstack.Answer `json:"health,omitempty"`
}

// lives reports whether a MariaDB object exists and is not on its way out.
func (o *Observed) lives(kind schema.GroupVersionKind, name string) bool {
	object, exists := facts.Readiness{}, false
	switch kind {
	case render.KindDatabase:
		var d facts.Database
		d, exists = o.Databases[name]
		object = d.Readiness
	case render.KindUser:
		object, exists = o.Users[name]
	case render.KindGrant:
		object, exists = o.Grants[name]
	}
	return exists && !object.Deleting
}

// answeredOK is the answer of an API that is well.
func answeredOK() *openstack.Answer { return &openstack.Answer{Code: http.StatusOK} }

// clone copies what a decision or an assumption may change.
func (o Observed) clone() Observed {
	o.Secrets = copied(o.Secrets)
	o.RabbitmqClusters = copied(o.RabbitmqClusters)
	o.MariaDBs = copied(o.MariaDBs)
	o.Databases, o.Users, o.Grants = copied(o.Databases), copied(o.Users), copied(o.Grants)
	o.Deployments, o.Jobs, o.Routes = copied(o.Deployments), copied(o.Jobs), copied(o.Routes)
	return o
}

func copied[V any](m map[string]V) map[string]V {
	out := make(map[string]V, len(m))
	maps.Copy(out, m)
	return out
}

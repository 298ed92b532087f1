package nova

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
)

// Input is everything a decision depends on.
type Input struct {
	// Nova is the resource with the status of the last pass. It is read only.
	Nova *v1alpha1.Nova
	// Observed is what was seen on the children cluster.
	Observed Observed
	// Settings are the operator's own.
	Settings Settings

	// canon spares repeated decisions work; nil in a single one.
	canon render.Canon
}

// Settings are what the operator process was started with.
type Settings struct {
	// PullPolicy is --default-image-pull-policy; empty follows the image.
	PullPolicy corev1.PullPolicy `json:"pullPolicy,omitempty"`
	// OperatorNamespace may always reach the API's pods. Empty when unknown.
	OperatorNamespace string `json:"operatorNamespace,omitempty"`
	// NamespaceScoped is true with --namespace: no cluster-wide object may be read.
	NamespaceScoped bool `json:"namespaceScoped,omitempty"`
}

// Observed is the state of the world that a decision reads. It is a document: `render
// --observed` takes it as YAML. An absent entry of a map means "not found".
type Observed struct {
	// TargetCluster is why the children cluster does not resolve; empty when it does.
	TargetCluster string `json:"targetCluster,omitempty"`
	// Store is the secret store the credentials come from; nil when there is none of
	// that name.
	Store *Readiness `json:"store,omitempty"`
	// Secrets are the referenced Secrets, by name, or by namespace/name outside the
	// Nova's namespace.
	Secrets map[string]SecretData `json:"secrets,omitempty"`
	// ExternalSecrets, by name; they only word a wait.
	ExternalSecrets map[string]Readiness `json:"externalSecrets,omitempty"`
	// RabbitmqClusters, by name.
	RabbitmqClusters map[string]RabbitmqCluster `json:"rabbitmqClusters,omitempty"`
	// MariaDBs are the referenced servers, by name.
	MariaDBs map[string]Readiness `json:"mariadbs,omitempty"`
	// Databases, Users and Grants of this Nova, by name.
	Databases map[string]Readiness `json:"databases,omitempty"`
	Users     map[string]Readiness `json:"users,omitempty"`
	Grants    map[string]Readiness `json:"grants,omitempty"`
	// Deployments of this Nova, by name.
	Deployments map[string]Deployment `json:"deployments,omitempty"`
	// Jobs of this Nova, by name, without those of the archive.
	Jobs map[string]Job `json:"jobs,omitempty"`
	// ArchiveJobs are the runs of the archive CronJob.
	ArchiveJobs []Job `json:"archiveJobs,omitempty"`
	// ArchiveConfigMap is what the live CronJob mounts; empty when there is none.
	ArchiveConfigMap string `json:"archiveConfigMap,omitempty"`
	// ConfigMaps are the generations of the configuration this Nova owns.
	ConfigMaps []ConfigMap `json:"configMaps,omitempty"`
	// Routes of this Nova, by name.
	Routes map[string]Route `json:"routes,omitempty"`
	// GatewayAPI and VPA tell whether the children cluster serves the kind.
	GatewayAPI Capability `json:"gatewayAPI,omitzero"`
	VPA        Capability `json:"vpa,omitzero"`
	// Health is the answer of the API; nil when it was not asked.
	Health *Health `json:"health,omitempty"`
}

// Readiness is the state of an object that reports a Ready condition.
type Readiness struct {
	Ready bool `json:"ready,omitempty"`
	// Deleting is true with a deletion timestamp.
	Deleting bool `json:"deleting,omitempty"`
}

// SecretData is the content of a Secret, by key.
type SecretData map[string]render.Sensitive

// RabbitmqCluster names the Secret of the broker's default user, empty while the
// broker has not made one.
type RabbitmqCluster struct {
	UserSecret string `json:"userSecret,omitempty"`
	// UserSecretNamespace is the Nova's when empty.
	UserSecretNamespace string `json:"userSecretNamespace,omitempty"`
}

// Capability tells whether a cluster serves an optional kind.
type Capability struct {
	Served bool `json:"served,omitempty"`
	// Error is why the question could not be answered.
	Error string `json:"error,omitempty"`
}

// Deployment is the part of a live Deployment that decisions read.
type Deployment struct {
	Generation         int64 `json:"generation,omitempty"`
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Replicas is the live spec; nil reads as 1.
	Replicas *int32 `json:"replicas,omitempty"`
	// OwnsReplicas is true while the operator is the only owner of spec.replicas: an
	// apply without it would reset the count to 1.
	OwnsReplicas bool `json:"ownsReplicas,omitempty"`
	// TotalReplicas, UpdatedReplicas, ReadyReplicas and AvailableReplicas are counts
	// of pods, Available the condition of that name.
	TotalReplicas     int32 `json:"totalReplicas,omitempty"`
	UpdatedReplicas   int32 `json:"updatedReplicas,omitempty"`
	ReadyReplicas     int32 `json:"readyReplicas,omitempty"`
	AvailableReplicas int32 `json:"availableReplicas,omitempty"`
	Available         bool  `json:"available,omitempty"`
	// Image of the first container.
	Image string `json:"image,omitempty"`
	// ConfigMap is what volume `config` mounts.
	ConfigMap string `json:"configMap,omitempty"`
}

// Job is the part of a live Job that decisions read.
type Job struct {
	Name string `json:"name"`
	UID  string `json:"uid,omitempty"`
	// TemplateHash is the annotation it was created with.
	TemplateHash string `json:"templateHash,omitempty"`
	// Complete and Failed are the terminal conditions; Failed wins.
	Complete bool `json:"complete,omitempty"`
	Failed   bool `json:"failed,omitempty"`
	// Failure is the reason and message of the Failed condition.
	Failure  string `json:"failure,omitempty"`
	Deleting bool   `json:"deleting,omitempty"`
	// Created and Finished bound its duration; Finished is zero while it runs.
	Created  time.Time `json:"created,omitzero"`
	Finished time.Time `json:"finished,omitzero"`
	// ConfigMap is what its pods mount.
	ConfigMap string `json:"configMap,omitempty"`
	// Report is the termination message of its pod; empty when unread or unreadable.
	Report string `json:"report,omitempty"`
}

// terminal reports whether the Job has ended.
func (j Job) terminal() bool { return j.Complete || j.Failed }

// ConfigMap is one generation of the configuration.
type ConfigMap struct {
	Name    string    `json:"name"`
	Created time.Time `json:"created,omitzero"`
	// Keys of its data, sorted.
	Keys []string `json:"keys,omitempty"`
}

// Route is the state of a live HTTPRoute.
type Route struct {
	Accepted bool `json:"accepted,omitempty"`
}

// Health is the outcome of one probe of the API.
type Health struct {
	// Code is the HTTP status; 0 when there was no answer.
	Code int `json:"code,omitempty"`
	// Body is the start of an answer that is not 2xx.
	Body string `json:"body,omitempty"`
	// Failure is a reason of NovaAPIReady when there was no answer, Error its text.
	Failure string `json:"failure,omitempty"`
	Error   string `json:"error,omitempty"`
}

package nova

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
)

// builder makes one child. It returns a literal nil for "not wanted".
type builder func(*pass) (render.Resource, error)

// child is one object a Nova owns.
type child struct {
	// id is role/kind, unique.
	id string
	// step decides it: behind a step that did not run the child is held.
	step   string
	kind   schema.GroupVersionKind
	stage  render.Stage
	policy render.Policy
	name   func(*v1alpha1.Nova) string
	build  builder
	// off says why the child is not wanted, for previews.
	off string
	// yields names a field that another manager may take; nil for none.
	yields func(*v1alpha1.Nova) string
	// data marks a child that holds data: no change of the spec removes it.
	data bool
}

// The kinds of the children.
var (
	KindSecret        = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	KindConfigMap     = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	KindService       = schema.GroupVersionKind{Version: "v1", Kind: "Service"}
	KindDeployment    = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	KindJob           = schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}
	KindCronJob       = schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "CronJob"}
	KindPDB           = schema.GroupVersionKind{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"}
	KindHPA           = schema.GroupVersionKind{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"}
	KindVPA           = schema.GroupVersionKind{Group: "autoscaling.k8s.io", Version: "v1", Kind: "VerticalPodAutoscaler"}
	KindNetworkPolicy = schema.GroupVersionKind{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"}
	KindHTTPRoute     = schema.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "HTTPRoute"}
	KindDatabase      = mariadbGroup.WithKind("Database")
	KindUser          = mariadbGroup.WithKind("User")
	KindGrant         = mariadbGroup.WithKind("Grant")
)

// Children that a step names.
const (
	childConfig         = "config"
	childContract       = "compute-config"
	childRemoteContract = "remote-compute-config"
	childDBSync         = "db-sync"
	childDBExpand       = "db-expand"
	childDBMigrate      = "db-migrate"
	childDBContract     = "db-contract"
)

// How the applier treats some of them.
var (
	exact    = render.Policy{ExactData: true}
	once     = render.Policy{CreateOnly: true}
	recreate = render.Policy{Recreate: true}
)

const (
	offConsole = "spec.consoleProxy.enabled is false"
	offPolicy  = "spec.networkPolicy is not set"
)

// children is the index of every object a Nova owns, one row each, in the order of
// the steps. The host discovery Job is made by a NovaCompute. It is filled at init
// because builders reach it through the steps.
var children []child

func init() {
	children = []child{
		{
			id: "api/connection", step: stepDBConnections, kind: KindSecret, stage: render.StageConfig, policy: exact, name: suffixed(suffixAPIConnection),
			build: derived(suffixAPIConnection, v1alpha1.ComponentAPIDBConnection, keyConnection, func(c *credentials) render.Sensitive { return c.api.dsn }),
		},
		{
			id: "cell/connection", step: stepDBConnections, kind: KindSecret, stage: render.StageConfig, policy: exact, name: suffixed(suffixConnection),
			build: derived(suffixConnection, v1alpha1.ComponentDBConnection, keyConnection, func(c *credentials) render.Sensitive { return c.cell.dsn }),
		},
		{
			id: "service-user", step: stepDBConnections, kind: KindSecret, stage: render.StageConfig, policy: exact, name: suffixed(suffixServiceUser),
			build: derived(suffixServiceUser, componentServiceUser, keyPassword, func(c *credentials) render.Sensitive { return c.servicePassword }),
		},
		{
			id: "metadata/secret", step: stepDBConnections, kind: KindSecret, stage: render.StageConfig, policy: exact, name: suffixed(suffixMetadataKey),
			build: derived(suffixMetadataKey, componentMetadataSecret, keySharedSecret, func(c *credentials) render.Sensitive { return c.metadataSecret }),
		},
		{
			id: "transport", step: stepTransport, kind: KindSecret, stage: render.StageConfig, policy: exact, name: suffixed(suffixTransport),
			build: derived(suffixTransport, v1alpha1.ComponentTransportURL, keyTransportURL, func(c *credentials) render.Sensitive { return c.transport }),
		},
		{id: childConfig, step: stepConfig, kind: KindConfigMap, stage: render.StageConfig, policy: once, build: configMap, name: suffixed(suffixConfig)},
		{id: childContract, step: stepComputeConfig, kind: KindSecret, stage: render.StageConfig, policy: exact, name: suffixed(suffixContract), build: computeContract},
		{id: childRemoteContract, step: stepComputeConfig, kind: KindSecret, stage: render.StageConfig, policy: exact, name: suffixed(suffixRemote), build: remoteContract, off: "spec.remoteCompute is not set"},

		{
			id: "api/database", step: stepDatabase, kind: KindDatabase, stage: render.StageDatabase, name: suffixed(suffixAPIDatabase), data: true,
			build: database(apiBlock, suffixed(suffixAPIDatabase), apiSchema),
		},
		{id: "api/user", step: stepDatabase, kind: KindUser, stage: render.StageDatabase, name: suffixed(suffixAPIDatabase), data: true, build: user(apiBlock)},
		{
			id: "api/grant", step: stepDatabase, kind: KindGrant, stage: render.StageDatabase, name: suffixed(suffixAPIDatabase), data: true,
			build: grant(apiBlock, suffixed(suffixAPIDatabase), apiSchema),
		},
		{
			id: "cell/database", step: stepDatabase, kind: KindDatabase, stage: render.StageDatabase, name: instanceName, data: true,
			build: database(cellBlock, instanceName, cellSchema),
		},
		{
			id: "cell0/database", step: stepDatabase, kind: KindDatabase, stage: render.StageDatabase, name: cell0Name, data: true,
			build: database(cellBlock, cell0Name, cell0Schema),
		},
		{id: "cell/user", step: stepDatabase, kind: KindUser, stage: render.StageDatabase, name: instanceName, data: true, build: user(cellBlock)},
		{
			id: "cell/grant", step: stepDatabase, kind: KindGrant, stage: render.StageDatabase, name: instanceName, data: true,
			build: grant(cellBlock, instanceName, cellSchema),
		},
		{
			id: "cell0/grant", step: stepDatabase, kind: KindGrant, stage: render.StageDatabase, name: cell0Name, data: true,
			build: grant(cellBlock, cell0Name, cell0Schema),
		},
		{id: childDBSync, step: stepDatabase, kind: KindJob, stage: render.StageJobs, policy: once, name: suffixed(suffixDBSync), build: migrationJob(childDBSync)},
		{id: childDBExpand, step: stepDatabase, kind: KindJob, stage: render.StageJobs, policy: once, name: suffixed(suffixDBExpand), build: migrationJob(childDBExpand)},
		{id: childDBMigrate, step: stepDatabase, kind: KindJob, stage: render.StageJobs, policy: once, name: suffixed(suffixDBMigrate), build: migrationJob(childDBMigrate)},
		{id: childDBContract, step: stepDatabase, kind: KindJob, stage: render.StageJobs, policy: once, name: suffixed(suffixDBContract), build: migrationJob(childDBContract)},

		{id: "conductor/deployment", step: stepConductor, kind: KindDeployment, stage: render.StageWorkloads, policy: recreate, name: conductor.name, build: deployment(&conductor)},
		{id: "scheduler/deployment", step: stepScheduler, kind: KindDeployment, stage: render.StageWorkloads, policy: recreate, name: scheduler.name, build: deployment(&scheduler)},
		{id: "metadata/deployment", step: stepMetadata, kind: KindDeployment, stage: render.StageWorkloads, policy: recreate, name: metadata.name, build: deployment(&metadata)},
		{id: "metadata/service", step: stepMetadata, kind: KindService, stage: render.StageNetwork, name: metadata.name, build: service(&metadata)},
		{id: "console/deployment", step: stepConsoleProxy, kind: KindDeployment, stage: render.StageWorkloads, policy: recreate, name: consoleProxy.name, build: deployment(&consoleProxy), off: offConsole},
		{id: "console/service", step: stepConsoleProxy, kind: KindService, stage: render.StageNetwork, name: consoleProxy.name, build: service(&consoleProxy), off: offConsole},
		{id: "api/deployment", step: stepDeployment, kind: KindDeployment, stage: render.StageWorkloads, policy: recreate, name: api.name, build: deployment(&api), yields: scaledReplicas},
		{id: "api/service", step: stepDeployment, kind: KindService, stage: render.StageNetwork, name: api.name, build: service(&api)},
		{id: "api/budget", step: stepDeployment, kind: KindPDB, stage: render.StageNetwork, name: instanceName, build: disruptionBudget},

		{id: "db-archive", step: stepDBArchive, kind: KindCronJob, stage: render.StageWorkloads, name: archiveName, build: archiveCronJob},

		{id: apiRoute.child, step: stepHTTPRoute, kind: KindHTTPRoute, stage: render.StageNetwork, name: apiRoute.name, build: httpRoute(&apiRoute), off: "spec.gateway is not set"},
		{id: metadataRoute.child, step: stepMetadataRoute, kind: KindHTTPRoute, stage: render.StageNetwork, name: metadataRoute.name, build: httpRoute(&metadataRoute), off: "spec.metadata.gateway is not set"},
		{id: consoleRoute.child, step: stepConsoleRoute, kind: KindHTTPRoute, stage: render.StageNetwork, name: consoleRoute.name, build: httpRoute(&consoleRoute), off: "spec.consoleProxy.gateway is not set or the proxy is off"},
		{id: "api/hpa", step: stepHPA, kind: KindHPA, stage: render.StageNetwork, name: instanceName, build: horizontalAutoscaler, off: "spec.autoscaling is not set"},
		{id: "conductor/vpa", step: stepVPA, kind: KindVPA, stage: render.StageNetwork, name: conductor.name, build: verticalAutoscaler(&conductor), off: "spec.conductor.deployment.verticalAutoscaling is not set"},
		{id: "scheduler/vpa", step: stepVPA, kind: KindVPA, stage: render.StageNetwork, name: scheduler.name, build: verticalAutoscaler(&scheduler), off: "spec.scheduler.deployment.verticalAutoscaling is not set"},
		{id: "metadata/vpa", step: stepVPA, kind: KindVPA, stage: render.StageNetwork, name: metadata.name, build: verticalAutoscaler(&metadata), off: "spec.metadata.deployment.verticalAutoscaling is not set"},
		{id: "console/vpa", step: stepVPA, kind: KindVPA, stage: render.StageNetwork, name: consoleProxy.name, build: verticalAutoscaler(&consoleProxy), off: "spec.consoleProxy.deployment.verticalAutoscaling is not set"},
		{id: "api/vpa", step: stepVPA, kind: KindVPA, stage: render.StageNetwork, name: api.name, build: verticalAutoscaler(&api), off: "spec.api.deployment.verticalAutoscaling is not set"},
		{id: "network-policy", step: stepNetworkPolicy, kind: KindNetworkPolicy, stage: render.StageNetwork, name: instanceName, build: networkPolicy, off: offPolicy},
		{id: "console/network-policy", step: stepNetworkPolicy, kind: KindNetworkPolicy, stage: render.StageNetwork, name: consoleProxy.name, build: consolePolicy, off: offPolicy + ", or " + offConsole},
	}
}

// Kinds lists every kind a Nova owns, for watches and the sweep of a target cluster.
func Kinds() []schema.GroupVersionKind {
	seen := map[schema.GroupVersionKind]bool{}
	var kinds []schema.GroupVersionKind
	for _, c := range children {
		if !seen[c.kind] {
			seen[c.kind] = true
			kinds = append(kinds, c.kind)
		}
	}
	return kinds
}

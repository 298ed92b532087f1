package nova

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/pipeline"
)

type (
	// builder makes one child. It returns a literal nil for "not wanted".
	builder = func(*pass) (render.Resource, error)
	child   = pipeline.Child[*v1alpha1.Nova, *pass]
	step    = pipeline.Step[*pass]
)

// Children that a step names.
const (
	childConfig         = "config"
	childContract       = "compute-config"
	childRemoteContract = "remote-compute-config"
	childDBInspect      = "db-inspect"
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

// index is the pipeline and every object a Nova owns, one row each, in the order of the
// steps. The host discovery Job is made by a NovaCompute.
var index = pipeline.Index[*v1alpha1.Nova, *pass]{
	Kind:       v1alpha1.GroupVersion.WithKind(v1alpha1.KindNova),
	Conditions: v1alpha1.NovaConditions(),
	Steps:      steps,
	Release:    release,
	Deletion:   deletion,
	Children: []child{
		{
			ID: "api/connection", Step: stepDBConnections, Kind: render.KindSecret, Stage: render.StageConfig, Policy: exact, Name: suffixed(suffixAPIConnection),
			Build: derived(suffixAPIConnection, v1alpha1.ComponentAPIDBConnection, keyConnection, func(c *credentials) render.Sensitive { return c.api.dsn }),
		},
		{
			ID: "cell/connection", Step: stepDBConnections, Kind: render.KindSecret, Stage: render.StageConfig, Policy: exact, Name: suffixed(suffixConnection),
			Build: derived(suffixConnection, v1alpha1.ComponentDBConnection, keyConnection, func(c *credentials) render.Sensitive { return c.cell.dsn }),
		},
		{
			ID: "service-user", Step: stepDBConnections, Kind: render.KindSecret, Stage: render.StageConfig, Policy: exact, Name: suffixed(suffixServiceUser),
			Build: derived(suffixServiceUser, componentServiceUser, keyPassword, func(c *credentials) render.Sensitive { return c.servicePassword }),
		},
		{
			ID: "metadata/secret", Step: stepDBConnections, Kind: render.KindSecret, Stage: render.StageConfig, Policy: exact, Name: suffixed(suffixMetadataKey),
			Build: derived(suffixMetadataKey, componentMetadataSecret, keySharedSecret, func(c *credentials) render.Sensitive { return c.metadataSecret }),
		},
		{
			ID: "transport", Step: stepTransport, Kind: render.KindSecret, Stage: render.StageConfig, Policy: exact, Name: suffixed(suffixTransport),
			Build: derived(suffixTransport, v1alpha1.ComponentTransportURL, keyTransportURL, func(c *credentials) render.Sensitive { return c.transport }),
		},
		{ID: childConfig, Step: stepConfig, Kind: render.KindConfigMap, Stage: render.StageConfig, Policy: once, Build: configMap, Name: suffixed(suffixConfig), Named: func(p *pass) string { return p.config.name }},
		{ID: childContract, Step: stepComputeConfig, Kind: render.KindSecret, Stage: render.StageConfig, Policy: exact, Name: suffixed(suffixContract), Build: computeContract, Unwritten: unpublished(func(s *v1alpha1.NovaStatus) **corev1.LocalObjectReference { return &s.ComputeConfigSecretRef })},
		{ID: childRemoteContract, Step: stepComputeConfig, Kind: render.KindSecret, Stage: render.StageConfig, Policy: exact, Name: suffixed(suffixRemote), Build: remoteContract, Off: "spec.remoteCompute is not set", Unwritten: unpublished(func(s *v1alpha1.NovaStatus) **corev1.LocalObjectReference { return &s.RemoteComputeConfigSecretRef })},

		{
			ID: "api/database", Step: stepDatabase, Kind: render.KindDatabase, Stage: render.StageDatabase, Name: suffixed(suffixAPIDatabase), Data: true, Outlives: retained,
			Build: database(apiBlock, suffixed(suffixAPIDatabase), apiSchema),
		},
		{ID: "api/user", Step: stepDatabase, Kind: render.KindUser, Stage: render.StageDatabase, Name: suffixed(suffixAPIDatabase), Data: true, Build: user(apiBlock)},
		{
			ID: "api/grant", Step: stepDatabase, Kind: render.KindGrant, Stage: render.StageDatabase, Name: suffixed(suffixAPIDatabase), Data: true,
			Build: grant(apiBlock, suffixed(suffixAPIDatabase), apiSchema),
		},
		{
			ID: "cell/database", Step: stepDatabase, Kind: render.KindDatabase, Stage: render.StageDatabase, Name: instanceName, Data: true, Outlives: retained,
			Build: database(cellBlock, instanceName, cellSchema),
		},
		{
			ID: "cell0/database", Step: stepDatabase, Kind: render.KindDatabase, Stage: render.StageDatabase, Name: cell0Name, Data: true, Outlives: retained,
			Build: database(cellBlock, cell0Name, cell0Schema),
		},
		{ID: "cell/user", Step: stepDatabase, Kind: render.KindUser, Stage: render.StageDatabase, Name: instanceName, Data: true, Build: user(cellBlock)},
		{
			ID: "cell/grant", Step: stepDatabase, Kind: render.KindGrant, Stage: render.StageDatabase, Name: instanceName, Data: true,
			Build: grant(cellBlock, instanceName, cellSchema),
		},
		{
			ID: "cell0/grant", Step: stepDatabase, Kind: render.KindGrant, Stage: render.StageDatabase, Name: cell0Name, Data: true,
			Build: grant(cellBlock, cell0Name, cell0Schema),
		},
		{ID: childDBInspect, Step: stepDatabase, Kind: render.KindJob, Stage: render.StageJobs, Policy: once, Name: suffixed(suffixDBInspect), Build: migrationJob(childDBInspect), Outside: noInspection},
		{ID: childDBSync, Step: stepDatabase, Kind: render.KindJob, Stage: render.StageJobs, Policy: once, Name: suffixed(suffixDBSync), Build: migrationJob(childDBSync)},
		{ID: childDBExpand, Step: stepDatabase, Kind: render.KindJob, Stage: render.StageJobs, Policy: once, Name: suffixed(suffixDBExpand), Build: migrationJob(childDBExpand), Outside: noUpgrade},
		{ID: childDBMigrate, Step: stepDatabase, Kind: render.KindJob, Stage: render.StageJobs, Policy: once, Name: suffixed(suffixDBMigrate), Build: migrationJob(childDBMigrate), Outside: noUpgrade},
		{ID: childDBContract, Step: stepDatabase, Kind: render.KindJob, Stage: render.StageJobs, Policy: once, Name: suffixed(suffixDBContract), Build: migrationJob(childDBContract), Outside: noUpgrade},

		{ID: "conductor/deployment", Step: stepConductor, Kind: render.KindDeployment, Stage: render.StageWorkloads, Policy: recreate, Name: conductor.name, Build: deployment(&conductor)},
		{ID: "scheduler/deployment", Step: stepScheduler, Kind: render.KindDeployment, Stage: render.StageWorkloads, Policy: recreate, Name: scheduler.name, Build: deployment(&scheduler)},
		{ID: "metadata/deployment", Step: stepMetadata, Kind: render.KindDeployment, Stage: render.StageWorkloads, Policy: recreate, Name: metadata.name, Build: deployment(&metadata)},
		{ID: "metadata/service", Step: stepMetadata, Kind: render.KindService, Stage: render.StageNetwork, Name: metadata.name, Build: service(&metadata)},
		{ID: "console/deployment", Step: stepConsoleProxy, Kind: render.KindDeployment, Stage: render.StageWorkloads, Policy: recreate, Name: consoleProxy.name, Build: deployment(&consoleProxy), Off: offConsole},
		{ID: "console/service", Step: stepConsoleProxy, Kind: render.KindService, Stage: render.StageNetwork, Name: consoleProxy.name, Build: service(&consoleProxy), Off: offConsole},
		{ID: "api/deployment", Step: stepDeployment, Kind: render.KindDeployment, Stage: render.StageWorkloads, Policy: recreate, Name: api.name, Build: deployment(&api), Yields: scaledReplicas},
		{ID: "api/service", Step: stepDeployment, Kind: render.KindService, Stage: render.StageNetwork, Name: api.name, Build: service(&api)},
		{ID: "api/budget", Step: stepDeployment, Kind: render.KindPDB, Stage: render.StageNetwork, Name: instanceName, Build: disruptionBudget},

		{ID: "db-archive", Step: stepDBArchive, Kind: render.KindCronJob, Stage: render.StageWorkloads, Name: archiveName, Build: archiveCronJob},

		{ID: apiRoute.child, Step: stepHTTPRoute, Kind: render.KindHTTPRoute, Stage: render.StageNetwork, Name: apiRoute.name, Build: httpRoute(&apiRoute), Off: "spec.gateway is not set"},
		{ID: metadataRoute.child, Step: stepMetadataRoute, Kind: render.KindHTTPRoute, Stage: render.StageNetwork, Name: metadataRoute.name, Build: httpRoute(&metadataRoute), Off: "spec.metadata.gateway is not set"},
		{ID: consoleRoute.child, Step: stepConsoleRoute, Kind: render.KindHTTPRoute, Stage: render.StageNetwork, Name: consoleRoute.name, Build: httpRoute(&consoleRoute), Off: "spec.consoleProxy.gateway is not set or the proxy is off"},
		{ID: "api/hpa", Step: stepHPA, Kind: render.KindHPA, Stage: render.StageNetwork, Name: instanceName, Build: horizontalAutoscaler, Off: "spec.autoscaling is not set"},
		{ID: "conductor/vpa", Step: stepVPA, Kind: render.KindVPA, Stage: render.StageNetwork, Name: conductor.name, Build: verticalAutoscaler(&conductor), Off: "spec.conductor.deployment.verticalAutoscaling is not set"},
		{ID: "scheduler/vpa", Step: stepVPA, Kind: render.KindVPA, Stage: render.StageNetwork, Name: scheduler.name, Build: verticalAutoscaler(&scheduler), Off: "spec.scheduler.deployment.verticalAutoscaling is not set"},
		{ID: "metadata/vpa", Step: stepVPA, Kind: render.KindVPA, Stage: render.StageNetwork, Name: metadata.name, Build: verticalAutoscaler(&metadata), Off: "spec.metadata.deployment.verticalAutoscaling is not set"},
		{ID: "console/vpa", Step: stepVPA, Kind: render.KindVPA, Stage: render.StageNetwork, Name: consoleProxy.name, Build: verticalAutoscaler(&consoleProxy), Off: "spec.consoleProxy.deployment.verticalAutoscaling is not set"},
		{ID: "api/vpa", Step: stepVPA, Kind: render.KindVPA, Stage: render.StageNetwork, Name: api.name, Build: verticalAutoscaler(&api), Off: "spec.api.deployment.verticalAutoscaling is not set"},
		{ID: "network-policy", Step: stepNetworkPolicy, Kind: render.KindNetworkPolicy, Stage: render.StageNetwork, Name: instanceName, Build: networkPolicy, Off: offPolicy},
		{ID: "console/network-policy", Step: stepNetworkPolicy, Kind: render.KindNetworkPolicy, Stage: render.StageNetwork, Name: consoleProxy.name, Build: consolePolicy, Off: offPolicy + ", or " + offConsole},
	},
}

// About is what shells, metrics and explanations ask about the kind.
func About() pipeline.Kind { return index.Untyped() }

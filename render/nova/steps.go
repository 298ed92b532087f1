package nova

import "github.com/c5c3/nova-operator/api/v1alpha1"

// step is one unit of conditions, metrics and short-circuiting.
type step struct {
	// name is the sub_reconciler label of the metrics.
	name string
	// condition is the one it turns.
	condition string
	// group members all run, and none of them ends the pass.
	group bool
	run   func(*pass)
}

// The step names, which are labels of metrics and the link from a child to its step.
const (
	stepSecrets       = "Secrets"
	stepDBConnections = "DBConnectionSecrets"
	stepTransport     = "TransportURLSecret"
	stepConfig        = "Config"
	stepComputeConfig = "ComputeConfig"
	stepDatabase      = "Database"
	stepConductor     = "Conductor"
	stepScheduler     = "Scheduler"
	stepMetadata      = "Metadata"
	stepConsoleProxy  = "ConsoleProxy"
	stepDeployment    = "Deployment"
	stepDBArchive     = "DBArchive"
	stepHTTPRoute     = "HTTPRoute"
	stepMetadataRoute = "MetadataHTTPRoute"
	stepConsoleRoute  = "ConsoleHTTPRoute"
	stepHealthCheck   = "HealthCheck"
	stepHPA           = "HPA"
	stepVPA           = "VPA"
	stepNetworkPolicy = "NetworkPolicy"
)

// steps is the pipeline: a step runs when none before it ended the pass. It is filled
// at init because steps read the index of children, which names steps.
var steps []step

func init() {
	steps = []step{
		{name: stepSecrets, condition: v1alpha1.ConditionSecretsReady, run: secretsStep},
		{name: stepDBConnections, condition: v1alpha1.ConditionSecretsReady, run: dbConnectionsStep},
		{name: stepTransport, condition: v1alpha1.ConditionSecretsReady, run: transportStep},
		{name: stepConfig, condition: v1alpha1.ConditionSecretsReady, run: configStep},
		{name: stepComputeConfig, condition: v1alpha1.ConditionComputeConfigReady, run: computeConfigStep},
		{name: stepDatabase, condition: v1alpha1.ConditionDatabaseReady, run: databaseStep},
		{name: stepConductor, condition: v1alpha1.ConditionConductorReady, run: roleStep(&conductor)},
		{name: stepScheduler, condition: v1alpha1.ConditionSchedulerReady, run: roleStep(&scheduler)},
		{name: stepMetadata, condition: v1alpha1.ConditionMetadataReady, run: roleStep(&metadata)},
		{name: stepConsoleProxy, condition: v1alpha1.ConditionConsoleProxyReady, run: consoleProxyStep},
		{name: stepDeployment, condition: v1alpha1.ConditionDeploymentReady, run: deploymentStep},
		{name: stepDBArchive, condition: v1alpha1.ConditionDBArchiveReady, run: dbArchiveStep},
		{name: stepHTTPRoute, condition: v1alpha1.ConditionHTTPRouteReady, group: true, run: routeStep(&apiRoute)},
		{name: stepMetadataRoute, condition: v1alpha1.ConditionMetadataHTTPRouteReady, group: true, run: routeStep(&metadataRoute)},
		{name: stepConsoleRoute, condition: v1alpha1.ConditionConsoleHTTPRouteReady, group: true, run: routeStep(&consoleRoute)},
		{name: stepHealthCheck, condition: v1alpha1.ConditionNovaAPIReady, group: true, run: healthStep},
		{name: stepHPA, condition: v1alpha1.ConditionHPAReady, group: true, run: hpaStep},
		{name: stepVPA, condition: v1alpha1.ConditionVPAReady, group: true, run: vpaStep},
		{name: stepNetworkPolicy, condition: v1alpha1.ConditionNetworkPolicyReady, group: true, run: networkPolicyStep},
	}
}

// StepInfo is a step as metrics and explanations name it.
type StepInfo struct {
	// Name is the sub_reconciler label, Condition the one the step turns.
	Name, Condition string
}

// Steps lists the steps in the order of a pass.
func Steps() []StepInfo {
	out := make([]StepInfo, len(steps))
	for i, s := range steps {
		out[i] = StepInfo{s.name, s.condition}
	}
	return out
}

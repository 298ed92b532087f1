package nova

import (
	"github.com/c5c3/nova-operator/api/v1alpha1"
)

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

// steps is the pipeline: a step runs when none before it ended the pass.
var steps = []step{
	{Name: stepSecrets, Condition: v1alpha1.ConditionSecretsReady, Run: secretsStep},
	{Name: stepDBConnections, Condition: v1alpha1.ConditionSecretsReady, Unwritten: v1alpha1.ReasonConfigError, Run: dbConnectionsStep},
	{Name: stepTransport, Condition: v1alpha1.ConditionSecretsReady, Unwritten: v1alpha1.ReasonConfigError, Run: transportStep},
	{Name: stepConfig, Condition: v1alpha1.ConditionSecretsReady, Unwritten: v1alpha1.ReasonConfigError, Run: configStep},
	{Name: stepComputeConfig, Condition: v1alpha1.ConditionComputeConfigReady, Unwritten: v1alpha1.ReasonComputeConfigError, Run: computeConfigStep},
	{Name: stepDatabase, Condition: v1alpha1.ConditionDatabaseReady, Run: databaseStep},
	{Name: stepConductor, Condition: v1alpha1.ConditionConductorReady, Run: roleStep(&conductor)},
	{Name: stepScheduler, Condition: v1alpha1.ConditionSchedulerReady, Run: roleStep(&scheduler)},
	{Name: stepMetadata, Condition: v1alpha1.ConditionMetadataReady, Run: roleStep(&metadata)},
	{Name: stepConsoleProxy, Condition: v1alpha1.ConditionConsoleProxyReady, Run: consoleProxyStep},
	{Name: stepDeployment, Condition: v1alpha1.ConditionDeploymentReady, Run: deploymentStep},
	{Name: stepDBArchive, Condition: v1alpha1.ConditionDBArchiveReady, Run: dbArchiveStep},
	{Name: stepHTTPRoute, Condition: v1alpha1.ConditionHTTPRouteReady, Group: true, Run: routeStep(&apiRoute)},
	{Name: stepMetadataRoute, Condition: v1alpha1.ConditionMetadataHTTPRouteReady, Group: true, Run: routeStep(&metadataRoute)},
	{Name: stepConsoleRoute, Condition: v1alpha1.ConditionConsoleHTTPRouteReady, Group: true, Run: routeStep(&consoleRoute)},
	{Name: stepHealthCheck, Condition: v1alpha1.ConditionNovaAPIReady, Group: true, Run: healthStep},
	{Name: stepHPA, Condition: v1alpha1.ConditionHPAReady, Group: true, Run: hpaStep},
	{Name: stepVPA, Condition: v1alpha1.ConditionVPAReady, Unwritten: v1alpha1.ReasonVPAError, Group: true, Run: vpaStep},
	{Name: stepNetworkPolicy, Condition: v1alpha1.ConditionNetworkPolicyReady, Group: true, Run: networkPolicyStep},
}

// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Condition types of a Nova, in the order of a pass.
const (
	// ConditionSecretsReady tells whether every credential is there and the configuration
	// renders.
	ConditionSecretsReady = "SecretsReady"

	// ConditionComputeConfigReady tells whether the compute contracts are published.
	ConditionComputeConfigReady = "ComputeConfigReady"

	// ConditionDatabaseReady tells whether both schemas are provisioned and at the wanted
	// release.
	ConditionDatabaseReady = "DatabaseReady"

	// ConditionConductorReady tells whether the conductor Deployment is available.
	ConditionConductorReady = "ConductorReady"

	// ConditionSchedulerReady tells whether the scheduler Deployment is available.
	ConditionSchedulerReady = "SchedulerReady"

	// ConditionMetadataReady tells whether the metadata API Deployment is available.
	ConditionMetadataReady = "MetadataReady"

	// ConditionConsoleProxyReady tells whether the console proxy is available, or switched
	// off.
	ConditionConsoleProxyReady = "ConsoleProxyReady"

	// ConditionDeploymentReady tells whether the API Deployment is available.
	ConditionDeploymentReady = "DeploymentReady"

	// ConditionDBArchiveReady tells whether the archive of soft-deleted rows runs as
	// scheduled.
	ConditionDBArchiveReady = "DBArchiveReady"

	// ConditionNovaAPIReady tells whether the compute API answers.
	ConditionNovaAPIReady = "NovaAPIReady"

	// ConditionHPAReady tells whether the HorizontalPodAutoscaler stands as wanted.
	ConditionHPAReady = "HPAReady"

	// ConditionNetworkPolicyReady tells whether the NetworkPolicies stand as wanted.
	ConditionNetworkPolicyReady = "NetworkPolicyReady"

	// ConditionHTTPRouteReady tells whether the Gateway accepted the route of the API.
	ConditionHTTPRouteReady = "HTTPRouteReady"

	// ConditionMetadataHTTPRouteReady tells whether the Gateway accepted the route of the
	// metadata API.
	ConditionMetadataHTTPRouteReady = "MetadataHTTPRouteReady"

	// ConditionConsoleHTTPRouteReady tells whether the Gateway accepted the route of the
	// console proxy.
	ConditionConsoleHTTPRouteReady = "ConsoleHTTPRouteReady"
)

// NovaConditions returns the sixteen condition types Ready aggregates on a Nova, in the
// order of a pass.
func NovaConditions() []string {
	return []string{
		ConditionSecretsReady,
		ConditionComputeConfigReady,
		ConditionDatabaseReady,
		ConditionConductorReady,
		ConditionSchedulerReady,
		ConditionMetadataReady,
		ConditionConsoleProxyReady,
		ConditionDeploymentReady,
		ConditionDBArchiveReady,
		ConditionNovaAPIReady,
		ConditionHPAReady,
		ConditionVPAReady,
		ConditionNetworkPolicyReady,
		ConditionHTTPRouteReady,
		ConditionMetadataHTTPRouteReady,
		ConditionConsoleHTTPRouteReady,
	}
}

// Reasons of SecretsReady. ReasonTargetClusterUnavailable and ReasonConfigError belong here too.
const (
	// ReasonSecretsAvailable is True: every credential is there.
	ReasonSecretsAvailable = "SecretsAvailable"

	// ReasonSecretStoreNotReady surfaces while the store of the credentials is not Ready.
	ReasonSecretStoreNotReady = "SecretStoreNotReady"

	// ReasonClusterSecretStoreUnsupported surfaces when an operator confined to one
	// namespace is pointed at a ClusterSecretStore, which it must not read.
	ReasonClusterSecretStoreUnsupported = "ClusterSecretStoreUnsupported"

	// ReasonWaitingForDBCredentials surfaces while the credentials of either schema are
	// missing or incomplete.
	ReasonWaitingForDBCredentials = "WaitingForDBCredentials"

	// ReasonWaitingForServiceUserCredentials surfaces while the password of the Keystone
	// account is missing.
	ReasonWaitingForServiceUserCredentials = "WaitingForServiceUserCredentials"

	// ReasonWaitingForMetadataSharedSecret surfaces while the shared secret of the
	// metadata agent is missing.
	ReasonWaitingForMetadataSharedSecret = "WaitingForMetadataSharedSecret"

	// ReasonMetadataSharedSecretEmpty surfaces when the shared secret is empty: nova would
	// accept forged signatures made with it.
	ReasonMetadataSharedSecretEmpty = "MetadataSharedSecretEmpty"

	// ReasonWaitingForMessagingCA surfaces while the CA bundle of the broker is missing.
	ReasonWaitingForMessagingCA = "WaitingForMessagingCA"

	// ReasonWaitingForMessagingCredentials surfaces while the broker, its default user or
	// the Secret with the transport URL is missing.
	ReasonWaitingForMessagingCredentials = "WaitingForMessagingCredentials"

	// ReasonTransportURLRejected surfaces when the transport URL cannot be expanded by
	// nova: no explicit port, an IPv6 literal, or not a URL. The URL is never quoted.
	ReasonTransportURLRejected = "TransportURLRejected"
)

// Reasons of ComputeConfigReady.
const (
	// ReasonComputeConfigPublished is True: every wanted contract is written.
	ReasonComputeConfigPublished = "ComputeConfigPublished"

	// ReasonComputeConfigError surfaces when a contract holds a control character or
	// cannot be written.
	ReasonComputeConfigError = "ComputeConfigError"

	// ReasonWaitingForRemoteTransportURL surfaces while the transport URL for computes on
	// another cluster is missing; the pass goes on.
	ReasonWaitingForRemoteTransportURL = "WaitingForRemoteTransportURL"
)

// Reasons of DatabaseReady.
const (
	// ReasonDatabaseSynced is True: db-sync, or the contract phase of an upgrade, has
	// succeeded.
	ReasonDatabaseSynced = "DatabaseSynced"

	// ReasonClusterNotReady surfaces while the referenced MariaDB is not Ready.
	ReasonClusterNotReady = "ClusterNotReady"

	// ReasonWaitingForDatabase surfaces while a Database, User or Grant is not Ready.
	ReasonWaitingForDatabase = "WaitingForDatabase"

	// ReasonWaitingForConfig surfaces while no usable configuration was ever rendered.
	ReasonWaitingForConfig = "WaitingForConfig"

	// ReasonImageReleaseMismatch surfaces when the image tag names another release than
	// spec.openStackRelease.
	ReasonImageReleaseMismatch = "ImageReleaseMismatch"

	// ReasonSchemaInUse surfaces when another Nova, or a Database object of somebody else,
	// stands for the same schema. Nothing is written to it.
	ReasonSchemaInUse = "SchemaInUse"

	// ReasonSchemaReleaseUnknown surfaces when the schemas of a new Nova hold tables and
	// nothing says of which release. Nothing is written to them.
	ReasonSchemaReleaseUnknown = "SchemaReleaseUnknown"

	// ReasonDBSyncFailed surfaces when the db-sync Job failed for good, or the one that
	// looks at the schemas before it.
	ReasonDBSyncFailed = "DBSyncFailed"

	// ReasonDBSyncInProgress surfaces while the db-sync Job runs.
	ReasonDBSyncInProgress = "DBSyncInProgress"

	// ReasonVersionParseError surfaces when the installed or the wanted release does not
	// parse.
	ReasonVersionParseError = "VersionParseError"

	// ReasonDowngradeNotSupported surfaces when the wanted release is older than the
	// installed one.
	ReasonDowngradeNotSupported = "DowngradeNotSupported"

	// ReasonUpgradePathInvalid surfaces when the wanted release is not the one after the
	// installed one.
	ReasonUpgradePathInvalid = "UpgradePathInvalid"

	// ReasonUpgradeTargetChanged surfaces when spec.openStackRelease turns to a third
	// value during an upgrade.
	ReasonUpgradeTargetChanged = "UpgradeTargetChanged"

	// ReasonUpgradeAborting surfaces while an upgrade that was taken back is cleaned up:
	// its Jobs go before its state does.
	ReasonUpgradeAborting = "UpgradeAborting"

	// ReasonExpandInProgress surfaces while the expand phase runs.
	ReasonExpandInProgress = "ExpandInProgress"

	// ReasonMigrateInProgress surfaces while the migrate phase runs.
	ReasonMigrateInProgress = "MigrateInProgress"

	// ReasonUpgradeRollingUpdate surfaces while the roles roll onto the new image.
	ReasonUpgradeRollingUpdate = "UpgradeRollingUpdate"

	// ReasonContractInProgress surfaces while the contract phase runs.
	ReasonContractInProgress = "ContractInProgress"

	// ReasonExpandFailed surfaces when the expand Job failed for good.
	ReasonExpandFailed = "ExpandFailed"

	// ReasonMigrateFailed surfaces when the migrate Job failed for good.
	ReasonMigrateFailed = "MigrateFailed"

	// ReasonContractFailed surfaces when the contract Job failed for good.
	ReasonContractFailed = "ContractFailed"
)

// Reasons of the conditions of the five Deployments.
const (
	// ReasonConductorReady is True: the conductor Deployment is available.
	ReasonConductorReady = "ConductorReady"

	// ReasonWaitingForConductor surfaces while it is not, or while it rolls during an
	// upgrade.
	ReasonWaitingForConductor = "WaitingForConductor"

	// ReasonSchedulerReady is True: the scheduler Deployment is available.
	ReasonSchedulerReady = "SchedulerReady"

	// ReasonWaitingForScheduler surfaces while it is not, or while it rolls during an
	// upgrade.
	ReasonWaitingForScheduler = "WaitingForScheduler"

	// ReasonMetadataReady is True: the metadata API Deployment is available.
	ReasonMetadataReady = "MetadataReady"

	// ReasonWaitingForMetadata surfaces while it is not, or while it rolls during an
	// upgrade.
	ReasonWaitingForMetadata = "WaitingForMetadata"

	// ReasonConsoleProxyReady is True: the console proxy Deployment is available.
	ReasonConsoleProxyReady = "ConsoleProxyReady"

	// ReasonConsoleProxyDisabled is True: spec.consoleProxy.enabled is false.
	ReasonConsoleProxyDisabled = "ConsoleProxyDisabled"

	// ReasonWaitingForConsoleProxy surfaces while it is not, or while it rolls during an
	// upgrade.
	ReasonWaitingForConsoleProxy = "WaitingForConsoleProxy"

	// ReasonDeploymentReady is True: the API Deployment is available.
	ReasonDeploymentReady = "DeploymentReady"

	// ReasonWaitingForDeployment surfaces while it is not, or while any role still rolls
	// during an upgrade.
	ReasonWaitingForDeployment = "WaitingForDeployment"
)

// Reasons of DBArchiveReady.
const (
	// ReasonDBArchiveScheduled is True: the CronJob stands and its newest finished run did
	// not fail.
	ReasonDBArchiveScheduled = "DBArchiveScheduled"

	// ReasonDBArchiveSuspended is True: spec.dbArchive.suspend is set. It outranks a
	// failed run.
	ReasonDBArchiveSuspended = "DBArchiveSuspended"

	// ReasonDBArchiveJobFailed surfaces when the newest finished run failed.
	ReasonDBArchiveJobFailed = "DBArchiveJobFailed"
)

// Reasons of NovaAPIReady.
const (
	// ReasonAPIHealthy is True: the version document was served.
	ReasonAPIHealthy = "APIHealthy"

	// ReasonAPIUnhealthy surfaces when the API answers with an error status.
	ReasonAPIUnhealthy = "APIUnhealthy"

	// ReasonEndpointNotReady surfaces while the endpoint is not known or does not resolve.
	ReasonEndpointNotReady = "EndpointNotReady"

	// ReasonHealthCheckTimeout surfaces when the API does not answer in time.
	ReasonHealthCheckTimeout = "HealthCheckTimeout"

	// ReasonConnectionFailed surfaces when no connection is made.
	ReasonConnectionFailed = "ConnectionFailed"

	// ReasonHealthCheckFailed surfaces on any other failure of the probe.
	ReasonHealthCheckFailed = "HealthCheckFailed"
)

// Reasons of HPAReady, NetworkPolicyReady and the three HTTPRoute conditions.
const (
	// ReasonHPAReady is True: the HorizontalPodAutoscaler is configured.
	ReasonHPAReady = "HPAReady"

	// ReasonHPANotRequired is True: spec.autoscaling is not set.
	ReasonHPANotRequired = "HPANotRequired"

	// ReasonNetworkPolicyReady is True: the NetworkPolicies are configured.
	ReasonNetworkPolicyReady = "NetworkPolicyReady"

	// ReasonNetworkPolicyNotRequired is True: spec.networkPolicy is not set.
	ReasonNetworkPolicyNotRequired = "NetworkPolicyNotRequired"

	// ReasonHTTPRouteAccepted is True: the Gateway accepted the route.
	ReasonHTTPRouteAccepted = "HTTPRouteAccepted"

	// ReasonHTTPRouteNotRequired is True: the block has no gateway.
	ReasonHTTPRouteNotRequired = "HTTPRouteNotRequired"

	// ReasonHTTPRouteNotAccepted surfaces while the Gateway has not accepted the route.
	ReasonHTTPRouteNotAccepted = "HTTPRouteNotAccepted"

	// ReasonGatewayAPINotInstalled surfaces when a gateway is set and the cluster does not
	// serve the HTTPRoute kind.
	ReasonGatewayAPINotInstalled = "GatewayAPINotInstalled"
)

// Event reasons of a Nova, besides those both kinds use.
const (
	// EventReleaseAdopted (Normal): the schemas of a new Nova are at a release that is
	// known, and it goes on from there.
	EventReleaseAdopted = "ReleaseAdopted"

	// EventDatabaseSynced (Normal): the db-sync Job is complete.
	EventDatabaseSynced = "DatabaseSynced"

	// EventDBSyncFailed (Warning): the db-sync Job failed for good.
	EventDBSyncFailed = "DBSyncFailed"

	// EventDBSyncMetricEmissionDeferred (Warning): the annotation that counts a migration
	// Job once could not be written.
	EventDBSyncMetricEmissionDeferred = "DBSyncMetricEmissionDeferred"

	// EventCellsReportUnavailable (Normal): a complete db-sync left no readable cell map.
	EventCellsReportUnavailable = "CellsReportUnavailable"

	// EventCellsReportEmissionDeferred (Warning): the annotation that records the cell map
	// once could not be written.
	EventCellsReportEmissionDeferred = "CellsReportEmissionDeferred"

	// EventDBArchiveJobFailed (Warning): the newest finished archive run failed.
	EventDBArchiveJobFailed = "DBArchiveJobFailed"

	// EventDBArchiveMetricEmissionDeferred (Warning): the annotation that counts an
	// archive run once could not be written.
	EventDBArchiveMetricEmissionDeferred = "DBArchiveMetricEmissionDeferred"

	// EventUpgradeInitiated (Normal): an accepted change of the release.
	EventUpgradeInitiated = "UpgradeInitiated"

	// EventExpandComplete (Normal): the expand Job succeeded.
	EventExpandComplete = "ExpandComplete"

	// EventUpgradeCheckCompleted (Normal): nova-status upgrade check exited 0, or its exit
	// code is unreadable.
	EventUpgradeCheckCompleted = "UpgradeCheckCompleted"

	// EventUpgradeCheckWarnings (Warning): nova-status upgrade check exited with anything
	// else.
	EventUpgradeCheckWarnings = "UpgradeCheckWarnings"

	// EventUpgradeCheckEventEmissionDeferred (Warning): the annotation that reports the
	// check once could not be written.
	EventUpgradeCheckEventEmissionDeferred = "UpgradeCheckEventEmissionDeferred"

	// EventMigrateComplete (Normal): the migrate Job succeeded.
	EventMigrateComplete = "MigrateComplete"

	// EventDeploymentRolloutComplete (Normal): every role runs the new image; the contract
	// phase begins.
	EventDeploymentRolloutComplete = "DeploymentRolloutComplete"

	// EventUpgradeComplete (Normal): the contract Job succeeded.
	EventUpgradeComplete = "UpgradeComplete"

	// EventUpgradeAborted (Normal): the release was set back to the installed one during
	// an upgrade.
	EventUpgradeAborted = "UpgradeAborted"

	// EventVersionParseError (Warning): the installed or the wanted release does not
	// parse.
	EventVersionParseError = "VersionParseError"

	// EventDowngradeNotSupported (Warning): the wanted release is older.
	EventDowngradeNotSupported = "DowngradeNotSupported"

	// EventUpgradePathInvalid (Warning): the wanted release is more than one step away.
	EventUpgradePathInvalid = "UpgradePathInvalid"

	// EventUpgradeTargetChanged (Warning): a third release during an upgrade.
	EventUpgradeTargetChanged = "UpgradeTargetChanged"

	// EventExpandFailed (Warning): the expand Job failed for good.
	EventExpandFailed = "ExpandFailed"

	// EventMigrateFailed (Warning): the migrate Job failed for good.
	EventMigrateFailed = "MigrateFailed"

	// EventContractFailed (Warning): the contract Job failed for good.
	EventContractFailed = "ContractFailed"

	// EventFinalizingDatabase (Normal): deletion marks the MariaDB objects of both
	// schemas.
	EventFinalizingDatabase = "FinalizingDatabase"

	// EventDatabaseFinalized (Normal): all of them are marked; the finalizer goes.
	EventDatabaseFinalized = "DatabaseFinalized"
)

// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Nova is the control plane of OpenStack Compute: API, metadata API, scheduler,
// conductor, console proxy and their databases.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=novas,scope=Namespaced
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=='Ready')].status`
// +kubebuilder:printcolumn:name="Release",type=string,JSONPath=`.status.installedRelease`
// +kubebuilder:printcolumn:name="Endpoint",type=string,JSONPath=`.status.endpoint`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Nova struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what the owner wants.
	Spec NovaSpec `json:"spec"`

	// Status is what the operator saw last. Until its first pass the observed generation
	// is none, so that nobody takes a new resource for one that is up.
	//
	// +optional
	// +kubebuilder:default={"observedGeneration":-1}
	Status NovaStatus `json:"status,omitzero"`
}

// NovaList is a list of Nova.
//
// +kubebuilder:object:root=true
type NovaList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Nova `json:"items"`
}

// DatabaseDeletionPolicy is what becomes of managed databases when their Nova goes.
type DatabaseDeletionPolicy string

// Values of DatabaseDeletionPolicy. Empty reads as Retain.
const (
	DatabaseRetain DatabaseDeletionPolicy = "Retain"
	DatabaseDelete DatabaseDeletionPolicy = "Delete"
)

// NovaSpec is the wanted control plane.
//
// +kubebuilder:validation:XValidation:rule="has(self.targetClusterRef) == has(oldSelf.targetClusterRef)",message="targetClusterRef is immutable"
// +kubebuilder:validation:XValidation:rule="self.apiDatabase.database != self.database.database",message="apiDatabase and database must name different schemas"
// +kubebuilder:validation:XValidation:rule="self.apiDatabase.database != self.database.database + '_cell0'",message="apiDatabase must not name the cell0 schema derived from database"
// +kubebuilder:validation:XValidation:rule="(has(self.apiDatabase.credentialsMode) ? self.apiDatabase.credentialsMode : 'Static') == (has(self.database.credentialsMode) ? self.database.credentialsMode : 'Static')",message="apiDatabase and database must use the same credentialsMode"
// +kubebuilder:validation:XValidation:rule="!has(self.remoteCompute) || has(self.messaging.tls)",message="remoteCompute requires messaging.tls: a compute on another cluster verifies the broker against the messaging CA bundle"
// +kubebuilder:validation:XValidation:rule="!has(self.autoscaling) || !has(self.api) || !has(self.api.deployment) || !has(self.api.deployment.verticalAutoscaling)",message="spec.api.deployment.verticalAutoscaling cannot be set while spec.autoscaling scales the same Deployment"
type NovaSpec struct {
	// OpenStackRelease to install or to upgrade to, such as 2026.1. It drives the
	// release on its own, whatever the image's tag.
	//
	// +kubebuilder:validation:Pattern=`^\d{4}\.[12]$`
	OpenStackRelease string `json:"openStackRelease"`

	// Image of every Deployment, Job and CronJob.
	Image ImageSpec `json:"image"`

	// APIDatabase is the schema with the cell map, flavors, instance and host mappings.
	//
	// +kubebuilder:validation:XValidation:rule="self.database == oldSelf.database",message="apiDatabase.database is immutable: the schema holds the cell map and every instance mapping"
	// +kubebuilder:validation:XValidation:rule="has(self.clusterRef) == has(oldSelf.clusterRef)",message="apiDatabase mode (managed clusterRef vs brownfield host) is immutable"
	APIDatabase DatabaseSpec `json:"apiDatabase"`

	// Database is the schema of the cell. Its login also owns <database>_cell0.
	//
	// +kubebuilder:validation:XValidation:rule="self.database == oldSelf.database",message="database.database is immutable: the cell mappings store the schema name"
	// +kubebuilder:validation:XValidation:rule="has(self.clusterRef) == has(oldSelf.clusterRef)",message="database mode (managed clusterRef vs brownfield host) is immutable"
	// +kubebuilder:validation:XValidation:rule="size(self.database) <= 58",message="database.database must be at most 58 characters: cell0 is provisioned as <database>_cell0 under the 64-character schema limit"
	Database DatabaseSpec `json:"database"`

	// DatabaseDeletionPolicy says what becomes of managed databases when this resource is
	// deleted. Retain, also when unset, leaves its Database objects, and the schemas behind
	// them; its logins go. Delete drops the schemas.
	//
	// +optional
	// +kubebuilder:validation:Enum=Retain;Delete
	DatabaseDeletionPolicy DatabaseDeletionPolicy `json:"databaseDeletionPolicy,omitempty"`

	// DeletionProtection keeps the operator from finalizing this resource: one that was
	// deleted all the same stays, and its pods run on, until this is false.
	//
	// +optional
	DeletionProtection bool `json:"deletionProtection,omitempty"`

	// AdoptRelease is the release that last ran on the schemas of a resource that is new
	// and finds tables in them, such as 2025.2. The operator goes on from there as from an
	// installation of its own. It counts only while status.installedRelease is empty.
	//
	// +optional
	// +kubebuilder:validation:Pattern=`^\d{4}\.[12]$`
	AdoptRelease string `json:"adoptRelease,omitempty"`

	// Cache is the memcached of the token middleware and of nova.
	Cache CacheSpec `json:"cache"`

	// Messaging is the RabbitMQ bus.
	Messaging MessagingSpec `json:"messaging"`

	// API is the compute API.
	//
	// +optional
	// +kubebuilder:default={}
	API NovaAPISpec `json:"api,omitzero"`

	// Metadata is the metadata API.
	Metadata NovaMetadataSpec `json:"metadata"`

	// Scheduler of the control plane.
	//
	// +optional
	// +kubebuilder:default={}
	Scheduler NovaSchedulerSpec `json:"scheduler,omitzero"`

	// Conductor of the control plane.
	//
	// +optional
	// +kubebuilder:default={}
	Conductor NovaConductorSpec `json:"conductor,omitzero"`

	// ConsoleProxy is the noVNC proxy.
	//
	// +optional
	// +kubebuilder:default={}
	ConsoleProxy NovaConsoleProxySpec `json:"consoleProxy,omitzero"`

	// Jobs sizes and places the pods of every Job and CronJob.
	//
	// +optional
	Jobs *JobSpec `json:"jobs,omitempty"`

	// KeystoneEndpoint is the internal URL of Keystone; it must resolve from the pods.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:Pattern=`^https?://`
	KeystoneEndpoint string `json:"keystoneEndpoint"`

	// KeystonePublicEndpoint is the URL clients are sent to for a token. Unset is
	// keystoneEndpoint.
	//
	// +optional
	// +kubebuilder:validation:Pattern=`^https?://`
	KeystonePublicEndpoint string `json:"keystonePublicEndpoint,omitempty"`

	// RemoteCompute publishes a second compute contract, for computes on another
	// cluster. It needs messaging.tls.
	//
	// +optional
	RemoteCompute *NovaRemoteComputeSpec `json:"remoteCompute,omitempty"`

	// ServiceUser is the Keystone account of nova.
	ServiceUser ServiceUserSpec `json:"serviceUser"`

	// Region of the service catalog. Unset leaves region_name out everywhere.
	//
	// +optional
	Region string `json:"region,omitempty"`

	// Endpoints of the services nova calls.
	//
	// +optional
	// +kubebuilder:default={}
	Endpoints NovaEndpointsSpec `json:"endpoints,omitzero"`

	// DBArchive tunes the recurring archive of soft-deleted rows, which runs even when
	// this is unset.
	//
	// +optional
	DBArchive *DBArchiveSpec `json:"dbArchive,omitempty"`

	// Gateway publishes the compute API.
	//
	// +optional
	Gateway *GatewaySpec `json:"gateway,omitempty"`

	// NetworkPolicy isolates the pods.
	//
	// +optional
	NetworkPolicy *NetworkPolicySpec `json:"networkPolicy,omitempty"`

	// Autoscaling of the API Deployment.
	//
	// +optional
	Autoscaling *AutoscalingSpec `json:"autoscaling,omitempty"`

	// Logging of every process.
	//
	// +optional
	Logging *LoggingSpec `json:"logging,omitempty"`

	// ExtraConfig is laid over the rendered nova.conf: INI section → option → value.
	// A value is a string, a boolean, a number, or a list of these for an option that
	// may be repeated.
	//
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	ExtraConfig ExtraConfig `json:"extraConfig,omitempty"`

	// SecretStoreRef is the store whose readiness gates the credentials. Unset is the
	// ClusterSecretStore openbao-cluster-store.
	//
	// +optional
	SecretStoreRef *SecretStoreRefSpec `json:"secretStoreRef,omitempty"`

	// TargetClusterRef is the cluster that receives the children. Unset is the cluster
	// of this resource. Immutable.
	//
	// +optional
	TargetClusterRef *TargetClusterRefSpec `json:"targetClusterRef,omitempty"`
}

// NovaAPISpec is the compute API.
type NovaAPISpec struct {
	// Deployment of the API.
	//
	// +optional
	Deployment DeploymentSpec `json:"deployment,omitzero"`

	// UWSGI server of the API.
	//
	// +optional
	UWSGI *UWSGISpec `json:"uwsgi,omitempty"`
}

// NovaMetadataSpec is the metadata API.
type NovaMetadataSpec struct {
	// Deployment of the metadata API.
	//
	// +optional
	Deployment DeploymentSpec `json:"deployment,omitzero"`

	// UWSGI server of the metadata API.
	//
	// +optional
	UWSGI *UWSGISpec `json:"uwsgi,omitempty"`

	// SharedSecretRef names the Secret with the value the Neutron metadata agent signs
	// with. The mutating webhook stores shared_secret for an empty key.
	SharedSecretRef SecretRefSpec `json:"sharedSecretRef"`

	// Gateway publishes the metadata API under its own host name.
	//
	// +optional
	Gateway *GatewaySpec `json:"gateway,omitempty"`
}

// NovaSchedulerSpec is the scheduler.
type NovaSchedulerSpec struct {
	// Deployment of the scheduler.
	//
	// +optional
	Deployment DeploymentSpec `json:"deployment,omitzero"`

	// Workers is the number of worker processes of a pod. Unset is 2.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	Workers *int32 `json:"workers,omitempty"`
}

// NovaConductorSpec is the conductor.
type NovaConductorSpec struct {
	// Deployment of the conductor.
	//
	// +optional
	Deployment DeploymentSpec `json:"deployment,omitzero"`

	// Workers is the number of worker processes of a pod. Unset is 2.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	Workers *int32 `json:"workers,omitempty"`
}

// NovaConsoleProxySpec is the noVNC proxy.
//
// +kubebuilder:validation:XValidation:rule="!has(self.enabled) || self.enabled || !has(self.deployment)",message="consoleProxy.deployment must not be set when consoleProxy.enabled is false"
type NovaConsoleProxySpec struct {
	// Enabled runs the proxy. Unset is true.
	//
	// +optional
	Enabled *bool `json:"enabled,omitempty"`

	// Deployment of the proxy; absent while the proxy is disabled.
	//
	// +optional
	Deployment *DeploymentSpec `json:"deployment,omitempty"`

	// Gateway publishes the proxy under its own host name, from the root path.
	//
	// +optional
	Gateway *GatewaySpec `json:"gateway,omitempty"`
}

// IsEnabled reports whether the proxy runs; an unset switch counts as on.
func (c *NovaConsoleProxySpec) IsEnabled() bool {
	return c.Enabled == nil || *c.Enabled
}

// ServiceUserSpec is the Keystone account of nova. The mutating webhook stores the
// default of each empty field.
type ServiceUserSpec struct {
	// Username of the account, nova when empty.
	//
	// +optional
	Username string `json:"username,omitempty"`

	// ProjectName of the account, service when empty.
	//
	// +optional
	ProjectName string `json:"projectName,omitempty"`

	// UserDomainName of the account, Default when empty.
	//
	// +optional
	UserDomainName string `json:"userDomainName,omitempty"`

	// ProjectDomainName of the account, Default when empty.
	//
	// +optional
	ProjectDomainName string `json:"projectDomainName,omitempty"`

	// SecretRef names the Secret with the password, key password when empty.
	SecretRef SecretRefSpec `json:"secretRef"`
}

// NovaEndpointsSpec addresses the services nova calls. An empty override leaves the
// service to the Keystone catalog.
type NovaEndpointsSpec struct {
	// Placement service.
	//
	// +optional
	Placement EndpointSpec `json:"placement,omitzero"`

	// Neutron service.
	//
	// +optional
	Neutron EndpointSpec `json:"neutron,omitzero"`

	// Glance service.
	//
	// +optional
	Glance EndpointSpec `json:"glance,omitzero"`

	// Cinder service.
	//
	// +optional
	Cinder OptionalEndpointSpec `json:"cinder,omitzero"`

	// Barbican service.
	//
	// +optional
	Barbican OptionalEndpointSpec `json:"barbican,omitzero"`
}

// EndpointSpec addresses a service nova always calls.
type EndpointSpec struct {
	// Override is the URL used instead of the catalog's.
	//
	// +optional
	// +kubebuilder:validation:Pattern=`^https?://`
	Override string `json:"override,omitempty"`
}

// OptionalEndpointSpec addresses a service nova calls only when told to.
type OptionalEndpointSpec struct {
	// Enabled makes nova use the service.
	//
	// +optional
	Enabled bool `json:"enabled,omitempty"`

	// Override is the URL used instead of the catalog's, read only while enabled.
	//
	// +optional
	// +kubebuilder:validation:Pattern=`^https?://`
	Override string `json:"override,omitempty"`
}

// NovaRemoteComputeSpec is how computes on another cluster reach the control plane.
type NovaRemoteComputeSpec struct {
	// KeystoneEndpoint is the URL of Keystone as seen from there.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:Pattern=`^https://`
	KeystoneEndpoint string `json:"keystoneEndpoint"`

	// TransportURLSecretRef names the Secret with the transport URL of the broker's
	// external listener. The mutating webhook stores transport_url for an empty key.
	TransportURLSecretRef SecretRefSpec `json:"transportURLSecretRef"`
}

// DBArchiveSpec tunes the archive of soft-deleted rows. Its defaults are never stored.
type DBArchiveSpec struct {
	// Schedule in cron notation, descriptors included. Unset is @daily.
	//
	// +optional
	Schedule string `json:"schedule,omitempty"`

	// MaxRows moved per table and batch. Unset is 1000.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	MaxRows *int32 `json:"maxRows,omitempty"`

	// Sleep between two batches, in seconds. Unset is 1.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	Sleep *int32 `json:"sleep,omitempty"`

	// RetentionDays keeps younger rows in place. Unset moves every soft-deleted row.
	//
	// +optional
	// +kubebuilder:validation:Minimum=1
	RetentionDays *int32 `json:"retentionDays,omitempty"`

	// Suspend pauses the schedule.
	//
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// UpgradePhase is a phase of a release upgrade; empty when none runs.
//
// +kubebuilder:validation:Enum=Expanding;Migrating;RollingUpdate;Contracting
type UpgradePhase string

// The phases of an upgrade, in order.
const (
	UpgradePhaseExpanding     UpgradePhase = "Expanding"
	UpgradePhaseMigrating     UpgradePhase = "Migrating"
	UpgradePhaseRollingUpdate UpgradePhase = "RollingUpdate"
	UpgradePhaseContracting   UpgradePhase = "Contracting"
)

// NovaStatus is what the operator saw last.
type NovaStatus struct {
	// Conditions, one per step of a pass plus their aggregate.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// ObservedGeneration of the last pass that was persisted.
	//
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Endpoint of the compute API.
	//
	// +optional
	Endpoint string `json:"endpoint,omitempty"`

	// InstalledRelease is the release the schemas are at.
	//
	// +optional
	InstalledRelease string `json:"installedRelease,omitempty"`

	// TargetRelease of a running upgrade.
	//
	// +optional
	TargetRelease string `json:"targetRelease,omitempty"`

	// UpgradePhase of a running upgrade.
	//
	// +optional
	UpgradePhase UpgradePhase `json:"upgradePhase,omitempty"`

	// Cells nova has mapped, cell0 first.
	//
	// +optional
	// +listType=atomic
	Cells []CellStatus `json:"cells,omitempty"`

	// ComputeConfigSecretRef names the published compute contract.
	//
	// +optional
	ComputeConfigSecretRef *corev1.LocalObjectReference `json:"computeConfigSecretRef,omitempty"`

	// RemoteComputeConfigSecretRef names the published contract for computes on another
	// cluster.
	//
	// +optional
	RemoteComputeConfigSecretRef *corev1.LocalObjectReference `json:"remoteComputeConfigSecretRef,omitempty"`
}

// CellStatus is one row of nova's cell map.
type CellStatus struct {
	// Name of the cell.
	Name string `json:"name"`

	// UUID of the cell.
	UUID string `json:"uuid"`
}

// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Finalizers.
const (
	// FinalizerNova stays on a Nova until its MariaDB objects are marked for deletion.
	FinalizerNova = "nova.openstack.c5c3.io/finalizer"

	// FinalizerComputeDrain stays on a NovaCompute until its nodes are drained and
	// their compute services deleted.
	FinalizerComputeDrain = "nova.openstack.c5c3.io/compute-drain"

	// FinalizerRemoteChildren stays on a CR with a targetClusterRef until its
	// children are swept from that cluster, where no owner reference reaches.
	FinalizerRemoteChildren = "openstack.c5c3.io/remote-children"
)

// Recommended labels of every child, and the values they take.
const (
	LabelName      = "app.kubernetes.io/name"
	LabelInstance  = "app.kubernetes.io/instance"
	LabelComponent = "app.kubernetes.io/component"
	LabelManagedBy = "app.kubernetes.io/managed-by"

	// AppNova and ManagedByNova are the values on the children of a Nova.
	AppNova       = "nova"
	ManagedByNova = "nova-operator"

	// AppNovaCompute, ManagedByNovaCompute and ComponentNovaCompute are the values
	// on the children of a NovaCompute.
	AppNovaCompute       = "novacompute"
	ManagedByNovaCompute = "novacompute-operator"
	ComponentNovaCompute = "nova-compute"
)

// Component label values of the children of a Nova.
const (
	ComponentAPI                 = "api"
	ComponentMetadata            = "metadata"
	ComponentScheduler           = "scheduler"
	ComponentConductor           = "conductor"
	ComponentConsoleProxy        = "novncproxy"
	ComponentDBArchive           = "db-archive"
	ComponentDBSync              = "db-sync"
	ComponentDBInspect           = "db-inspect"
	ComponentDBExpand            = "db-expand"
	ComponentDBMigrate           = "db-migrate"
	ComponentDBContract          = "db-contract"
	ComponentDiscoverHosts       = "discover-hosts"
	ComponentComputeConfig       = "compute-config"
	ComponentRemoteComputeConfig = "remote-compute-config"
	ComponentDBConnection        = "db-connection"
	ComponentAPIDBConnection     = "api-db-connection"
	ComponentTransportURL        = "transport-url"
	ComponentConfig              = "config"
)

// Other labels.
const (
	// LabelConfigBase groups the generations of one immutable ConfigMap; its value
	// is the name without the hash.
	LabelConfigBase = "cobaltcore.c5c3.io/config-base"

	// LabelComputeConfigMirror marks a copy of the remote compute contract that the
	// ControlPlane placed on a compute cluster. Value "true".
	LabelComputeConfigMirror = "nova.openstack.c5c3.io/compute-config-mirror"
)

// Annotations of pod templates of a Nova: digests (SHA-256, lower-case hex) of what
// the pods read from the environment, so that a rotation rolls them.
const (
	AnnotationAPIDBConnectionHash = "nova.c5c3.io/api-db-connection-hash"
	AnnotationDBConnectionHash    = "nova.c5c3.io/db-connection-hash"
	AnnotationAuthtokenHash       = "nova.c5c3.io/authtoken-hash"
	AnnotationTransportURLHash    = "nova.c5c3.io/transport-url-hash"
	AnnotationMetadataSecretHash  = "nova.c5c3.io/metadata-secret-hash"

	// AnnotationInstalledRelease rolls every role but the API once an upgrade is
	// complete, which ends the RPC pinning of the old release.
	AnnotationInstalledRelease = "nova.c5c3.io/installed-release"

	// AnnotationComputeConfigHash is the digest of the compute contract on the pods
	// of a NovaCompute.
	AnnotationComputeConfigHash = "nova.openstack.c5c3.io/compute-config-hash"
)

// Annotations of Jobs and CRs.
const (
	// AnnotationPodSpecHash is the hash of the pod template a Job was created from.
	AnnotationPodSpecHash = "cobaltcore.c5c3.io/pod-spec-hash"

	// AnnotationDatabases names the incarnations of the Database objects that a schema Job
	// was made for, as name=UID, comma separated.
	AnnotationDatabases = "nova.openstack.c5c3.io/databases"

	// AnnotationSchemaRelease is the release the schema of a Database object is at. It
	// tells a Nova that is made anew where to go on.
	AnnotationSchemaRelease = "nova.openstack.c5c3.io/installed-release"

	// annotationLastJobUIDPrefix and annotationLastJobUIDSuffix enclose the subject
	// of an AnnotationLastJobUID.
	annotationLastJobUIDPrefix = "cobaltcore.c5c3.io/last-"
	annotationLastJobUIDSuffix = "-job-uid"
)

// Subjects of AnnotationLastJobUID.
const (
	JobSubjectDBSync        = "db-sync"
	JobSubjectDBSyncCells   = "db-sync-cells"
	JobSubjectDBInspect     = "db-inspect"
	JobSubjectDBExpand      = "db-expand"
	JobSubjectDBExpandCheck = "db-expand-check"
	JobSubjectDBMigrate     = "db-migrate"
	JobSubjectDBContract    = "db-contract"
	JobSubjectDBArchive     = "db-archive"
)

// AnnotationLastJobUID is the annotation of a Nova that holds the UID of the Job whose
// outcome was recorded last, so that each Job counts once. Subject is one of the
// JobSubject constants.
func AnnotationLastJobUID(subject string) string {
	return annotationLastJobUIDPrefix + subject + annotationLastJobUIDSuffix
}

// Labels, annotations and taints of Nodes that belong to the hypervisor operator and
// that the operator reads.
const (
	LabelVirtDriver          = "nova.openstack.cloud.sap/virt-driver"
	LabelNodeLifecycle       = "cobaltcore.cloud.sap/node-hypervisor-lifecycle"
	AnnotationCustomTraits   = "nova.openstack.cloud.sap/custom-traits"
	AnnotationNodeAggregates = "nova.openstack.cloud.sap/aggregates"
	TaintOffboarding         = "kvm.cloud.sap/offboarding"
)

package render

import "k8s.io/apimachinery/pkg/runtime/schema"

// The API groups of others.
var (
	mariadbGroup         = schema.GroupVersion{Group: "k8s.mariadb.com", Version: "v1alpha1"}
	externalSecretsGroup = schema.GroupVersion{Group: "external-secrets.io", Version: "v1"}
)

// The kinds this operator makes.
var (
	KindSecret        = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	KindConfigMap     = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	KindService       = schema.GroupVersionKind{Version: "v1", Kind: "Service"}
	KindDeployment    = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	KindDaemonSet     = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "DaemonSet"}
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

// The kinds it only reads.
var (
	KindPod                = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	KindReplicaSet         = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"}
	KindMariaDB            = mariadbGroup.WithKind("MariaDB")
	KindRabbitmqCluster    = schema.GroupVersionKind{Group: "rabbitmq.com", Version: "v1beta1", Kind: "RabbitmqCluster"}
	KindExternalSecret     = externalSecretsGroup.WithKind("ExternalSecret")
	KindSecretStore        = externalSecretsGroup.WithKind("SecretStore")
	KindClusterSecretStore = externalSecretsGroup.WithKind("ClusterSecretStore")
)

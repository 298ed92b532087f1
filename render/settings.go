package render

import corev1 "k8s.io/api/core/v1"

// Settings are what the operator process was started with, as far as decisions depend on
// it.
type Settings struct {
	// PullPolicy is --default-image-pull-policy; empty follows the image.
	PullPolicy corev1.PullPolicy `json:"pullPolicy,omitempty"`
	// OperatorNamespace may always reach the API's pods. Empty when unknown.
	OperatorNamespace string `json:"operatorNamespace,omitempty"`
	// NamespaceScoped is true with --namespace: no cluster-wide object may be read.
	NamespaceScoped bool `json:"namespaceScoped,omitempty"`
}

// FieldOwner is the field manager of every write to a cluster. Renaming it orphans every
// field it owns on running installations.
const FieldOwner = "cobaltcore-operator"

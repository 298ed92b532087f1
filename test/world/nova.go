package world

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	rendernova "github.com/c5c3/nova-operator/render/nova"
)

// Novas are the Novas. The passwords have what a URL and an INI file must escape, and no
// test uses one of them again: what replaces a Secret has to be a change.
var Novas = Kind[*v1alpha1.Nova]{
	New:     func() *v1alpha1.Nova { return &v1alpha1.Nova{} },
	Minimal: minimalNova,
	Secrets: map[string]map[string]string{
		"nova-api-db":  {"username": "u", "password": Mark + "-of-api$db"},
		"nova-db":      {"username": "u", "password": Mark + "-of-cell,db"},
		"nova-service": {"password": Mark + "-of-service\n"},
		"nova-shared":  {"shared_secret": Mark + "-of-metadata"},
	},
	Foreign:  []Foreign{{render.KindSecretStore, "store"}, {render.KindMariaDB, "mariadb"}, {render.KindRabbitmqCluster, "rabbitmq"}},
	Children: rendernova.About().Children,
	Recorder: "nova-controller",
}

// minimalNova has a store of its namespace, so that tests share no store of the cluster.
func minimalNova(namespace string) *v1alpha1.Nova {
	ref := func(name string) *corev1.LocalObjectReference { return &corev1.LocalObjectReference{Name: name} }
	secret := func(name string) v1alpha1.SecretRefSpec { return v1alpha1.SecretRefSpec{Name: name} }
	return &v1alpha1.Nova{
		ObjectMeta: metav1.ObjectMeta{Name: "nova", Namespace: namespace},
		Spec: v1alpha1.NovaSpec{
			OpenStackRelease: "2026.1",
			Image:            v1alpha1.ImageSpec{Repository: "registry.example.com/nova", Tag: "2026.1"},
			APIDatabase:      v1alpha1.DatabaseSpec{ClusterRef: ref("mariadb"), Database: "nova_api", SecretRef: secret("nova-api-db")},
			Database:         v1alpha1.DatabaseSpec{ClusterRef: ref("mariadb"), Database: "nova", SecretRef: secret("nova-db")},
			Cache:            v1alpha1.CacheSpec{ClusterRef: ref("memcached"), Backend: v1alpha1.DefaultCacheBackend},
			Messaging:        v1alpha1.MessagingSpec{ClusterRef: ref("rabbitmq")},
			KeystoneEndpoint: "http://keystone.example.com:5000/v3",
			ServiceUser:      v1alpha1.ServiceUserSpec{SecretRef: secret("nova-service")},
			Metadata:         v1alpha1.NovaMetadataSpec{SharedSecretRef: secret("nova-shared")},
			SecretStoreRef:   &v1alpha1.SecretStoreRefSpec{Kind: v1alpha1.SecretStoreKindNamespaced, Name: "store"},
		},
	}
}

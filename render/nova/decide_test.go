package nova

import (
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/c5c3/nova-operator/api/v1alpha1"
)

const minimalYAML = `
apiVersion: nova.openstack.c5c3.io/v1alpha1
kind: Nova
metadata: {name: nova, namespace: openstack}
spec:
  openStackRelease: "2026.1"
  image: {repository: registry.example.com/nova, tag: "2026.1"}
  apiDatabase: {clusterRef: {name: mariadb}, database: nova_api, secretRef: {name: nova-api-db}}
  database: {clusterRef: {name: mariadb}, database: nova, secretRef: {name: nova-db}}
  cache: {clusterRef: {name: memcached}}
  messaging: {clusterRef: {name: rabbitmq}}
  keystoneEndpoint: http://keystone.openstack.svc:5000/v3
  serviceUser: {secretRef: {name: nova-service-user}}
  metadata: {sharedSecretRef: {name: nova-metadata}}
`

func parse(t testing.TB, text string) *v1alpha1.Nova {
	t.Helper()
	n := &v1alpha1.Nova{}
	if err := yaml.UnmarshalStrict([]byte(text), n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestSettle_MinimalIsReady(t *testing.T) {
	r, placeholders := Settle(Input{Nova: parse(t, minimalYAML)})
	if r.Err != nil || len(placeholders) != 10 {
		t.Errorf("error %v, placeholders %v", r.Err, placeholders)
	}
	for _, c := range r.Conditions {
		if v1alpha1.Abnormal(c.Type, c.Status) {
			t.Errorf("%s is %s: %s", c.Type, c.Reason, c.Message)
		}
	}
}

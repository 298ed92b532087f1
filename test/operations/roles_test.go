package operations_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// excuse says why a role allows what no run asked for.
type excuse struct {
	verbs, resources string
	why              string
}

const (
	// children are what the operator makes, inputs what it only reads.
	children = "configmaps secrets services deployments.apps jobs.batch cronjobs.batch horizontalpodautoscalers.autoscaling " +
		"verticalpodautoscalers.autoscaling.k8s.io httproutes.gateway.networking.k8s.io networkpolicies.networking.k8s.io " +
		"poddisruptionbudgets.policy databases.k8s.mariadb.com users.k8s.mariadb.com grants.k8s.mariadb.com"
	inputs = "mariadbs.k8s.mariadb.com rabbitmqclusters.rabbitmq.com secretstores.external-secrets.io externalsecrets.external-secrets.io"

	implied  = "an apply that makes an object is authorized as create, too: TestRole_AnApplyThatMakesAnObjectNeedsCreate"
	lists    = "informers list where an API server does not stream lists"
	blocks   = "admission plugin OwnerReferencesPermissionEnforcement asks for it where owner references block deletion"
	contract = "granted by the contract of the kind; nothing uses it"
)

// onlyStreamed leaves out the kinds that are listed past the cache, too: Databases before
// one is made, Jobs before a configuration goes.
func onlyStreamed(kinds string) string {
	return strings.NewReplacer(" databases.k8s.mariadb.com", "", " jobs.batch", "").Replace(kinds)
}

// namespacedOnly excuses the Roles of the namespaced installation.
var namespacedOnly = []excuse{
	{"create", children, implied},
	{"list", onlyStreamed(children) + " " + inputs + " novas.nova.openstack.c5c3.io", lists},
	{"update", "novas/finalizers.nova.openstack.c5c3.io", blocks},
	{"update", children + " novas.nova.openstack.c5c3.io novas/status.nova.openstack.c5c3.io", contract},
	{"get", inputs + " novas.nova.openstack.c5c3.io novas/status.nova.openstack.c5c3.io httproutes/status.gateway.networking.k8s.io pods", contract},
	{"delete", "cronjobs.batch poddisruptionbudgets.policy", contract},
}

// clusterOnly excuses what the ClusterRole has in addition.
var clusterOnly = []excuse{
	{"list", "clustersecretstores.external-secrets.io", lists},
	{"get", "clustersecretstores.external-secrets.io", contract},
	{"list watch", "priorityclasses.scheduling.k8s.io", contract},
}

// mustUse compares the roles with what was asked for: the difference is excused, and
// every excuse is needed.
func (i *installation) mustUse(t *testing.T, used map[access][]string, excuses []excuse, concerns func(access) bool) {
	t.Helper()
	excused := map[string]string{}
	for _, e := range excuses {
		for verb := range strings.FieldsSeq(e.verbs) {
			for resource := range strings.FieldsSeq(e.resources) {
				excused[verb+" "+resource] = e.why
			}
		}
	}
	for a := range i.rules(t) {
		if !concerns(a) {
			continue
		}
		_, ok := excused[a.String()]
		switch {
		case used[a] == nil && !ok:
			t.Errorf("%s: allowed and not used", a)
		case used[a] != nil && ok:
			t.Errorf("%s: excused and used", a)
		}
		delete(excused, a.String())
	}
	for _, a := range slices.Sorted(maps.Keys(excused)) {
		t.Errorf("%s: excused and not allowed", a)
	}
}

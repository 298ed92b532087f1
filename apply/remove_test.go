package apply

import (
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/apply/diff"
	"github.com/c5c3/nova-operator/render"
)

func TestApply_AbsentAndPrune(t *testing.T) {
	e := newEnv(t)
	cm := func(name string) render.Object {
		return e.obj(render.StageConfig, render.Policy{}, strings.Replace(configMapDoc, "name: config", "name: "+name, 1))
	}
	secret := e.obj(render.StageConfig, render.Policy{}, `{apiVersion: v1, kind: Secret, metadata: {name: data}, data: {k: dg==}}`)
	e.must(desired(cm("keep"), cm("dropped"), cm("held"), cm("stale"), secret))
	if err := e.admin.Create(t.Context(), e.raw(strings.Replace(configMapDoc, "name: config", "name: bystander", 1))); err != nil {
		t.Fatal(err)
	}
	e.calls.take()
	set := render.Set{
		Desired: []render.Object{cm("keep")},
		Absent: []render.Absent{
			{Key: cm("dropped").Key(), Reason: "spec.consoleProxy.enabled is false"},
			{Key: cm("never").Key()},
			{Key: cm("bystander").Key()},
			{Key: render.Key{GroupVersionKind: schemaGVK{Group: "not.served", Version: "v1", Kind: "Thing"}, Namespace: e.ns, Name: "x"}},
		},
		Held:     []render.Held{{Key: cm("held").Key(), Gate: "WaitingForDBCredentials"}},
		Prunable: []schemaGVK{configMapKind, {Group: "not.served", Version: "v1", Kind: "Thing"}},
	}
	r := e.must(set)
	wantActions(t, r, "keep:unchanged dropped:delete bystander:foreign stale:delete held:held")
	e.wantCalls("DELETE,DELETE")
	if !r.Results[3].Prune || r.Results[1].Prune || r.Results[4].Reason != "WaitingForDBCredentials" {
		t.Errorf("results %+v", r.Results)
	}
	for name, want := range map[string]bool{"keep": true, "dropped": false, "held": true, "stale": false, "bystander": true} {
		if got := e.live(cm(name).Key()) != nil; got != want {
			t.Errorf("%s exists: %v", name, got)
		}
	}
	if e.live(secret.Key()) == nil {
		t.Error("a kind that is not prunable was pruned")
	}
	wantActions(t, e.must(set), "keep:unchanged bystander:foreign held:held")
	e.wantCalls("")
}

func TestApply_AbsentNamesOneIncarnation(t *testing.T) {
	e := newEnv(t)
	set := desired(e.obj(render.StageConfig, render.Policy{}, configMapDoc))
	e.must(set)
	key := set.Desired[0].Key()
	wantActions(t, e.must(render.Set{Absent: []render.Absent{{Key: key, UID: "another"}}}), "")
	uid := string(e.live(key).GetUID())
	wantActions(t, e.must(render.Set{Absent: []render.Absent{{Key: key, UID: uid}}}), "config:delete")
}

// TestApply_RefusedDeleteStaysKnown takes the right to delete away.
func TestApply_RefusedDeleteStaysKnown(t *testing.T) {
	e := newEnv(t)
	o := e.obj(render.StageConfig, render.Policy{}, configMapDoc)
	e.must(desired(o))
	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.ns, Name: "no-delete"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "patch", "create"}}},
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.ns, Name: "no-delete"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "no-delete"},
		Subjects:   []rbacv1.Subject{{Kind: "User", Name: "keeper", APIGroup: rbacv1.GroupName}},
	}
	for _, x := range []client.Object{role, binding} {
		if err := e.admin.Create(t.Context(), x); err != nil {
			t.Fatal(err)
		}
	}
	config := rest.CopyConfig(e.config)
	config.Impersonate.UserName = "keeper"
	e.as(config)
	for range 2 {
		r, err := e.run(render.Set{Prunable: []schemaGVK{configMapKind}})
		wantActions(t, r, "config:failed")
		wantError(t, err, diff.CauseForbidden, "prune", "config")
	}
	e.restart()
	wantActions(t, e.must(render.Set{Prunable: []schemaGVK{configMapKind}}), "config:delete")
}

package apply

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/apply/diff"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/test/cluster"
)

func TestApply_Refusals(t *testing.T) {
	e := newEnv(t)
	t.Run("missing kind", func(t *testing.T) {
		r, err := e.run(desired(
			e.obj(render.StageNetwork, render.Policy{}, `{apiVersion: not.served/v1, kind: Thing, metadata: {name: thing}}`),
			e.obj(render.StageNetwork, render.Policy{}, configMapDoc),
		))
		wantActions(t, r, "thing:failed config:create")
		wantError(t, err, diff.CauseMissingKind, "Thing.not.served", "install the definition")
	})
	t.Run("quota", func(t *testing.T) {
		quota := &corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: e.ns, Name: "q"},
			Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/secrets": resource.MustParse("0")}},
		}
		if err := e.admin.Create(t.Context(), quota); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = e.admin.Delete(t.Context(), quota) }()
		cluster.Eventually(t, "quota in force", func(ctx contextT) (bool, error) {
			err := e.admin.Get(ctx, client.ObjectKeyFromObject(quota), quota)
			return len(quota.Status.Hard) > 0, err
		})
		_, err := e.run(desired(e.obj(render.StageConfig, render.Policy{}, `{apiVersion: v1, kind: Secret, metadata: {name: quota}, stringData: {k: hunter2}}`)))
		wantError(t, err, diff.CauseQuota, "raise the quota")
	})
	t.Run("Secret values stay out of errors", func(t *testing.T) {
		_, err := e.run(desired(e.obj(render.StageConfig, render.Policy{}, `{apiVersion: v1, kind: Secret, metadata: {name: tls}, type: kubernetes.io/dockerconfigjson, stringData: {.dockerconfigjson: hunter2}}`)))
		wantError(t, err, diff.CauseInvalid, "data[.dockerconfigjson]")
		text := fmt.Sprintf("%v %+v %#v", err, err, errors.Unwrap(err))
		if strings.Contains(text, "hunter2") || strings.Contains(text, "aHVudGVyMg") {
			t.Errorf("a value shows in %s", text)
		}
	})
	t.Run("forbidden", func(t *testing.T) {
		e.as(&rest.Config{
			Host: e.config.Host, BearerToken: e.config.BearerToken, TLSClientConfig: e.config.TLSClientConfig, QPS: -1,
			Impersonate: rest.ImpersonationConfig{UserName: "nobody"},
		})
		defer e.restart()
		_, err := e.run(desired(e.obj(render.StageConfig, render.Policy{}, strings.Replace(configMapDoc, "name: config", "name: forbidden", 1))))
		wantError(t, err, diff.CauseForbidden, "nobody", "grant the permission")
	})
	t.Run("missing namespace", func(t *testing.T) {
		o := e.obj(render.StageConfig, render.Policy{}, configMapDoc)
		o.Content.SetNamespace("nowhere")
		owner := e.owner
		owner.Namespace = "nowhere"
		_, err := e.applier.Apply(t.Context(), owner, desired(o))
		wantError(t, err, diff.CauseMissingNamespace, "create the namespace")
	})
	t.Run("terminating namespace", func(t *testing.T) {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: e.ns + "-going"}, Spec: corev1.NamespaceSpec{}}
		if err := e.admin.Create(t.Context(), ns); err != nil {
			t.Fatal(err)
		}
		hold := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: "hold", Finalizers: []string{"test.c5c3.io/hold"}}}
		if err := e.admin.Create(t.Context(), hold); err != nil {
			t.Fatal(err)
		}
		if err := e.admin.Delete(t.Context(), ns); err != nil {
			t.Fatal(err)
		}
		o := e.obj(render.StageConfig, render.Policy{}, configMapDoc)
		o.Content.SetNamespace(ns.Name)
		owner := e.owner
		owner.Namespace = ns.Name
		_, err := e.applier.Apply(t.Context(), owner, desired(o))
		wantError(t, err, diff.CauseTerminatingNamespace, "wait until the namespace is gone")
		if err := e.admin.Patch(t.Context(), hold, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
			t.Fatal(err)
		}
	})
}

package nova_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/test/cluster"
)

// definitions are those of the foreign kinds the operator reads or writes.
var (
	inputKinds = []string{
		"clustersecretstores.external-secrets.io", "secretstores.external-secrets.io", "externalsecrets.external-secrets.io",
		"rabbitmqclusters.rabbitmq.com",
		"mariadbs.k8s.mariadb.com", "databases.k8s.mariadb.com", "users.k8s.mariadb.com", "grants.k8s.mariadb.com",
	}
	optionalKinds = []string{"httproutes.gateway.networking.k8s.io", "verticalpodautoscalers.autoscaling.k8s.io"}
)

var kindDefinition = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}

// undefine removes definitions and returns them.
func (w *novaWorld) undefine(names ...string) []*unstructured.Unstructured {
	w.T.Helper()
	var removed []*unstructured.Unstructured
	for _, name := range names {
		crd := &unstructured.Unstructured{}
		crd.SetGroupVersionKind(kindDefinition)
		if err := w.Client.Get(w.T.Context(), client.ObjectKey{Name: name}, crd); err != nil {
			w.T.Fatal(err)
		}
		removed = append(removed, crd)
	}
	for _, crd := range removed {
		if err := w.Client.Delete(w.T.Context(), crd); err != nil {
			w.T.Fatal(err)
		}
	}
	for _, crd := range removed {
		cluster.Eventually(w.T, crd.GetName()+" to go", func(ctx context.Context) (bool, error) {
			err := w.Client.Get(ctx, client.ObjectKeyFromObject(crd), crd.DeepCopy())
			return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
		})
	}
	return removed
}

// define installs definitions again and waits until they are served.
func (w *novaWorld) define(crds []*unstructured.Unstructured) {
	w.T.Helper()
	for _, crd := range crds {
		fresh := crd.DeepCopy()
		fresh.SetResourceVersion("")
		fresh.SetUID("")
		unstructured.RemoveNestedField(fresh.Object, "status")
		w.Create(fresh)
		cluster.Eventually(w.T, crd.GetName()+" to be served", func(ctx context.Context) (bool, error) {
			live := &unstructured.Unstructured{}
			live.SetGroupVersionKind(kindDefinition)
			if err := w.Client.Get(ctx, client.ObjectKeyFromObject(crd), live); err != nil {
				return false, err
			}
			conditions, _, _ := unstructured.NestedSlice(live.Object, "status", "conditions")
			return strings.Contains(fmt.Sprint(conditions), "status:True type:Established"), nil
		})
	}
}

// The operator starts on a cluster that serves none of the foreign kinds, says what is
// missing, and goes on by itself when the inputs' kinds come. The optional ones are
// asked for at start: a restart finds them.
func TestOutages_DefinitionsThatComeLaterAndGo(t *testing.T) {
	t.Parallel()
	w := newWorldOn(t, cluster.StartFor(t, options()))
	inputs, optional := w.undefine(inputKinds...), w.undefine(optionalKinds...)
	stop := w.run()
	n := w.Minimal()
	n.Spec.Gateway = &v1alpha1.GatewaySpec{ParentRef: v1alpha1.GatewayParentRefSpec{Name: "gw"}, Hostname: "nova.example.com"}
	n.Spec.Scheduler.Deployment = v1alpha1.DeploymentSpec{Replicas: 1, VerticalAutoscaling: &v1alpha1.VerticalAutoscalingSpec{UpdateMode: "Off"}}
	w.Create(n)
	w.AwaitReason(v1alpha1.ConditionSecretsReady, v1alpha1.ReasonSecretStoreNotReady)

	w.define(inputs)
	w.Play(w.Namespace)
	w.Inputs()
	w.AwaitReason(v1alpha1.ConditionDeploymentReady, v1alpha1.ReasonDeploymentReady)
	route := w.AwaitReason(v1alpha1.ConditionHTTPRouteReady, v1alpha1.ReasonGatewayAPINotInstalled)
	autoscaler := w.AwaitReason(v1alpha1.ConditionVPAReady, v1alpha1.ReasonVPANotInstalled)
	for _, c := range []metav1.Condition{route, autoscaler} {
		if !strings.Contains(c.Message, "restart the operator") {
			t.Errorf("%s: %q names no remedy", c.Type, c.Message)
		}
	}
	// What does not depend on them stands.
	w.AwaitReason(v1alpha1.ConditionMetadataHTTPRouteReady, v1alpha1.ReasonHTTPRouteNotRequired)
	w.AwaitReason(v1alpha1.ConditionNovaAPIReady, v1alpha1.ReasonAPIHealthy)

	w.define(optional)
	stop()
	w.Play(w.Namespace)
	stop = w.run()
	w.AwaitReady()

	// They go while the operator runs: it reports the rest as before and stays up.
	w.undefine(optionalKinds...)
	w.Edit(func(n *v1alpha1.Nova) {
		n.Spec.Gateway, n.Spec.Scheduler.Deployment.VerticalAutoscaling, n.Spec.Region = nil, nil, "RegionOne"
	})
	w.AwaitReason(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonDatabaseSynced)
	stop()
	w.run()
	w.AwaitReady()
	w.define(optional)
}

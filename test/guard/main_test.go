// Package guard_test tries the policies of kustomize/guard on a real API server: what they
// refuse, how that is lifted, and what the engines that deliver the operator do to them.
package guard_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/test/cluster"
	"github.com/c5c3/nova-operator/test/process"
	"github.com/c5c3/nova-operator/test/surroundings"
	"github.com/c5c3/nova-operator/test/world"
)

const (
	// root is the repository, as seen from a test.
	root = "../.."
	// protected is the label of a Namespace that must not be deleted.
	protected = "nova.openstack.c5c3.io/protected"
	// allow is the annotation of a definition that may be deleted.
	allow = "nova.openstack.c5c3.io/allow-deletion"
)

var (
	kindDefinition = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
	kindNamespace  = corev1.SchemeGroupVersion.WithKind("Namespace")
	kindNova       = v1alpha1.GroupVersion.WithKind(v1alpha1.KindNova)
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	// No definition but ours: a test deletes the whole collection.
	cluster.Main(m, cluster.Options{Nodes: -1, CRDs: []string{root + "/kustomize/crd"}})
}

// guarded is a namespace of a cluster in which the guards are in force.
type guarded struct {
	*world.Subject[*v1alpha1.Nova]
	// objects are those of the installation, in the order of kubectl.
	objects []*unstructured.Unstructured
}

// guard installs a folder, without what needs other operators, and waits until its
// policies are in force.
func guard(t *testing.T, folder string) *guarded {
	t.Helper()
	c := cluster.Shared(t)
	g := &guarded{Subject: world.Of(world.In(t, c, c.Namespace(t)), world.Novas)}
	all, err := process.Kustomize(root + "/kustomize/" + folder)
	if err != nil {
		t.Fatal(err)
	}
	var policies []*unstructured.Unstructured
	for _, o := range all {
		switch o.GetKind() {
		case "Issuer", "Certificate", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
			continue // nothing answers admission here
		case "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding":
			policies = append(policies, o)
		default:
			g.apply(o)
		}
		g.objects = append(g.objects, o)
	}
	g.awaitDefinitions()
	g.apply(policies...)
	g.awaitInForce()
	return g
}

func (g *guarded) apply(objects ...*unstructured.Unstructured) {
	g.T.Helper()
	if err := surroundings.Apply(g.T.Context(), g.Cluster.Config, g.Client.RESTMapper(), "kubectl", objects); err != nil {
		g.T.Fatal(err)
	}
}

// awaitDefinitions waits until the API server serves our kinds: the types of a policy are
// checked once, when it comes.
func (g *guarded) awaitDefinitions() {
	g.T.Helper()
	cluster.Eventually(g.T, "the definitions", func(ctx context.Context) (bool, error) {
		for _, d := range g.definitions() {
			live := named(kindDefinition, d.GetName())
			if err := g.Client.Get(ctx, client.ObjectKeyFromObject(d), live); err != nil {
				return false, err
			}
			conditions, _, err := unstructured.NestedSlice(live.Object, "status", "conditions")
			if err != nil || !slices.ContainsFunc(conditions, established) {
				return false, err
			}
		}
		return true, nil
	})
}

// established tells the condition of a definition that is served.
func established(condition any) bool {
	c := condition.(map[string]any)
	return c["type"] == "Established" && c["status"] == "True"
}

// awaitInForce waits until the API server heeds the policies applied so far. It takes them
// up in their order, so the last one stands for all: it refuses a probe of this namespace.
func (g *guarded) awaitInForce() {
	g.T.Helper()
	name := "probe-" + g.Namespace
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: g.Namespace}},
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Create},
					Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
				}}},
			},
			Validations: []admissionv1.Validation{{Expression: fmt.Sprintf("object.metadata.name != %q", name)}},
		},
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}},
	}
	for _, o := range []client.Object{policy, binding} {
		g.Create(o)
		g.T.Cleanup(func() {
			if err := g.Client.Delete(context.Background(), o); err != nil {
				g.T.Error(err)
			}
		})
	}
	cluster.Eventually(g.T, "the policies", func(ctx context.Context) (bool, error) {
		probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: g.Namespace, Name: name}}
		err := g.Client.Create(ctx, probe, client.DryRunAll)
		if apierrors.IsInvalid(err) {
			return true, nil
		}
		return false, err
	})
}

// nova creates a Nova.
func (g *guarded) nova(name string, protect bool) *unstructured.Unstructured {
	g.T.Helper()
	n := g.Minimal()
	n.Name = name
	n.Spec.DeletionProtection = protect
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(n)
	if err != nil {
		g.T.Fatal(err)
	}
	u := &unstructured.Unstructured{Object: object}
	u.SetGroupVersionKind(kindNova)
	g.Create(u)
	return u
}

// protectedNamespace creates one with the label, and takes the label off in the end.
func (g *guarded) protectedNamespace() *unstructured.Unstructured {
	g.T.Helper()
	u := named(kindNamespace, g.Namespace+"-protected")
	u.SetLabels(map[string]string{protected: "true"})
	g.Create(u)
	g.T.Cleanup(func() { _ = g.Client.Patch(context.Background(), u, merge(`{"metadata": {"labels": null}}`)) })
	return u
}

// definitions are those of the installation.
func (g *guarded) definitions() []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(g.objects), func(o *unstructured.Unstructured) bool { return o.GetKind() != kindDefinition.Kind })
}

// patch is `kubectl patch --type=merge`.
func (g *guarded) patch(o *unstructured.Unstructured, text string) {
	g.T.Helper()
	if err := g.Client.Patch(g.T.Context(), o.DeepCopy(), merge(text)); err != nil {
		g.T.Fatal(err)
	}
}

// mustDelete deletes objects and waits until they are gone.
func (g *guarded) mustDelete(objects ...*unstructured.Unstructured) {
	g.T.Helper()
	for _, o := range objects {
		if err := g.Client.Delete(g.T.Context(), o.DeepCopy()); err != nil {
			g.T.Fatalf("%s %s: %v", o.GetKind(), o.GetName(), err)
		}
		g.awaitGone(o)
	}
}

// mustStay fails the test when an object is gone or about to go.
func (g *guarded) mustStay(objects ...*unstructured.Unstructured) {
	g.T.Helper()
	for _, o := range objects {
		live := named(o.GroupVersionKind(), o.GetName())
		err := g.Client.Get(g.T.Context(), client.ObjectKeyFromObject(o), live)
		if err != nil || live.GetDeletionTimestamp() != nil {
			g.T.Errorf("%s %s goes at %s, %v", o.GetKind(), o.GetName(), live.GetDeletionTimestamp(), err)
		}
	}
}

// awaitGone waits until an object is gone.
func (g *guarded) awaitGone(o *unstructured.Unstructured) {
	g.T.Helper()
	cluster.Eventually(g.T, o.GetKind()+" "+o.GetName()+" to go", func(ctx context.Context) (bool, error) {
		err := g.Client.Get(ctx, client.ObjectKeyFromObject(o), named(o.GroupVersionKind(), ""))
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
}

func named(gvk schema.GroupVersionKind, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	u.SetName(name)
	return u
}

func merge(text string) client.Patch {
	return client.RawPatch(types.MergePatchType, []byte(text))
}

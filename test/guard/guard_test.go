package guard_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/test/cluster"
	"github.com/c5c3/nova-operator/test/process"
	"github.com/c5c3/nova-operator/test/world"
)

// What an engine may take away first guards nothing.
func TestOverlay_NoEnginePrunesTheGuards(t *testing.T) {
	kinds := func(folder string) map[string][]string {
		objects, err := process.Kustomize(root + "/kustomize/overlays/" + folder)
		if err != nil {
			t.Fatal(err)
		}
		out := map[string][]string{}
		for _, o := range objects {
			switch o.GetKind() {
			case "CustomResourceDefinition", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding":
			default:
				continue
			}
			out[o.GetKind()] = append(out[o.GetKind()], o.GetName())
			got := map[string]string{}
			for _, key := range []string{"kustomize.toolkit.fluxcd.io/prune", "argocd.argoproj.io/sync-options"} {
				got[key] = o.GetAnnotations()[key]
			}
			want := map[string]string{"kustomize.toolkit.fluxcd.io/prune": "disabled", "argocd.argoproj.io/sync-options": "Prune=false,Delete=false"}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s %s: %s", o.GetKind(), o.GetName(), diff)
			}
		}
		return out
	}
	policies := []string{
		"nova-operator-protected-definitions", "nova-operator-protected-namespaces", "nova-operator-protected-novas",
		"nova-operator-unprotected-namespaces",
	}
	want := map[string][]string{
		"CustomResourceDefinition":  {"novacomputes.nova.openstack.c5c3.io", "novas.nova.openstack.c5c3.io"},
		"ValidatingAdmissionPolicy": policies, "ValidatingAdmissionPolicyBinding": policies,
	}
	if diff := cmp.Diff(want, kinds("cluster")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string][]string{}, kinds("namespaced")); diff != "" {
		t.Errorf("the overlay of a namespace holds what belongs to the cluster: %s", diff)
	}
}

// The API server finds nothing wrong with the types in the expressions, and would.
func TestPolicies_ReadFieldsThatExist(t *testing.T) {
	g := guard(t, "guard")
	misspelt := &admissionv1.ValidatingAdmissionPolicy{}
	if err := g.Client.Get(t.Context(), client.ObjectKey{Name: "nova-operator-protected-novas"}, misspelt); err != nil {
		t.Fatal(err)
	}
	misspelt.ObjectMeta = metav1.ObjectMeta{Name: "misspelt"}
	misspelt.Spec.Validations[0].Expression = "!oldObject.spec.?deletionProtektion.orValue(false)"
	g.Create(misspelt)
	t.Cleanup(func() {
		if err := g.Client.Delete(context.Background(), misspelt); err != nil {
			t.Error(err)
		}
	})
	warnings := func(name string) (out []string) {
		cluster.Eventually(t, "the check of "+name, func(ctx context.Context) (bool, error) {
			p := &admissionv1.ValidatingAdmissionPolicy{}
			err := g.Client.Get(ctx, client.ObjectKey{Name: name}, p)
			if err != nil || p.Status.ObservedGeneration != p.Generation {
				return false, err
			}
			if p.Status.TypeChecking != nil {
				for _, w := range p.Status.TypeChecking.ExpressionWarnings {
					out = append(out, w.FieldRef+": "+w.Warning)
				}
			}
			return true, nil
		})
		return out
	}
	if got := warnings("misspelt"); len(got) != 1 || !strings.Contains(got[0], "undefined field 'deletionProtektion'") {
		t.Errorf("a field that is not there: %q", got)
	}
	for _, o := range g.objects {
		if o.GetKind() == "ValidatingAdmissionPolicy" {
			if got := warnings(o.GetName()); got != nil {
				t.Errorf("%s: %q", o.GetName(), got)
			}
		}
	}
}

// Whatever way a deletion takes, it is refused with the command that allows it.
func TestGuard_RefusesADeletion(t *testing.T) {
	g := guard(t, "guard")
	nova, namespace := g.nova("nova", true), g.protectedNamespace()
	subjects := map[*unstructured.Unstructured]string{
		nova: "Nova " + g.Namespace + "/nova is protected by spec.deletionProtection. To lift it: kubectl -n " + g.Namespace +
			` patch nova nova --type=merge -p '{"spec":{"deletionProtection":false}}'`,
		namespace: "namespace " + namespace.GetName() + " is protected by a label. To lift it: kubectl label namespace " + namespace.GetName() +
			" nova.openstack.c5c3.io/protected-",
	}
	for _, d := range g.definitions() {
		subjects[d] = "without its definition " + d.GetName() + " every resource of it is deleted, protected or not. To allow it: kubectl annotate crd " +
			d.GetName() + " nova.openstack.c5c3.io/allow-deletion=true"
	}
	for way, options := range map[string][]client.DeleteOption{
		"kubectl delete":                  {client.PropagationPolicy(metav1.DeletePropagationBackground)},
		"kubectl delete --force":          {client.GracePeriodSeconds(0), client.PropagationPolicy(metav1.DeletePropagationBackground)},
		"kubectl delete --cascade=orphan": {client.PropagationPolicy(metav1.DeletePropagationOrphan)},
		"kubectl delete --dry-run=server": {client.DryRunAll},
		"Argo CD":                         {client.PropagationPolicy(metav1.DeletePropagationForeground)},
	} {
		t.Run(way, func(t *testing.T) {
			for o, want := range subjects {
				err := g.Client.Delete(t.Context(), o.DeepCopy(), options...)
				if !apierrors.IsForbidden(err) || !strings.HasSuffix(err.Error(), "denied request: "+want) {
					t.Errorf("%s: %v", o.GetKind(), err)
				}
				g.mustStay(o)
			}
		})
	}
}

// A deletion of a collection names no object.
func TestGuard_RefusesACollection(t *testing.T) {
	g := guard(t, "guard")
	nova := g.nova("nova", true)
	g.nova("other", false)
	if err := g.Client.DeleteAllOf(t.Context(), named(kindNova, ""), client.InNamespace(g.Namespace)); !apierrors.IsForbidden(err) {
		t.Errorf("Novas: %v", err)
	}
	if err := g.Client.DeleteAllOf(t.Context(), named(kindDefinition, "")); !apierrors.IsForbidden(err) {
		t.Errorf("definitions: %v", err)
	}
	g.mustStay(append(g.definitions(), nova)...)
}

// A lifted protection lets the same request pass; what was never protected needs none.
func TestGuard_LetsGoWhatIsNotProtected(t *testing.T) {
	g := guard(t, "guard")
	nova, namespace := g.nova("nova", true), g.protectedNamespace()
	g.patch(nova, `{"spec": {"deletionProtection": false}}`)
	g.patch(namespace, `{"metadata": {"labels": {"`+protected+`": null}}}`)
	other := named(kindDefinition, "others.example.com")
	other.Object["spec"] = map[string]any{
		"group": "example.com", "scope": "Cluster", "names": map[string]any{"kind": "Other", "plural": "others"},
		"versions": []any{map[string]any{
			"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}},
		}},
	}
	g.Create(other)
	g.mustDelete(nova, namespace, other, g.nova("never", false))
}

// An object that terminates is deleted already. Refusing what asks for it again would only
// hold up whoever waits for the end.
func TestGuard_LetsATerminatingObjectBe(t *testing.T) {
	g := guard(t, "guard")
	nova, namespace := g.nova("nova", false), named(kindNamespace, g.Namespace+"-terminating")
	g.Create(namespace)
	content := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace.GetName(), Name: "held", Finalizers: []string{"example.com/held"}}}
	g.Create(content)
	g.patch(nova, `{"metadata": {"finalizers": ["example.com/held"]}}`)
	for o, protect := range map[*unstructured.Unstructured]string{
		nova: `{"spec": {"deletionProtection": true}}`, namespace: `{"metadata": {"labels": {"` + protected + `": "true"}}}`,
	} {
		for _, word := range []string{"first", "protected since"} {
			if err := g.Client.Delete(t.Context(), o.DeepCopy()); err != nil && !apierrors.IsConflict(err) {
				t.Errorf("%s, %s: %v", o.GetKind(), word, err)
			}
			g.patch(o, protect)
		}
	}
	// Its finalizers end it, protected or not.
	g.patch(nova, `{"metadata": {"finalizers": null}}`)
	g.awaitGone(nova)
	if err := g.Client.Patch(t.Context(), content, merge(`{"metadata": {"finalizers": null}}`)); err != nil {
		t.Error(err)
	}
	g.awaitGone(namespace)
}

// heard are the warnings of the API server.
type heard []string

func (h *heard) HandleWarningHeaderWithContext(_ context.Context, _ int, _, text string) {
	*h = append(*h, text)
}

var _ rest.WarningHandlerWithContext = (*heard)(nil)

// Who protects a Nova hears that its namespace is not; a write that asks for nothing new,
// as the operator's, is not told again.
func TestGuard_WarnsOfAnUnprotectedNamespace(t *testing.T) {
	g := guard(t, "guard")
	var warnings heard
	config := rest.CopyConfig(g.Cluster.Config)
	config.WarningHandlerWithContext = &warnings
	listening, err := world.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	g.Client = listening
	said := func(step string, want bool) {
		t.Helper()
		found := slices.ContainsFunc(warnings, func(text string) bool {
			return strings.HasSuffix(text, "spec.deletionProtection keeps this Nova, but not its databases and Secrets when namespace "+g.Namespace+
				" is deleted. To protect that too: kubectl label namespace "+g.Namespace+" nova.openstack.c5c3.io/protected=true")
		})
		if found != want || len(warnings) > 1 {
			t.Errorf("%s: warned %t: %q", step, found, warnings)
		}
		warnings = nil
	}
	nova := g.nova("nova", true)
	said("a protected Nova is created", true)
	g.patch(nova, `{"metadata": {"annotations": {"example.com/of": "an operator"}}}`)
	said("its metadata changes", false)
	g.patch(nova, `{"spec": {"region": "RegionTwo"}}`)
	said("its spec changes", true)
	other := g.nova("other", false)
	said("an unprotected Nova is created", false)
	g.patch(other, `{"spec": {"deletionProtection": true}}`)
	said("it is protected", true)
	g.patch(named(kindNamespace, g.Namespace), `{"metadata": {"labels": {"`+protected+`": "true"}}}`)
	cluster.Eventually(t, "silence", func(ctx context.Context) (bool, error) {
		defer func() { warnings = nil }()
		err := listening.Patch(ctx, other.DeepCopy(), merge(`{"spec": {"region": "RegionTwo"}}`), client.DryRunAll)
		return len(warnings) == 0, err
	})
	g.nova("third", true)
	said("the namespace is protected", false)
	g.patch(named(kindNamespace, g.Namespace), `{"metadata": {"labels": {"`+protected+`": null}}}`)
}

// The deletion of a namespace takes everything but the protected Nova, and ends when the
// protection is lifted.
func TestGuard_KeepsANovaInANamespaceThatGoes(t *testing.T) {
	g := guard(t, "guard")
	namespace := named(kindNamespace, g.Namespace+"-goes")
	g.Create(namespace)
	g.Namespace = namespace.GetName()
	nova := g.nova("nova", true)
	g.Secret("nova-db", map[string]string{"password": "x"})
	if err := g.Client.Delete(t.Context(), namespace.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "the namespace to be stuck", func(ctx context.Context) (bool, error) {
		n := &corev1.Namespace{}
		if err := g.Client.Get(ctx, client.ObjectKeyFromObject(namespace), n); err != nil {
			return false, err
		}
		return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NamespaceCondition) bool {
			return c.Type == corev1.NamespaceDeletionContentFailure && strings.Contains(c.Message, "is protected by spec.deletionProtection")
		}), nil
	})
	g.mustStay(nova)
	err := g.Client.Get(t.Context(), client.ObjectKey{Namespace: g.Namespace, Name: "nova-db"}, &corev1.Secret{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the Secret beside it: %v", err)
	}
	g.patch(nova, `{"spec": {"deletionProtection": false}}`)
	g.awaitGone(namespace)
}

// `kubectl delete -k` of everything leaves the definitions, and with them every Nova; it
// takes the policies along. The order of docs/deletion.md removes all.
func TestUninstall_StopsAtTheDefinitions(t *testing.T) {
	g := guard(t, "overlays/cluster")
	nova := g.nova("nova", true)
	var refused []string
	for _, o := range g.objects {
		if err := g.Client.Delete(t.Context(), o.DeepCopy()); apierrors.IsForbidden(err) {
			refused = append(refused, o.GetKind()+" "+o.GetName())
		} else if client.IgnoreNotFound(err) != nil {
			t.Errorf("%s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
	want := []string{"CustomResourceDefinition novacomputes.nova.openstack.c5c3.io", "CustomResourceDefinition novas.nova.openstack.c5c3.io"}
	if diff := cmp.Diff(want, refused); diff != "" {
		t.Error(diff)
	}
	g.mustStay(append(g.definitions(), nova)...)

	g = guard(t, "guard")
	g.patch(nova, `{"spec": {"deletionProtection": false}}`)
	g.mustDelete(nova)
	for _, d := range g.definitions() {
		g.patch(d, `{"metadata": {"annotations": {"`+allow+`": "true"}}}`)
	}
	g.mustDelete(g.definitions()...)
}

// The removal of a definition deletes a protected Nova without asking, which is why it is
// refused. The operator's finalizer holds the Nova, and its protection can still be lifted.
func TestUninstall_ADefinitionTakesProtectedNovas(t *testing.T) {
	g := guard(t, "guard")
	nova := g.nova("nova", true)
	g.patch(nova, `{"metadata": {"finalizers": ["`+v1alpha1.FinalizerNova+`"]}}`)
	definition := named(kindDefinition, "novas."+v1alpha1.GroupVersion.Group)
	g.patch(definition, `{"metadata": {"annotations": {"`+allow+`": "true"}}}`)
	if err := g.Client.Delete(t.Context(), definition.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "the Nova to terminate", func(ctx context.Context) (bool, error) {
		live := nova.DeepCopy()
		err := g.Client.Get(ctx, client.ObjectKeyFromObject(nova), live)
		return live.GetDeletionTimestamp() != nil, err
	})
	g.patch(nova, `{"spec": {"deletionProtection": false}}`)
	g.patch(nova, `{"metadata": {"finalizers": null}}`)
	g.awaitGone(definition)
}

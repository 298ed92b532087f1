package webhook_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// The names, paths and policies are the contract's, and no deletion is registered.
func TestManifests_Registration(t *testing.T) {
	built := build(t, "nova-operator-system")
	var mutating admissionregistrationv1.MutatingWebhookConfiguration
	var validating admissionregistrationv1.ValidatingWebhookConfiguration
	decode(t, built, "MutatingWebhookConfiguration", &mutating)
	decode(t, built, "ValidatingWebhookConfiguration", &validating)
	type webhook struct {
		Name, Path, Resource string
		Failure              admissionregistrationv1.FailurePolicyType
		SideEffects          admissionregistrationv1.SideEffectClass
		Operations           []admissionregistrationv1.OperationType
		Reviews              []string
	}
	var got []webhook
	add := func(name string, c admissionregistrationv1.WebhookClientConfig, f *admissionregistrationv1.FailurePolicyType, s *admissionregistrationv1.SideEffectClass, rules []admissionregistrationv1.RuleWithOperations, reviews []string) {
		got = append(got, webhook{name, *c.Service.Path, strings.Join(rules[0].Resources, ","), *f, *s, rules[0].Operations, reviews})
	}
	for _, w := range mutating.Webhooks {
		add(w.Name, w.ClientConfig, w.FailurePolicy, w.SideEffects, w.Rules, w.AdmissionReviewVersions)
	}
	for _, w := range validating.Webhooks {
		add(w.Name, w.ClientConfig, w.FailurePolicy, w.SideEffects, w.Rules, w.AdmissionReviewVersions)
	}
	operations := []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update}
	row := func(name, path, resource string) webhook {
		return webhook{name, path, resource, admissionregistrationv1.Fail, admissionregistrationv1.SideEffectClassNone, operations, []string{"v1"}}
	}
	want := []webhook{
		row("mnova.kb.io", "/mutate-nova-openstack-c5c3-io-v1alpha1-nova", "novas"),
		row("mnovacompute.kb.io", "/mutate-nova-openstack-c5c3-io-v1alpha1-novacompute", "novacomputes"),
		row("vnova.kb.io", "/validate-nova-openstack-c5c3-io-v1alpha1-nova", "novas"),
		row("vnovacompute.kb.io", "/validate-nova-openstack-c5c3-io-v1alpha1-novacompute", "novacomputes"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A name or a namespace that is repeated somewhere follows the one line that sets it.
func TestManifests_NamesFollowTheNamespace(t *testing.T) {
	for _, namespace := range []string{"nova-operator-system", "elsewhere"} {
		built := build(t, namespace)
		var certificate struct {
			Spec struct {
				SecretName string
				DNSNames   []string `json:"dnsNames"`
				IssuerRef  struct{ Kind, Name string }
			}
		}
		decode(t, built, "Certificate", &certificate)
		service := "nova-operator-webhook." + namespace + ".svc"
		if diff := cmp.Diff([]string{service, service + ".cluster.local"}, certificate.Spec.DNSNames); diff != "" {
			t.Error(diff)
		}
		if certificate.Spec.SecretName != "nova-operator-webhook-cert" || certificate.Spec.IssuerRef.Name != "nova-operator-webhook" {
			t.Errorf("certificate %+v", certificate.Spec)
		}
		for _, kind := range []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"} {
			// Both kinds are alike in what matters here.
			var c admissionregistrationv1.ValidatingWebhookConfiguration
			decode(t, built, kind, &c)
			if from := c.Annotations["cert-manager.io/inject-ca-from"]; from != namespace+"/nova-operator-webhook" {
				t.Errorf("%s takes its CA from %s", kind, from)
			}
			for _, w := range c.Webhooks {
				if s := w.ClientConfig.Service; s.Name != "nova-operator-webhook" || s.Namespace != namespace {
					t.Errorf("%s calls %s/%s", w.Name, s.Namespace, s.Name)
				}
			}
		}
	}
}

// build is the kustomization with another namespace in its one place.
func build(t *testing.T, namespace string) resmap.ResMap {
	t.Helper()
	const folder = "../../kustomize/webhook"
	fs := filesys.MakeFsInMemory()
	for _, name := range []string{"kustomization.yaml", "manifests.yaml", "service.yaml", "certificate.yaml"} {
		raw, err := os.ReadFile(folder + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if name == "kustomization.yaml" {
			raw = []byte(strings.Replace(string(raw), "\nnamespace: nova-operator-system\n", "\nnamespace: "+namespace+"\n", 1))
		}
		if err := fs.WriteFile("/"+name, raw); err != nil {
			t.Fatal(err)
		}
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(fs, "/")
	if err != nil {
		t.Fatal(err)
	}
	return built
}

// decode reads the one object of a kind.
func decode(t *testing.T, built resmap.ResMap, kind string, into any) {
	t.Helper()
	all := built.Resources()
	i := slices.IndexFunc(all, func(r *resource.Resource) bool { return r.GetKind() == kind })
	if i < 0 {
		t.Fatalf("no %s", kind)
	}
	raw, err := all[i].AsYAML()
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(raw, into); err != nil {
		t.Fatal(err)
	}
}

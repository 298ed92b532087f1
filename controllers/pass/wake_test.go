package pass

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/apply"
)

// A child wakes its own resource, on the cluster where that has its children, and no other.
func TestFeed_OwnerOfChild(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	here := &v1alpha1.Nova{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "here"}}
	there := &v1alpha1.Nova{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "there"},
		Spec:       v1alpha1.NovaSpec{TargetClusterRef: &v1alpha1.TargetClusterRefSpec{Name: "edge"}},
	}
	r := &Reconciler{
		kind:   Kind{Kind: novaKind, New: func() v1alpha1.Resource { return &v1alpha1.Nova{} }},
		reader: fake.NewClientBuilder().WithScheme(scheme).WithObjects(here, there).Build(),
	}
	ref := func(apiVersion, kind, name string, controller bool) []metav1.OwnerReference {
		return []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: name, UID: "u", Controller: &controller}}
	}
	labels := func(kind, name, namespace string) map[string]string {
		return map[string]string{apply.LabelOwnerKind: kind, apply.LabelOwnerName: name, apply.LabelOwnerNamespace: namespace}
	}
	nova := v1alpha1.GroupVersion.String()
	for name, tc := range map[string]struct {
		refs       []metav1.OwnerReference
		labels     map[string]string
		home, edge string // the resource that wakes
	}{
		"a reference":                                  {refs: ref(nova, "Nova", "here", true), home: "here"},
		"a reference of another version":               {refs: ref("nova.openstack.c5c3.io/v9", "Nova", "here", true), home: "here"},
		"a reference and the labels":                   {refs: ref(nova, "Nova", "here", true), labels: labels("Nova", "here", "ns"), home: "here"},
		"the labels alone":                             {labels: labels("Nova", "here", "ns"), home: "here"},
		"the labels, and no controller":                {refs: ref("v1", "ConfigMap", "x", false), labels: labels("Nova", "here", "ns"), home: "here"},
		"the labels, and somebody controls it":         {refs: ref("apps/v1", "ReplicaSet", "x", true), labels: labels("Nova", "here", "ns")},
		"a kind of that name in another group":         {refs: ref("example.com/v1", "Nova", "here", true)},
		"a reference that says nothing":                {refs: ref("a/b/c", "Nova", "here", true)},
		"labels of another kind":                       {labels: labels("NovaCompute", "here", "ns")},
		"labels of another namespace":                  {labels: labels("Nova", "here", "other")},
		"labels of a resource that is gone":            {labels: labels("Nova", "gone", "ns")},
		"labels of one whose children lie on a target": {labels: labels("Nova", "there", "ns"), edge: "there"},
		"nothing": {},
	} {
		t.Run(name, func(t *testing.T) {
			child := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "child", OwnerReferences: tc.refs, Labels: tc.labels}}
			for target, want := range map[string]string{"": tc.home, "edge": tc.edge} {
				f := &Feed{reconciler: r, target: target}
				var got []string
				for _, request := range f.ownerOfChild(t.Context(), child) {
					got = append(got, request.String())
				}
				var wanted []string
				if want != "" {
					wanted = []string{client.ObjectKey{Namespace: "ns", Name: want}.String()}
				}
				if d := cmp.Diff(wanted, got); d != "" {
					t.Errorf("on %q: %s", target, d)
				}
			}
		})
	}
}

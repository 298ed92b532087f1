package world

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/test/cluster"
	"github.com/c5c3/nova-operator/test/surroundings"
)

func TestMain(m *testing.M) {
	cluster.Main(m, cluster.Options{Nodes: -1, CRDs: Definitions("../..")})
}

// pools are a kind with other inputs and children than a Nova.
var pools = Kind[*v1alpha1.NovaCompute]{
	New: func() *v1alpha1.NovaCompute { return &v1alpha1.NovaCompute{} },
	Minimal: func(namespace string) *v1alpha1.NovaCompute {
		return &v1alpha1.NovaCompute{
			ObjectMeta: metav1.ObjectMeta{Name: "pool", Namespace: namespace},
			Spec:       v1alpha1.NovaComputeSpec{NovaRef: v1alpha1.NovaRefSpec{Name: "nova"}, NodeSelector: map[string]string{"compute": "yes"}},
		}
	},
	Secrets:  map[string]map[string]string{"credentials": {"password": Mark}},
	Foreign:  []Foreign{{render.KindClusterSecretStore, "pools"}, {render.KindMariaDB, "mariadb"}},
	Children: []schema.GroupVersionKind{render.KindConfigMap, render.KindSecret},
	Recorder: "pool-controller",
}

// turn writes a condition of the live generation, as an operator does.
func turn(s *Subject[*v1alpha1.NovaCompute], condition, reason, message string) {
	s.T.Helper()
	n := s.MustLive()
	n.Status.ObservedGeneration = n.Generation
	meta.SetStatusCondition(&n.Status.Conditions, metav1.Condition{
		Type: condition, Status: metav1.ConditionTrue, Reason: reason, Message: message, ObservedGeneration: n.Generation,
	})
	if err := s.Client.Status().Update(s.T.Context(), n); err != nil {
		s.T.Fatal(err)
	}
}

// A pool is no Nova, and everything but its Kind serves it.
func TestSubject_ServesAnotherKind(t *testing.T) {
	c := cluster.Shared(t)
	s := Of(In(t, c, c.Namespace(t)), pools)
	s.Inputs()
	s.Inputs() // what is there may stay
	if store := s.Object(render.KindClusterSecretStore, "pools"); s.Get(render.KindMariaDB, "mariadb") == nil || store.GetNamespace() != s.Namespace {
		t.Error("an input is missing")
	}
	s.Report(render.KindMariaDB, "mariadb", ReadyIs(metav1.ConditionTrue))
	if conditions, _, _ := unstructured.NestedSlice(s.Get(render.KindMariaDB, "mariadb").Object, "status", "conditions"); len(conditions) != 1 {
		t.Errorf("the server reports %v", conditions)
	}

	s.Create(s.Minimal())
	turn(s, v1alpha1.ConditionReady, v1alpha1.ReasonAllReady, "")
	s.AwaitReady()
	s.Edit(func(n *v1alpha1.NovaCompute) { n.Spec.NodeSelector["rack"] = "two" })
	if n := s.MustLive(); n.Generation != 2 || current(n, v1alpha1.ConditionReady) != nil {
		t.Errorf("generation %d counts as ready by what was said of an earlier one", n.Generation)
	}
	turn(s, "Other", "Said", "a message")
	s.AwaitSeen()
	if got := s.AwaitSays("Other", "Said", "a message"); got.ObservedGeneration != 2 {
		t.Errorf("it waited for %+v", got)
	}

	about := func(name, component, message string) *corev1.Event {
		return &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Name: message, Namespace: s.Namespace}, Reason: "Told", Message: message + " of a pool",
			InvolvedObject: corev1.ObjectReference{Kind: v1alpha1.KindNovaCompute, Namespace: s.Namespace, Name: name}, Source: corev1.EventSource{Component: component},
		}
	}
	for _, e := range []*corev1.Event{about("pool", "somebody", "a"), about("other", "pool-controller", "b"), about("pool", "pool-controller", "c")} {
		s.Create(e)
	}
	if got := s.AwaitEvent("Told", "of a", "pool"); got != "c of a pool" {
		t.Errorf("it took event %q", got)
	}
	if got := len(s.Events()); got != 3 {
		t.Errorf("%d events about pools", got)
	}

	s.Theirs(s.Object(render.KindConfigMap, "config"))
	children := map[string]string{}
	s.EachChild(func(u *unstructured.Unstructured) {
		if ref := metav1.GetControllerOf(u); ref != nil {
			children[u.GetKind()+"/"+u.GetName()] = ref.Name
		}
	})
	if diff := cmp.Diff(map[string]string{"ConfigMap/config": "theirs"}, children); diff != "" {
		t.Error(diff)
	}
	s.Remove(render.KindConfigMap, "config")
	s.Delete()
	s.AwaitGone()
	if s.Get(render.KindConfigMap, "config") != nil {
		t.Error("a removed object is still there")
	}
}

// The operator of a world sees its namespace only.
func TestRun_WatchesItsNamespaceOnly(t *testing.T) {
	c := cluster.Shared(t)
	here, other := Of(In(t, c, c.Namespace(t)), Novas), Of(In(t, c, c.Namespace(t)), Novas)
	for _, s := range []*Subject[*v1alpha1.Nova]{here, other} {
		s.Create(s.Minimal())
	}
	here.Play(here.Namespace)
	stop := here.Run()
	here.AwaitReason(v1alpha1.ConditionSecretsReady, v1alpha1.ReasonSecretStoreNotReady)
	here.Inputs()
	here.AwaitReason(v1alpha1.ConditionSecretsReady, v1alpha1.ReasonSecretsAvailable)
	stop()
	if conditions := other.MustLive().Status.Conditions; len(conditions) > 0 {
		t.Errorf("a Nova of another namespace says %+v", conditions)
	}
	seen := 0
	here.EachChild(func(u *unstructured.Unstructured) {
		if metav1.IsControlledBy(u, here.MustLive()) {
			seen++
		}
	})
	if seen == 0 {
		t.Error("the Nova has no children")
	}
}

func TestLeaks(t *testing.T) {
	encoded := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	for name, tc := range map[string]struct {
		text string
		want []string
	}{
		"nothing":                         {"a line\nand another", nil},
		"in the clear":                    {"a\nthe password is " + Mark + "\nb", []string{"the password is " + Mark}},
		"a password of the surroundings":  {surroundings.Password, []string{surroundings.Password}},
		"in base64":                       {encoded(Mark), []string{encoded(Mark)}},
		"in base64, one byte on":          {encoded("-" + Mark + "-"), []string{encoded("-" + Mark + "-")}},
		"in base64, two bytes on":         {encoded("--" + Mark + "--"), []string{encoded("--" + Mark + "--")}},
		"two lines, one of them twice":    {Mark + Mark + "\n" + encoded(Mark), []string{Mark + Mark, encoded(Mark)}},
		"a long line is cut on both ends": {strings.Repeat("a", 400) + Mark + strings.Repeat("b", 400), []string{strings.Repeat("a", 300) + Mark + strings.Repeat("b", 100-len(Mark))}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Leaks(tc.text)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

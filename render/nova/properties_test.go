package nova

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"pgregory.net/rapid"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/pipeline"
)

// TestDecide_HoldsForAnyInput draws Novas and observations of every quality, from noise
// to a fixture with one difference, and checks what must hold for all of them.
func TestDecide_HoldsForAnyInput(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		in := randomInput(rt, t)
		before := snapshot(t, in)
		r := Decide(in)
		if diff := cmp.Diff(before, snapshot(t, in)); diff != "" {
			rt.Fatalf("the input is changed:\n%s", diff)
		}
		if diff := cmp.Diff(encodeResult(t, r), encodeResult(t, Decide(in))); diff != "" {
			rt.Fatalf("a second decision differs:\n%s", diff)
		}
		checkKeys(rt, in.Nova, r)
		for _, o := range r.Set.Desired {
			checkObject(rt, o)
		}
		checkSecrecy(rt, r)
		checkImages(rt, in, r)
		checkConditions(rt, r)
	})
}

func TestSettle_HoldsForAnyInput(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		in := randomInput(rt, t)
		in.forms = known
		before := snapshot(t, in)
		r, _ := Settle(in)
		if diff := cmp.Diff(before, snapshot(t, in)); diff != "" {
			rt.Fatalf("the input is changed:\n%s", diff)
		}
		checkKeys(rt, in.Nova, r)
		checkSecrecy(rt, r)
	})
}

func snapshot(t testing.TB, in Input) string {
	t.Helper()
	type plain struct {
		Nova     *v1alpha1.Nova
		Observed Observed
		Secrets  map[string]map[string]string
	}
	secrets := map[string]map[string]string{}
	for name, data := range in.Observed.Secrets {
		secrets[name] = map[string]string{}
		for key, value := range data {
			secrets[name][key] = value.Reveal()
		}
	}
	return encodeAny(t, plain{in.Nova, in.Observed, secrets})
}

func encodeAny(t testing.TB, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func encodeResult(t testing.TB, r pipeline.Decision) string {
	t.Helper()
	message := ""
	if r.Err != nil {
		message = r.Err.Error()
	}
	return encodeAny(t, []any{r.Set, r.Conditions, r.Events, r.Requeue, statusOf(r), r.Records, r.Reached, message})
}

// checkKeys wants every key in one of the three lists, once, and every child of the
// index in one: all but the Jobs of an upgrade and of a first look, of which nothing is
// said at other times.
func checkKeys(t *rapid.T, n *v1alpha1.Nova, r pipeline.Decision) {
	seen := map[render.Key]string{}
	put := func(key render.Key, list string) {
		if key.Name == "" || key.Kind == "" {
			t.Fatalf("%s holds a key without a name: %v", list, key)
		}
		if other, twice := seen[key]; twice {
			t.Fatalf("%s is %s and %s", key, other, list)
		}
		seen[key] = list
	}
	for _, o := range r.Set.Desired {
		put(o.Key(), "desired")
	}
	for _, a := range r.Set.Absent {
		put(a.Key, "absent")
	}
	for _, h := range r.Set.Held {
		put(h.Key, "held")
	}
	for _, c := range index.Children {
		key := render.Key{GroupVersionKind: c.Kind, Namespace: n.Namespace, Name: c.Name(n)}
		if c.ID != childConfig && c.Outside == nil && seen[key] == "" {
			t.Fatalf("%s is in none of the lists", c.ID)
		}
	}
}

// checkObject wants a name and labels the API server accepts, and a payload it stores
// unchanged.
func checkObject(t *rapid.T, o render.Object) {
	u := o.Content
	var problems []string
	problems = append(problems, apivalidation.NameIsDNSSubdomain(u.GetName(), false)...)
	problems = append(problems, apivalidation.ValidateNamespaceName(u.GetNamespace(), false)...)
	switch u.GetKind() {
	case "Service":
		problems = append(problems, apivalidation.NameIsDNS1035Label(u.GetName(), false)...)
	case "Job", "Deployment":
		problems = append(problems, apivalidation.NameIsDNSLabel(u.GetName(), false)...)
	case "CronJob":
		if len(u.GetName()) > maxCronJobName {
			problems = append(problems, "too long for a CronJob")
		}
	}
	for _, path := range [][]string{
		{"metadata", "labels"},
		{"spec", "template", "metadata", "labels"},
		{"spec", "jobTemplate", "metadata", "labels"},
		{"spec", "jobTemplate", "spec", "template", "metadata", "labels"},
		{"spec", "selector", "matchLabels"},
		{"spec", "podSelector", "matchLabels"},
	} {
		labels, _, err := unstructured.NestedStringMap(u.Object, path...)
		if err != nil {
			problems = append(problems, err.Error())
		}
		for _, problem := range metavalidation.ValidateLabels(labels, field.NewPath("labels")) {
			problems = append(problems, problem.Error())
		}
	}
	if len(problems) > 0 {
		t.Fatalf("%s: %v", o.Key(), problems)
	}
	again := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(u.Object)}
	if err := render.Canonical(again); err != nil {
		t.Fatalf("%s: %v", o.Key(), err)
	}
	if diff := cmp.Diff(u.Object, again.Object); diff != "" {
		t.Fatalf("%s is not canonical:\n%s", o.Key(), diff)
	}
}

// checkSecrecy looks for the mark of credentials everywhere but in Secrets.
func checkSecrecy(t *rapid.T, r pipeline.Decision) {
	clean := func(where string, v any) {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(raw), mark) || strings.Contains(string(raw), base64.StdEncoding.EncodeToString([]byte(mark))) {
			t.Fatalf("%s holds a credential: %s", where, raw)
		}
	}
	for _, o := range r.Set.Desired {
		if o.Key().GroupVersionKind != render.KindSecret {
			clean(o.Key().String(), o.Content.Object)
		}
	}
	clean("the rest of the set", []any{r.Set.Absent, r.Set.Held, r.Set.Prunable})
	clean("a condition", r.Conditions)
	clean("an event", r.Events)
	clean("a record", r.Records)
	clean("the status", statusOf(r))
	if r.Err != nil {
		clean("the error", r.Err.Error())
	}
}

// checkImages wants no Deployment to change its image behind a closed schema gate.
func checkImages(t *rapid.T, in Input, r pipeline.Decision) {
	open := statusOf(r).UpgradePhase == v1alpha1.UpgradePhaseRollingUpdate || in.Nova.Status.UpgradePhase == v1alpha1.UpgradePhaseRollingUpdate
	for _, c := range r.Conditions {
		open = open || c.Type == v1alpha1.ConditionDatabaseReady && c.Status == metav1.ConditionTrue
	}
	if open {
		return
	}
	for _, o := range r.Set.Desired {
		if o.Key().GroupVersionKind == render.KindDeployment || o.Key().GroupVersionKind == render.KindCronJob {
			t.Fatalf("%s is applied behind a closed schema gate", o.Key())
		}
	}
}

// checkConditions wants conditions the API server stores.
func checkConditions(t *rapid.T, r pipeline.Decision) {
	seen := map[string]bool{}
	for _, c := range r.Conditions {
		if seen[c.Type] {
			t.Fatalf("%s is set twice", c.Type)
		}
		seen[c.Type] = true
		for _, problem := range metavalidation.ValidateCondition(c, field.NewPath("conditions")) {
			if !strings.HasSuffix(problem.Field, "lastTransitionTime") {
				t.Fatal(problem)
			}
		}
	}
	if !seen[v1alpha1.ConditionReady] || !seen[v1alpha1.ConditionStalled] {
		t.Fatal("Ready or Stalled is not set")
	}
	if meta.IsStatusConditionTrue(r.Conditions, v1alpha1.ConditionReady) && meta.IsStatusConditionTrue(r.Conditions, v1alpha1.ConditionStalled) {
		t.Fatal("a Nova that is Ready is stalled")
	}
}

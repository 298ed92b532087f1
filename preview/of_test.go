package preview

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/apply/diff"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/foresee"
	"github.com/c5c3/nova-operator/render/pipeline"
	"github.com/c5c3/nova-operator/render/workload"
)

// mask is the key of the digests of all tests.
var mask = diff.Mask{1}

var about = pipeline.Kind{
	GroupVersionKind: v1alpha1.GroupVersion.WithKind(v1alpha1.KindNova),
	Conditions:       []string{v1alpha1.ConditionSecretsReady, v1alpha1.ConditionDatabaseReady},
	Deletion:         func(v1alpha1.Resource) string { return "the databases stay" },
}

func nova(region string, conditions ...metav1.Condition) *v1alpha1.Nova {
	n := &v1alpha1.Nova{ObjectMeta: metav1.ObjectMeta{Namespace: "openstack", Name: "nova"}}
	n.Spec.Region, n.Status.Conditions = region, conditions
	return n
}

func condition(name string, status metav1.ConditionStatus, reason string) metav1.Condition {
	return metav1.Condition{Type: name, Status: status, Reason: reason, Message: "of " + reason}
}

func TestOf_SaysWhatBecomesOfTheResource(t *testing.T) {
	for name, tc := range map[string]struct {
		before, after v1alpha1.Resource
		action        Action
		changes       []Change
		notes         []string
	}{
		"it is new":      {nil, nova("north"), ActionCreate, nil, []string{"given"}},
		"it goes":        {nova("north"), nil, ActionDelete, nil, []string{"given", "the databases stay"}},
		"it stays":       {nova("north"), nova("north", condition("Ready", "True", "R")), ActionUnchanged, nil, []string{"given"}},
		"a field of it":  {nova("north"), nova("south"), ActionChange, []Change{{Path: "spec.region", From: "north", To: "south"}}, []string{"given"}},
		"a field is new": {nova(""), nova("south"), ActionChange, []Change{{Path: "spec.region", To: "south"}}, []string{"given"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := Of(Input{Kind: about, Before: tc.before, After: tc.after, Notes: []string{"given"}, Mask: mask})
			want := Resource{Kind: "Nova", Namespace: "openstack", Name: "nova", Action: tc.action, Changes: tc.changes, Notes: tc.notes}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(Object{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOf_SaysWhatBecomesOfEachObject(t *testing.T) {
	const name = "nova-metadata"
	before := object(render.KindService, name, map[string]any{"spec": map[string]any{"port": int64(1)}, "status": map[string]any{"x": "y"}})
	before.SetUID("1")
	after := object(render.KindService, name, map[string]any{"spec": map[string]any{"port": int64(2)}})
	changes := []diff.Change{{Path: "spec.port", From: int64(1), To: int64(2), Manager: "kubectl"}}
	shown := []Change{{Path: "spec.port", From: int64(1), To: int64(2), Manager: "kubectl"}}
	for name, tc := range map[string]struct {
		result diff.Result
		want   *Object
		held   []Held
		count  Summary
	}{
		"created": {
			diff.Result{Action: diff.ActionCreate, Live: after},
			&Object{Action: ActionCreate, Content: after.Object}, nil,
			Summary{Create: 1},
		},
		"changed": {
			diff.Result{Action: diff.ActionUpdate, Before: before, Live: after, Changes: changes},
			&Object{Action: ActionChange, Changes: shown}, nil,
			Summary{Change: 1},
		},
		"recreated": {
			diff.Result{Action: diff.ActionRecreate, Before: before, Live: after, Changes: changes, Reason: "immutable"},
			&Object{Action: ActionRecreate, Changes: shown, Content: after.Object, Reason: "immutable"}, nil,
			Summary{Recreate: 1},
		},
		"deleted": {
			diff.Result{Action: diff.ActionDelete, Before: before, Live: before, Reason: "off"},
			&Object{Action: ActionDelete, Reason: "off"}, nil,
			Summary{Delete: 1},
		},
		"waits":   {diff.Result{Action: diff.ActionWait, Before: before}, &Object{Action: ActionWait}, nil, Summary{Create: 1}},
		"refused": {diff.Result{Action: diff.ActionRefused, Err: errors.New("no")}, &Object{Action: ActionRefused, Error: "no"}, nil, Summary{Refused: 1}},
		"failed":  {diff.Result{Action: diff.ActionFailed, Err: errors.New("no")}, &Object{Action: ActionRefused, Error: "no"}, nil, Summary{Refused: 1}},
		"skipped": {diff.Result{Action: diff.ActionSkipped, Reason: "an earlier wave"}, &Object{Action: ActionRefused, Reason: "an earlier wave"}, nil, Summary{Refused: 1}},
		"unchanged": {
			diff.Result{Action: diff.ActionUnchanged, Before: before, Live: before}, nil, nil, Summary{Unchanged: 1},
		},
		"somebody else's stays": {diff.Result{Action: diff.ActionForeign}, nil, nil, Summary{Unchanged: 1}},
		"held":                  {diff.Result{Action: diff.ActionHeld, Reason: "gate"}, nil, []Held{{"Service/nova-metadata", "gate"}}, Summary{Held: 1}},
		"history is unchanged":  {diff.Result{Action: diff.ActionHeld, Reason: workload.GateHistory}, nil, nil, Summary{Unchanged: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.result.Key = render.KeyOf(before)
			got := Of(Input{Kind: about, Before: nova(""), After: nova(""), Results: []diff.Result{tc.result}, Mask: mask})
			want := Resource{Kind: "Nova", Namespace: "openstack", Name: "nova", Action: ActionUnchanged, Held: tc.held, Summary: tc.count}
			if tc.want != nil {
				tc.want.APIVersion, tc.want.Kind, tc.want.Namespace, tc.want.Name = "v1", "Service", "openstack", "nova-metadata"
				want.Objects = []Object{*tc.want}
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(Object{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The patch of an object that goes ends in nothing, whatever stands there now; the patch of
// one that is recreated begins with what the operator applied.
func TestOf_HasBothSidesOfAnObject(t *testing.T) {
	before := object(render.KindService, "a", map[string]any{"spec": map[string]any{"port": int64(1), "clusterIP": "10.0.0.1"}, "status": map[string]any{"x": "y"}})
	before.SetUID("1")
	owned := before.DeepCopy()
	owned.SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager: render.FieldOwner, Operation: metav1.ManagedFieldsOperationApply, FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:port":{}}}`),
	}})
	after := object(render.KindService, "a", map[string]any{"spec": map[string]any{"port": int64(2)}})
	port := func(spec map[string]any) map[string]any {
		return object(render.KindService, "a", map[string]any{"spec": spec}).Object
	}
	for name, tc := range map[string]struct {
		result        diff.Result
		before, after map[string]any
	}{
		"changed": {
			diff.Result{Action: diff.ActionUpdate, Before: before, Live: after},
			port(map[string]any{"port": int64(1), "clusterIP": "10.0.0.1"}), port(map[string]any{"port": int64(2)}),
		},
		"deleted":   {diff.Result{Action: diff.ActionDelete, Before: before, Live: before}, port(map[string]any{"port": int64(1), "clusterIP": "10.0.0.1"}), nil},
		"recreated": {diff.Result{Action: diff.ActionRecreate, Before: owned, Live: after}, port(map[string]any{"port": int64(1)}), port(map[string]any{"port": int64(2)})},
		"created":   {diff.Result{Action: diff.ActionCreate, Live: after}, nil, port(map[string]any{"port": int64(2)})},
	} {
		t.Run(name, func(t *testing.T) {
			tc.result.Key = render.KeyOf(after)
			got := Of(Input{After: nova(""), Results: []diff.Result{tc.result}}).Objects[0]
			if diff := cmp.Diff(tc.before, got.before); diff != "" {
				t.Errorf("before:\n%s", diff)
			}
			if diff := cmp.Diff(tc.after, got.after); diff != "" {
				t.Errorf("after:\n%s", diff)
			}
		})
	}
}

// A Secret is shown by its keys; a digest of a credential, and a credential that came into
// an annotation, are no plain value of a change.
func TestOf_ShowsNoCredential(t *testing.T) {
	secret := object(render.KindSecret, "nova-db", map[string]any{"data": map[string]any{"password": "aHVudGVyMg==", "host": "eA=="}})
	hash := "spec.template.metadata.annotations[" + v1alpha1.AnnotationAuthtokenHash + "]"
	digests := func() map[string]any {
		return map[string]any{"metadata": map[string]any{"annotations": map[string]any{v1alpha1.AnnotationAuthtokenHash: "plain", "other": "kept"}}}
	}
	api := object(render.KindDeployment, "nova", map[string]any{"spec": map[string]any{"template": digests(), "templates": []any{digests()}}})
	api.SetAnnotations(map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "plain"})
	got := Of(Input{After: nova(""), Mask: mask, Results: []diff.Result{
		{Key: render.KeyOf(secret), Action: diff.ActionCreate, Live: secret},
		{Key: render.KeyOf(api), Action: diff.ActionUpdate, Before: api, Live: api, Changes: []diff.Change{{Path: hash, From: "plain", To: nil}}},
	}})
	if diff := cmp.Diff([]string{"host", "password"}, got.Objects[0].Keys); diff != "" {
		t.Error(diff)
	}
	data, _, _ := unstructured.NestedStringMap(got.Objects[0].Content, "data")
	if data["password"] != mask.Digest("aHVudGVyMg==") {
		t.Errorf("the password is %s", data["password"])
	}
	if diff := cmp.Diff([]Change{{Path: hash, From: mask.Digest("plain"), To: nil}}, got.Objects[1].Changes); diff != "" {
		t.Error(diff)
	}
	hidden := map[string]any{"metadata": map[string]any{"annotations": map[string]any{v1alpha1.AnnotationAuthtokenHash: mask.Digest("plain"), "other": "kept"}}}
	if diff := cmp.Diff(map[string]any{"template": hidden, "templates": []any{hidden}}, got.Objects[1].after["spec"]); diff != "" {
		t.Error(diff)
	}
	if last, found, _ := unstructured.NestedStringMap(got.Objects[1].after, "metadata", "annotations"); !found || len(last) != 0 {
		t.Errorf("the last applied configuration shows: %v", last)
	}
	if api.GetAnnotations()["kubectl.kubernetes.io/last-applied-configuration"] == "" {
		t.Error("the live object is changed")
	}
}

func TestOf_SaysWhereTheResourceEnds(t *testing.T) {
	event := render.Event{Type: "Normal", Reason: "A", Message: "b"}
	last := pipeline.Decision{
		Conditions: []metav1.Condition{
			condition(v1alpha1.ConditionDatabaseReady, "False", "R"), condition(v1alpha1.ConditionSecretsReady, "True", "S"),
			condition(v1alpha1.ConditionReady, "False", "NotAllReady"), condition(v1alpha1.ConditionStalled, "False", "NotStalled"),
		},
		Err: errors.Join(errors.New("first"), errors.New("second")),
	}
	got := Of(Input{Kind: about, After: nova(""), Forecast: passes(pipeline.Decision{Events: []render.Event{event}}, last)})
	if diff := cmp.Diff([]Condition{{v1alpha1.ConditionDatabaseReady, "R", "of R"}}, got.NotReady); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Event{Event(event)}, got.Events); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"first", "second"}, got.Errors); diff != "" {
		t.Error(diff)
	}
}

// What a forecast takes for done, and is under way, is told.
func TestOf_TellsWhatIsStillWaitedFor(t *testing.T) {
	const note = "DatabaseReady is False now (Waiting: of Waiting); this assumes that the wait ends"
	waits, done := condition(v1alpha1.ConditionDatabaseReady, "False", "Waiting"), condition(v1alpha1.ConditionDatabaseReady, "True", "Done")
	other := condition(v1alpha1.ConditionDatabaseReady, "False", "Other")
	for name, tc := range map[string]struct {
		before      v1alpha1.Resource
		first, last []metav1.Condition
		want        []string
	}{
		"the wait goes on in the first pass":  {nova("", waits), []metav1.Condition{waits}, []metav1.Condition{done}, []string{note}},
		"what is ready before it is no wait":  {nova("", condition(v1alpha1.ConditionSecretsReady, "True", "S"), waits), []metav1.Condition{waits}, []metav1.Condition{done}, []string{note}},
		"the change ends it":                  {nova("", waits), []metav1.Condition{other}, []metav1.Condition{done}, nil},
		"the first pass says nothing of it":   {nova("", waits), nil, []metav1.Condition{done}, nil},
		"nothing ends it":                     {nova("", waits), []metav1.Condition{waits}, []metav1.Condition{waits}, nil},
		"the last pass says nothing of it":    {nova("", waits), []metav1.Condition{waits}, nil, nil},
		"it is ready now":                     {nova("", done), []metav1.Condition{waits}, []metav1.Condition{done}, nil},
		"it is new":                           {nil, []metav1.Condition{waits}, []metav1.Condition{done}, nil},
		"it never said anything":              {nova(""), []metav1.Condition{waits}, []metav1.Condition{done}, nil},
		"only what the kind counts is waited": {nova("", condition(v1alpha1.ConditionReady, "False", "R")), nil, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := &foresee.Forecast{First: pipeline.Decision{Conditions: tc.first}, Last: pipeline.Decision{Conditions: tc.last}}
			got := Of(Input{Kind: about, Before: tc.before, After: nova(""), Forecast: f}).Notes
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOf_ComparesTheConfiguration(t *testing.T) {
	configMap := func(name string, data map[string]any) *unstructured.Unstructured {
		return object(render.KindConfigMap, name, map[string]any{"data": data})
	}
	before := configMap("config-1", map[string]any{"nova.conf": "[DEFAULT]\ndebug = true\nsame = 1\n[pci]\nalias = a\nalias = b\n", "gone.conf": "[x]\ny = z\n"})
	after := configMap("config-2", map[string]any{"nova.conf": "[DEFAULT]\ndebug = false\nsame = 1\n[api]\nnew = 1\n[pci]\nalias = a\n"})
	forecast := func(u *unstructured.Unstructured) *foresee.Forecast { return &foresee.Forecast{Set: wants(u).Set} }
	for name, tc := range map[string]struct {
		in   Input
		want *Configuration
	}{
		"another generation": {Input{After: nova(""), Follows: before, Forecast: forecast(after)}, &Configuration{
			Name: "config-2", Follows: "config-1", Lines: []ConfigLine{
				{"gone.conf", "x", "y", []string{"z"}, nil},
				{"nova.conf", "DEFAULT", "debug", []string{"true"}, []string{"false"}},
				{"nova.conf", "api", "new", nil, []string{"1"}},
				{"nova.conf", "pci", "alias", []string{"a", "b"}, []string{"a"}},
			},
		}},
		"the same generation":         {Input{After: nova(""), Follows: after, Forecast: forecast(after)}, nil},
		"none was in use":             {Input{After: nova(""), Forecast: forecast(after)}, nil},
		"it is deleted":               {Input{Kind: about, Before: nova(""), Follows: before}, nil},
		"none is wanted":              {Input{After: nova(""), Follows: before, Forecast: forecast(object(render.KindService, "config-2", nil))}, nil},
		"another with the same lines": {Input{After: nova(""), Follows: configMap("config-1", nil), Forecast: forecast(configMap("config-2", nil))}, &Configuration{Name: "config-2", Follows: "config-1", Lines: []ConfigLine{}}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Of(tc.in).Configuration); diff != "" {
				t.Error(diff)
			}
		})
	}
}

package preview

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/nova-operator/apply/diff"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/foresee"
)

// An object that one pass deletes and another creates may be recreated when the API server
// is asked about both passes at once.
func TestWanted_LetsWhatIsReplacedBeRecreated(t *testing.T) {
	f := &foresee.Forecast{Set: wants(job(""), deployment("api", "a", 1)).Set}
	f.Set.Desired[1].Policy.ExactData = true
	f.Replaced = map[render.Key]string{render.KeyOf(job("")): "its template changed"}
	got := Wanted(f)
	var policies []render.Policy
	for _, o := range got.Desired {
		policies = append(policies, o.Policy)
	}
	if diff := cmp.Diff([]render.Policy{{Recreate: true}, {ExactData: true}}, policies); diff != "" {
		t.Error(diff)
	}
	if f.Set.Desired[0].Policy.Recreate {
		t.Error("the forecast is changed")
	}
}

// answered is an object as an API server has it: with what it adds and who owns what.
func answered(u *unstructured.Unstructured) *unstructured.Unstructured {
	u = u.DeepCopy()
	u.SetResourceVersion("9")
	u.SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager: render.FieldOwner, Operation: metav1.ManagedFieldsOperationApply,
		FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"x\"}":{".":{},"f:image":{},"f:name":{}}}}}}}`),
	}})
	return u
}

func TestLive_CompletesTheAnswers(t *testing.T) {
	old, next := deployment("api", "a:1", 2), deployment("api", "a:2", 2)
	moved := answered(next)
	_ = unstructured.SetNestedField(moved.Object, "default", "spec", "schedulerName")
	image := "spec.template.spec.containers[name=x].image"
	f := &foresee.Forecast{Set: wants(next).Set, Replaced: map[render.Key]string{}}
	replaced := &foresee.Forecast{Set: wants(next).Set, Replaced: map[render.Key]string{render.KeyOf(next): "its template changed; the next pass"}}
	refused := errors.New("forbidden")
	for name, tc := range map[string]struct {
		result   diff.Result
		forecast *foresee.Forecast
		want     diff.Result
	}{
		"a change of ours moves a default beside it": {
			diff.Result{Action: diff.ActionUpdate, Before: answered(old), Live: moved, Changes: []diff.Change{{Path: image, From: "a:1", To: "a:2", Manager: "kubectl"}}},
			f,
			diff.Result{Action: diff.ActionUpdate, Before: answered(old), Live: moved, Changes: []diff.Change{
				{Path: "spec.schedulerName", To: "default"}, {Path: image, From: "a:1", To: "a:2", Manager: "kubectl"},
			}},
		},
		"what is recreated is compared with its payload": {
			diff.Result{Action: diff.ActionRecreate, Before: answered(old), Live: answered(old), Reason: "immutable"},
			f,
			diff.Result{Action: diff.ActionRecreate, Before: answered(old), Live: next, Reason: "immutable", Changes: []diff.Change{{Path: image, From: "a:1", To: "a:2"}}},
		},
		"what is replaced says why": {
			diff.Result{Action: diff.ActionRecreate, Before: old, Live: old, Reason: "immutable"},
			replaced,
			diff.Result{Action: diff.ActionRecreate, Before: old, Live: next, Reason: "its template changed", Changes: []diff.Change{{Path: image, From: "a:1", To: "a:2"}}},
		},
		"what the server could not be asked about is the payload": {
			diff.Result{Action: diff.ActionCreate}, f, diff.Result{Action: diff.ActionCreate, Live: next},
		},
		"what the server answered stays":       {diff.Result{Action: diff.ActionCreate, Live: moved}, f, diff.Result{Action: diff.ActionCreate, Live: moved}},
		"what failed stays as the server said": {diff.Result{Action: diff.ActionFailed, Err: refused}, f, diff.Result{Action: diff.ActionFailed, Err: refused}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.result.Key, tc.want.Key = render.KeyOf(next), render.KeyOf(next)
			report := diff.Report{Results: []diff.Result{tc.result}}
			got := Live(report, tc.forecast, mask)
			if diff := cmp.Diff([]diff.Result{tc.want}, got, cmpopts.EquateErrors()); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tc.result, report.Results[0], cmpopts.EquateErrors()); diff != "" {
				t.Errorf("the report is changed:\n%s", diff)
			}
		})
	}
}

// Marks of ownership are put on by the applier, and no change of a payload.
func TestPayload_LeavesMarksOut(t *testing.T) {
	before, after := deployment("api", "a:1", 2), deployment("api", "a:2", 2)
	before.SetLabels(map[string]string{diff.OwnerLabels + "kind": "Nova", "a": "b"})
	before.SetOwnerReferences([]metav1.OwnerReference{{Name: "nova"}})
	var paths []string
	for _, c := range Payload(before, after, mask) {
		paths = append(paths, c.Path)
	}
	if diff := cmp.Diff([]string{"metadata.labels.a", "spec.template.spec.containers[name=x].image"}, paths); diff != "" {
		t.Error(diff)
	}
}

func TestInUse(t *testing.T) {
	config := object(render.KindConfigMap, "config", nil)
	if got := InUse(&foresee.Forecast{Set: wants(job(""), config).Set}); got != config {
		t.Errorf("in use is %v", got)
	}
	if got := InUse(&foresee.Forecast{Set: wants(job("")).Set}); got != nil {
		t.Errorf("in use is %v", got)
	}
}

func TestOffline_PairsTwoWorlds(t *testing.T) {
	old, next := deployment("api", "a:1", 2), deployment("api", "a:2", 2)
	image := []diff.Change{{Path: "spec.template.spec.containers[name=x].image", From: "a:1", To: "a:2"}}
	waves := wants(next, object(render.KindSecret, "db", nil))
	waves.Set.Desired[0].Stage = render.StageWorkloads
	once := wants(next)
	once.Set.Desired[0].Policy.CreateOnly = true
	gone := foresee.Forecast{Set: render.Set{Absent: []render.Absent{{Key: render.KeyOf(old), Reason: "off"}}}}
	kept := foresee.Forecast{Set: render.Set{Held: []render.Held{{Key: render.KeyOf(old), Gate: "gate"}}}}
	for name, tc := range map[string]struct {
		before, after *foresee.Forecast
		want          []diff.Result
	}{
		"a new one comes in waves": {nil, &foresee.Forecast{Set: waves.Set}, []diff.Result{
			{Action: diff.ActionCreate, Live: waves.Set.Desired[1].Content}, {Action: diff.ActionCreate, Stage: render.StageWorkloads, Live: next},
		}},
		"the same": {&foresee.Forecast{Set: wants(old).Set}, &foresee.Forecast{Set: wants(old).Set}, []diff.Result{{Action: diff.ActionUnchanged, Before: old, Live: old}}},
		"a change": {&foresee.Forecast{Set: wants(old).Set}, &foresee.Forecast{Set: wants(next).Set}, []diff.Result{{Action: diff.ActionUpdate, Before: old, Live: next, Changes: image}}},
		"what is named by its content does not change": {
			&foresee.Forecast{Set: wants(old).Set}, &foresee.Forecast{Set: once.Set}, []diff.Result{{Action: diff.ActionUnchanged, Before: old, Live: next, Changes: image}},
		},
		"what is replaced": {
			&foresee.Forecast{Set: wants(old).Set}, &foresee.Forecast{Set: wants(next).Set, Replaced: map[render.Key]string{render.KeyOf(old): "its template changed; the next pass"}},
			[]diff.Result{{Action: diff.ActionRecreate, Before: old, Live: next, Changes: image, Reason: "its template changed"}},
		},
		"what is off goes":             {&foresee.Forecast{Set: wants(old).Set}, &gone, []diff.Result{{Action: diff.ActionDelete, Before: old, Reason: "off"}}},
		"what a gate holds stays":      {&foresee.Forecast{Set: wants(old).Set}, &kept, []diff.Result{{Action: diff.ActionHeld, Before: old, Live: old, Reason: "gate"}}},
		"what nobody names is history": {&foresee.Forecast{Set: wants(old).Set}, &foresee.Forecast{}, []diff.Result{{Action: diff.ActionUnchanged, Before: old, Live: old}}},
		"all of a deleted one goes":    {&foresee.Forecast{Set: wants(old).Set}, nil, []diff.Result{{Action: diff.ActionDelete, Before: old}}},
		"nothing on either side":       {nil, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := Offline(tc.before, tc.after, mask)
			for i := range tc.want {
				u := tc.want[i].Live
				if u == nil {
					u = tc.want[i].Before
				}
				tc.want[i].Key = render.KeyOf(u)
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

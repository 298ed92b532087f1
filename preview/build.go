package preview

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/apply/diff"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/foresee"
	"github.com/c5c3/nova-operator/render/pipeline"
	"github.com/c5c3/nova-operator/render/workload"
)

// Input is what is known about one resource.
type Input struct {
	Kind pipeline.Kind
	// Before and After are the resource on both sides; nil where it does not exist.
	Before, After v1alpha1.Resource
	// Forecast is what the passes over After do; nil when it is deleted.
	Forecast *foresee.Forecast
	// Results are the children, in apply order.
	Results []diff.Result
	// Follows is the generation of the configuration in use before; nil without one.
	Follows *unstructured.Unstructured
	Notes   []string
	// Mask is the key of the digests.
	Mask diff.Mask
}

// Of makes the preview of one resource.
func Of(in Input) Resource {
	b := &builder{in: in, out: Resource{
		Kind: in.Kind.Kind, Action: ActionUnchanged, Changes: []Change{}, Sequence: []Run{}, Objects: []Object{},
		Held: []Held{}, NotReady: []Condition{}, Events: []Event{}, Notes: append([]string{}, in.Notes...), Errors: []string{},
	}}
	b.resource()
	b.configuration()
	b.objects()
	b.sequence()
	b.outcome()
	return b.out
}

type builder struct {
	in  Input
	out Resource
}

// resource says what changes in the custom resource itself.
func (b *builder) resource() {
	shown := b.in.After
	switch {
	case b.in.Before == nil:
		b.out.Action = ActionCreate
	case b.in.After == nil:
		b.out.Action, shown = ActionDelete, b.in.Before
		b.out.Notes = append(b.out.Notes, nonEmpty(b.in.Kind.Deletion(b.in.Before))...)
	default:
		before, err := content(b.in.Before)
		after, err2 := content(b.in.After)
		if err = errors.Join(err, err2); err != nil {
			b.out.Errors = append(b.out.Errors, err.Error())
		} else if changes := diff.Compare(before, after, b.in.Mask); len(changes) > 0 {
			b.out.Action, b.out.Changes = ActionChange, b.fields(changes)
		}
	}
	b.out.Namespace, b.out.Name = shown.GetNamespace(), shown.GetName()
}

// content is the part of a resource that its manifest decides.
func content(r v1alpha1.Resource) (*unstructured.Unstructured, error) {
	spec, err := runtime.DefaultUnstructuredConverter.ToUnstructured(r.GetSpec())
	if err != nil {
		return nil, fmt.Errorf("encode %s/%s: %w", r.GetNamespace(), r.GetName(), err)
	}
	return &unstructured.Unstructured{Object: map[string]any{"spec": spec}}, nil
}

// actions translate those of the applier.
var actions = map[diff.Action]Action{
	diff.ActionCreate: ActionCreate, diff.ActionUpdate: ActionChange, diff.ActionUnchanged: ActionUnchanged,
	diff.ActionRecreate: ActionRecreate, diff.ActionDelete: ActionDelete, diff.ActionWait: ActionWait,
	diff.ActionHeld: ActionHeld, diff.ActionRefused: ActionRefused, diff.ActionForeign: ActionUnchanged,
	diff.ActionSkipped: ActionRefused, diff.ActionFailed: ActionRefused,
}

func (b *builder) objects() {
	for _, res := range b.in.Results {
		action := actions[res.Action]
		if action == ActionHeld {
			b.held(res)
			continue
		}
		b.out.Summary.count(action)
		if action == ActionUnchanged {
			continue
		}
		b.out.Objects = append(b.out.Objects, b.object(res, action))
	}
}

// held lists what a gate keeps. Generations of the configuration that stay as history
// are unchanged.
func (b *builder) held(res diff.Result) {
	if workload.Retained(res.Reason) {
		b.out.Summary.count(ActionUnchanged)
		return
	}
	b.out.Summary.count(ActionHeld)
	b.out.Held = append(b.out.Held, Held{res.Key.Kind + "/" + res.Key.Name, res.Reason})
}

func (b *builder) object(res diff.Result, action Action) Object {
	o := Object{
		APIVersion: res.Key.GroupVersion().String(), Kind: res.Key.Kind, Namespace: res.Key.Namespace, Name: res.Key.Name,
		Action: action, Reason: res.Reason, Changes: b.fields(res.Changes),
		before: b.masked(res.Before),
	}
	if action == ActionRecreate && len(res.Before.GetManagedFields()) > 0 {
		o.before = b.masked(diff.Owned(res.Before)) // what replaces it has no defaults yet
	}
	if action != ActionDelete {
		o.after = b.masked(res.Live)
	}
	if action == ActionCreate || action == ActionRecreate {
		o.Content = o.after
	}
	if res.Err != nil {
		o.Error = res.Err.Error()
	}
	if res.Key.GroupVersionKind == render.KindSecret && action == ActionCreate && res.Live != nil {
		data, _, _ := unstructured.NestedMap(res.Live.Object, "data")
		o.Keys = slices.Sorted(maps.Keys(data))
	}
	return o
}

// credentialDigests are the annotations whose value is a digest of a credential: without
// a key it invites guessing.
var credentialDigests = map[string]string{
	v1alpha1.AnnotationAPIDBConnectionHash: "credentials of the API database",
	v1alpha1.AnnotationDBConnectionHash:    "credentials of the cell database",
	v1alpha1.AnnotationAuthtokenHash:       "password of the service user",
	v1alpha1.AnnotationTransportURLHash:    "transport URL of the message bus",
	v1alpha1.AnnotationMetadataSecretHash:  "shared secret of the metadata API",
	v1alpha1.AnnotationComputeConfigHash:   "compute contract",
}

// credential names the credential whose digest stands at a path; "" for any other field.
func credential(path string) string {
	for annotation, words := range credentialDigests {
		if strings.HasSuffix(path, "annotations["+annotation+"]") {
			return words
		}
	}
	return ""
}

func (b *builder) fields(changes []diff.Change) []Change {
	out := make([]Change, 0, len(changes))
	for _, c := range changes {
		if credential(c.Path) != "" || credentialOption(c.Path) {
			c.From, c.To = b.in.Mask.Digest(c.From), b.in.Mask.Digest(c.To)
		}
		out = append(out, Change{c.Path, c.From, c.To, c.Manager})
	}
	return out
}

// outcome says where the resource ends up.
func (b *builder) outcome() {
	if b.in.Forecast == nil {
		return
	}
	last := b.in.Forecast.Last
	for _, c := range last.Conditions {
		if c.Status != metav1.ConditionTrue && slices.Contains(b.in.Kind.Conditions, c.Type) {
			b.out.NotReady = append(b.out.NotReady, Condition{c.Type, c.Reason, c.Message})
		}
	}
	if note := b.waiting(); note != "" {
		b.out.Notes = append(b.out.Notes, note)
	}
	for _, e := range b.in.Forecast.Events() {
		b.out.Events = append(b.out.Events, Event(e))
	}
	for _, err := range render.Unjoin(last.Err) {
		b.out.Errors = append(b.out.Errors, err.Error())
	}
}

// waiting says what the resource waits for now. A forecast takes what is under way for
// done, and a reader must know when it is not.
func (b *builder) waiting() string {
	if b.in.Before == nil {
		return ""
	}
	for _, name := range b.in.Kind.Conditions {
		now := meta.FindStatusCondition(b.in.Before.GetConditions(), name)
		if now == nil || now.Status == metav1.ConditionTrue {
			continue
		}
		last := meta.FindStatusCondition(b.in.Forecast.Last.Conditions, name)
		first := meta.FindStatusCondition(b.in.Forecast.First.Conditions, name)
		if first == nil || first.Reason != now.Reason || last == nil || last.Status != metav1.ConditionTrue {
			return "" // the change ends it, or nothing does
		}
		return fmt.Sprintf("%s is %s now (%s: %s); this assumes that the wait ends", name, now.Status, now.Reason, now.Message)
	}
	return ""
}

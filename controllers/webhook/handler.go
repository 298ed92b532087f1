package webhook

import (
	"context"
	"encoding/json"
	"net/http"

	jsonpatch "github.com/evanphx/json-patch/v5"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	kjson "sigs.k8s.io/json"

	"github.com/c5c3/nova-operator/api/v1alpha1"
)

// mutating stores the defaults of a kind.
type mutating[T any] struct{ defaults func(*T) }

// Handle answers with the difference the defaults make, laid over what was sent.
func (m mutating[T]) Handle(_ context.Context, req admission.Request) admission.Response {
	object, _, err := decode[T](req.Object.Raw)
	if err != nil {
		// The schema is asked next, and says it with the path.
		return admission.Allowed("")
	}
	defaulted, err := m.over(req.Object.Raw, object)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	return admission.PatchResponseFromRaw(req.Object.Raw, defaulted)
}

// over lays the defaults of a resource over the text it was read from.
func (m mutating[T]) over(raw []byte, object *T) ([]byte, error) {
	difference, err := v1alpha1.DefaultsPatch(object, func() { m.defaults(object) })
	if err != nil {
		return nil, err
	}
	return jsonpatch.MergePatch(raw, difference)
}

// validating refuses what breaks the rules of a kind.
type validating[T any] struct {
	kind  string
	rules rules[T]
}

// Handle answers with every violation at once.
func (v validating[T]) Handle(ctx context.Context, req admission.Request) admission.Response {
	object, unreadable, err := decode[T](req.Object.Raw)
	if err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	var old *T
	if req.Operation == admissionv1.Update {
		if old, _, err = decode[T](req.OldObject.Raw); err != nil {
			return admission.Errored(http.StatusBadRequest, err)
		}
	}
	errs, warnings, err := v.rules(ctx, object, old)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err).WithWarnings(warnings...)
	}
	if errs = append(unreadable, errs...); len(errs) > 0 {
		kind := schema.GroupKind{Group: v1alpha1.GroupName, Kind: v.kind}
		invalid := apierrors.NewInvalid(kind, req.Name, errs).ErrStatus
		return admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{Result: &invalid}}.WithWarnings(warnings...)
	}
	return admission.Allowed("").WithWarnings(warnings...)
}

// decode reads a resource. The options of extraConfig that have no line in a file come
// back as errors and do not keep the rest from being read.
func decode[T any](raw []byte) (*T, field.ErrorList, error) {
	var document map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &document); err != nil {
		return nil, nil, err
	}
	unreadable := v1alpha1.TakeUnreadable(document)
	if len(unreadable) > 0 {
		var err error
		if raw, err = json.Marshal(document); err != nil {
			return nil, nil, err
		}
	}
	object := new(T)
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, object); err != nil {
		return nil, nil, err
	}
	return object, unreadable, nil
}

// unlessReleasing admits a request that leaves the spec of a resource alone while the
// resource is being deleted, and hands on every other one. Its finalizer has to come off
// even when the defaults or the rules have changed since the spec was stored. S is the
// type of the spec.
func unlessReleasing[S any](next admission.Handler) admission.Handler {
	return admission.HandlerFunc(func(ctx context.Context, req admission.Request) admission.Response {
		if req.Operation == admissionv1.Update && releasing[S](req.Object.Raw, req.OldObject.Raw) {
			return admission.Allowed("")
		}
		return next.Handle(ctx, req)
	})
}

func releasing[S any](raw, oldRaw []byte) bool {
	type shell struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
		Spec     json.RawMessage   `json:"spec"`
	}
	var object, old shell
	// A client may leave the timestamp out; the stored object has it.
	if json.Unmarshal(raw, &object) != nil || json.Unmarshal(oldRaw, &old) != nil || old.Metadata.DeletionTimestamp == nil {
		return false
	}
	// A client with Go types writes a spec back in other words; a spec no Go type holds
	// is compared word for word.
	return same[S](object.Spec, old.Spec) || same[any](object.Spec, old.Spec)
}

func same[S any](a, b json.RawMessage) bool {
	var left, right S
	return json.Unmarshal(a, &left) == nil && json.Unmarshal(b, &right) == nil && equality.Semantic.DeepEqual(left, right)
}

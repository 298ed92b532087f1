package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/apply/diff"
	"github.com/c5c3/nova-operator/render"
)

// recreate replaces an object whose changed field the API server calls immutable.
// The new object is proved by a dry-run create first, so a mistake in it never costs
// the old one. A changed selector is created by the next pass: until the pods of the
// old selector are being collected, two generations would run side by side. What a person
// had adopted is theirs to delete.
func (r *run) recreate(ctx context.Context, t *task, refusal *diff.Error) error {
	what := strings.Join(refusal.Paths, ", ") + " cannot change"
	if _, adopted := t.Live.GetAnnotations()[AnnotationAdopt]; adopted {
		return &diff.Error{
			Key: t.Key, Op: "replace", Cause: diff.CauseImmutable, Paths: refusal.Paths,
			Err:    fmt.Errorf("%s, and an adopted object (annotation %s) is not replaced", what, AnnotationAdopt),
			Remedy: "delete the object yourself to let it be created anew, or revert the change",
		}
	}
	if err := r.prove(ctx, t.desired); err != nil {
		e := diff.NewError("replace", t.Key, err)
		e.Remedy = strings.TrimPrefix(e.Remedy+"; the live object stays", "; ")
		return e
	}
	old := t.Live
	limits := preconditions{uid: old.GetUID(), version: old.GetResourceVersion()}
	if r.dry { // nothing is lost, and a running Job changes its status all the time
		limits.version = ""
	}
	if err := r.delete(ctx, t.Key, limits); err != nil {
		return diff.NewError("replace", t.Key, err)
	}
	t.res.Action, t.res.Reason = diff.ActionRecreate, what
	if r.dry {
		return nil
	}
	t.res.Live = nil
	if slices.ContainsFunc(refusal.Paths, func(p string) bool { return strings.HasSuffix(p, "selector") }) {
		t.res.Action, t.res.Reason = diff.ActionWait, "deleted, because "+t.res.Reason+"; the next pass creates it"
		return nil
	}
	after, err := r.patch(ctx, t, newName)
	if diff.CauseOf(err) == diff.CauseChanged {
		// Finalizers keep the old one, or somebody else was quicker.
		goesOn, err := r.look(ctx, t)
		if goesOn {
			t.res.Action, t.res.Reason = diff.ActionWait, "deleted; the next pass creates it"
		}
		return err
	}
	if err != nil {
		return diff.NewError("replace", t.Key, err)
	}
	t.res.Live = after
	r.memo.put(r.owner, t.Key, entryOf(t.sum, after))
	return nil
}

// prove asks whether an object could be created. The name is taken, so the answer
// AlreadyExists is the proof: storage comes after defaulting, admission and
// validation.
func (r *run) prove(ctx context.Context, desired *unstructured.Unstructured) error {
	u := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(desired.Object)}
	r.called()
	err := r.client.Create(ctx, u, client.DryRunAll, client.FieldOwner(render.FieldOwner))
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// delete removes one incarnation in the background. An object that is gone already
// is success; one that was replaced meanwhile is CauseChanged.
func (r *run) delete(ctx context.Context, key render.Key, p preconditions) error {
	pre := metav1.Preconditions{UID: &p.uid}
	if p.version != "" {
		pre.ResourceVersion = &p.version
	}
	opts := []client.DeleteOption{client.PropagationPolicy(metav1.DeletePropagationBackground), client.Preconditions(pre)}
	if r.dry {
		opts = append(opts, client.DryRunAll)
	}
	r.called()
	return client.IgnoreNotFound(r.client.Delete(ctx, keyed(key), opts...))
}

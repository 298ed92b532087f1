package apply

import (
	"context"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/apply/diff"
	"github.com/c5c3/nova-operator/render"
)

// staleReader is a cache that has not caught up: it shows the objects frozen in it,
// hides what it is told to, and passes the rest through.
type staleReader struct {
	client.Reader
	frozen map[string]*unstructured.Unstructured
	hidden map[string]bool
}

func (r *staleReader) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if r.hidden[key.Name] {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "things"}, key.Name)
	}
	if u := r.frozen[key.Name]; u != nil {
		u.DeepCopy().DeepCopyInto(obj.(*unstructured.Unstructured))
		return nil
	}
	return r.Reader.Get(ctx, key, obj, opts...)
}

// stale puts a cache in front of the applier that the test controls.
func (e *env) stale() *staleReader {
	r := &staleReader{Reader: e.admin, frozen: map[string]*unstructured.Unstructured{}, hidden: map[string]bool{}}
	e.applier.reader, e.applier.uncached = r, e.admin
	return r
}

func TestCache_OlderThanOurWriteIsNoDrift(t *testing.T) {
	e := newEnv(t)
	cached := e.stale()
	first := desired(e.obj(render.StageConfig, render.Policy{}, configMapDoc))
	second := desired(e.obj(render.StageConfig, render.Policy{}, strings.Replace(configMapDoc, "k: v", "k: w", 1)))
	key := first.Desired[0].Key()
	e.must(first)
	cached.frozen["config"] = e.live(key)
	e.must(second)
	e.calls.take()
	r := e.must(second)
	wantActions(t, r, "config:unchanged")
	e.wantCalls("")
	if len(r.Drifts) != 0 {
		t.Errorf("drifts %+v", r.Drifts)
	}
	// A newer state that differs is drift, cache or not.
	e.patch(key, "kubectl-edit", types.MergePatchType, `{data: {k: x}}`)
	cached.frozen["config"] = e.live(key)
	if r := e.must(second); len(r.Drifts) != 1 {
		t.Errorf("drifts %+v", r.Drifts)
	}
}

func TestCache_WithoutOurNewObjectIsNoDrift(t *testing.T) {
	e := newEnv(t)
	cached := e.stale()
	set := desired(e.obj(render.StageConfig, render.Policy{}, configMapDoc))
	e.must(set)
	cached.hidden["config"] = true
	e.calls.take()
	r := e.must(set)
	wantActions(t, r, "config:unchanged")
	e.wantCalls("")
	if len(r.Drifts) != 0 || r.Requests != 1 {
		t.Errorf("%d requests, drifts %+v", r.Requests, r.Drifts)
	}
}

// What the cache does not show may be somebody else's all the same.
func TestCache_ForeignObjectDoesNotLookAbsent(t *testing.T) {
	for name, prepare := range map[string]func(*env){
		"at home":                func(*env) {},
		"on a target":            func(e *env) { e.remote() },
		"in a namespace at home": func(e *env) { e.owner.Namespace, e.owner.Namespaces = "elsewhere", []string{e.ns} },
	} {
		for of, want := range map[whose]string{ofAnother: "it belongs to", ofNobody: "it is not ours"} {
			t.Run(fmt.Sprintf("%s, %s", name, of), func(t *testing.T) {
				e := newEnv(t)
				prepare(e)
				e.stale().hidden["config"] = true
				before := e.place(e.raw(configMapDoc), of)
				r, err := e.run(desired(e.obj(render.StageConfig, render.Policy{}, configMapDoc)))
				wantActions(t, r, "config:refused")
				wantError(t, err, diff.CauseForeign, want)
				e.wantCalls("")
				e.wantUntouched("desired", before)
			})
		}
	}
}

func TestCache_HiddenPredecessorIsTakenOver(t *testing.T) {
	e := newEnv(t)
	e.stale().hidden["config"] = true
	u := e.raw(configMapDoc)
	u.SetAnnotations(map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "{}"})
	u.SetLabels(e.owner.labels())
	if err := e.admin.Create(t.Context(), u, client.FieldOwner("kubectl-client-side-apply")); err != nil {
		t.Fatal(err)
	}
	set := desired(e.obj(render.StageConfig, render.Policy{}, configMapDoc))
	e.must(set)
	live := e.live(set.Desired[0].Key())
	if len(live.GetAnnotations()) != 0 {
		t.Errorf("annotations %v", live.GetAnnotations())
	}
	for _, m := range diff.Managers(live) {
		if m.Name != render.FieldOwner {
			t.Errorf("%s still manages fields", m.Name)
		}
	}
}

// TestCache_ReplacedObjectIsNotWrittenTo shows the cache the old incarnation.
func TestCache_ReplacedObjectIsNotWrittenTo(t *testing.T) {
	e := newEnv(t)
	e.remote()
	cached := e.stale()
	set := desired(e.obj(render.StageConfig, render.Policy{}, configMapDoc))
	key := set.Desired[0].Key()
	e.must(set)
	cached.frozen["config"] = e.live(key)
	if err := e.admin.Delete(t.Context(), keyed(key)); err != nil {
		t.Fatal(err)
	}
	if err := e.admin.Create(t.Context(), e.raw(configMapDoc)); err != nil {
		t.Fatal(err)
	}
	r, err := e.run(desired(e.obj(render.StageConfig, render.Policy{}, strings.Replace(configMapDoc, "k: v", "k: w", 1))))
	wantActions(t, r, "config:refused")
	wantError(t, err, diff.CauseForeign)
	if v, _, _ := unstructured.NestedString(e.live(key).Object, "data", "k"); v != "v" {
		t.Error("the foreign object was written to")
	}
}

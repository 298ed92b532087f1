package apply

import (
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/apply/diff"
	"github.com/c5c3/nova-operator/render"
)

// view is the live state of one pass: whole kinds where prune needs them, single
// objects otherwise.
type view struct {
	a *Applier
	// shelves are what prune looks through, in order.
	shelves []shelf
	// listed are the objects by name.
	listed map[shelf]map[string]*unstructured.Unstructured
	// failed are the listings prune cannot do without.
	failed map[shelf]error
}

// shelf is the objects of one kind in one namespace.
type shelf struct {
	schema.GroupVersionKind
	namespace string
}

func (a *Applier) view(ctx context.Context, namespaces []string, prunable []schema.GroupVersionKind) *view {
	v := &view{a: a, listed: map[shelf]map[string]*unstructured.Unstructured{}, failed: map[shelf]error{}}
	for _, gvk := range prunable {
		for _, namespace := range namespaces {
			v.shelves = append(v.shelves, shelf{gvk, namespace})
		}
	}
	var mu sync.Mutex
	a.each(len(v.shelves), func(i int) {
		in := v.shelves[i]
		objects, err := List(ctx, a.reader, in.GroupVersionKind, in.namespace)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err == nil:
			v.listed[in] = make(map[string]*unstructured.Unstructured, len(objects))
			for _, u := range objects {
				v.listed[in][u.GetName()] = u
			}
		case meta.IsNoMatchError(err):
			v.listed[in] = nil // not served: nothing of it is live
		default:
			v.failed[in] = err
		}
	})
	return v
}

// live returns the cached live object; nil if there is none. What comes from a
// listing is shared with the cache.
func (v *view) live(ctx context.Context, key render.Key) (*unstructured.Unstructured, error) {
	if objects := v.listed[shelf{key.GroupVersionKind, key.Namespace}]; objects != nil {
		return objects[key.Name], nil
	}
	return read(ctx, v.a.reader, key)
}

// read is Get for a report: the error names the object, its class and a remedy.
func read(ctx context.Context, r client.Reader, key render.Key) (*unstructured.Unstructured, error) {
	u, err := Get(ctx, r, key)
	if err != nil {
		return nil, diff.NewError("read", key, err)
	}
	return u, nil
}

// Get reads one object as unstructured; nil if it does not exist. A kind or namespace that
// is missing is an error, which is the reader's own.
func Get(ctx context.Context, r client.Reader, key render.Key) (*unstructured.Unstructured, error) {
	u := keyed(key)
	err := r.Get(ctx, client.ObjectKeyFromObject(u), u)
	if apierrors.IsNotFound(err) && diff.CauseOf(err) == diff.CauseChanged {
		return nil, nil //nolint:nilnil // absence is an answer here, not an error
	}
	if err != nil {
		return nil, err
	}
	u.SetGroupVersionKind(key.GroupVersionKind)
	return u, nil
}

// List reads the objects of one kind in one namespace; none if there are none. They are
// shared with the cache: read only.
func List(
	ctx context.Context, r client.Reader, gvk schema.GroupVersionKind, namespace string, opts ...client.ListOption,
) ([]*unstructured.Unstructured, error) {
	l := &unstructured.UnstructuredList{}
	l.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	if err := r.List(ctx, l, append(opts, client.InNamespace(namespace), client.UnsafeDisableDeepCopy)...); err != nil {
		return nil, fmt.Errorf("list %s in %s: %w", gvk.Kind, namespace, err)
	}
	out := make([]*unstructured.Unstructured, len(l.Items))
	for i := range l.Items {
		out[i] = &unstructured.Unstructured{Object: l.Items[i].Object}
	}
	return out, nil
}

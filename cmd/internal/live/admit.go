package live

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/apply/diff"
	"github.com/c5c3/nova-operator/cmd/internal/kind"
)

// Admit asks the API server what it would store for a manifest: defaults and admission
// show. live is the resource as it is, nil for a new one. The manifest's spec replaces the
// live one as a whole, as a tool that keeps it in git makes it. Where the answer can't be
// had without a write, the manifest itself stands in, and a note says so. The error is a
// refusal.
func (c *Cluster) Admit(
	ctx context.Context, manifest *unstructured.Unstructured, k kind.Kind, live v1alpha1.Resource,
) (v1alpha1.Resource, []string, error) {
	u, err := merged(manifest, k, live)
	if err != nil {
		return nil, nil, err
	}
	asked := u.DeepCopy()
	if live == nil {
		err = c.client.Create(ctx, asked, client.DryRunAll)
	} else {
		err = c.client.Update(ctx, asked, client.DryRunAll)
	}
	var notes []string
	switch cause := diff.CauseOf(err); {
	case err == nil:
		u = asked
	case cause == diff.CauseMissingNamespace:
		notes = []string{fmt.Sprintf("namespace %s does not exist yet, so the API server could not be asked", u.GetNamespace())}
	case cause == diff.CauseForbidden:
		notes = []string{"the API server could not be asked for its defaults and admission: " + err.Error()}
	default:
		return nil, nil, fmt.Errorf("the API server refuses it: %w", err)
	}
	r, err := decode(u, k)
	return r, notes, err
}

// merged lays a manifest over the live resource.
func merged(manifest *unstructured.Unstructured, k kind.Kind, live v1alpha1.Resource) (*unstructured.Unstructured, error) {
	u := manifest.DeepCopy()
	delete(u.Object, "status")
	if live == nil {
		u.SetResourceVersion("")
		u.SetUID("")
		return u, nil
	}
	raw, err := json.Marshal(live)
	if err != nil {
		return nil, fmt.Errorf("encode the live resource: %w", err)
	}
	out := &unstructured.Unstructured{}
	if err := json.Unmarshal(raw, &out.Object); err != nil {
		return nil, fmt.Errorf("encode the live resource: %w", err)
	}
	out.SetGroupVersionKind(k.GroupVersionKind)
	out.Object["spec"] = u.Object["spec"]
	out.SetLabels(overlaid(out.GetLabels(), u.GetLabels()))
	annotations := overlaid(out.GetAnnotations(), u.GetAnnotations())
	delete(annotations, corev1.LastAppliedConfigAnnotation)
	out.SetAnnotations(annotations)
	return out, nil
}

func overlaid(base, over map[string]string) map[string]string {
	out := map[string]string{}
	maps.Copy(out, base)
	maps.Copy(out, over)
	return out
}

func decode(u *unstructured.Unstructured, k kind.Kind) (v1alpha1.Resource, error) {
	raw, err := json.Marshal(u.Object)
	if err != nil {
		return nil, fmt.Errorf("decode %s %s/%s: %w", u.GetKind(), u.GetNamespace(), u.GetName(), err)
	}
	r := k.New()
	if err := json.Unmarshal(raw, r); err != nil {
		return nil, fmt.Errorf("decode %s %s/%s: %w", u.GetKind(), u.GetNamespace(), u.GetName(), err)
	}
	return r, nil
}

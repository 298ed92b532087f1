package guard_test

import (
	"testing"

	"github.com/fluxcd/pkg/ssa"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// flux is the engine of Flux's kustomize-controller.
func (g *guarded) flux() *ssa.ResourceManager {
	return ssa.NewResourceManager(g.Client, nil, ssa.Owner{Field: "kustomize-controller", Group: "kustomize.toolkit.fluxcd.io"})
}

// A Kustomization that is removed, or whose path loses the guards, leaves them there.
func TestFlux_PrunesNoGuard(t *testing.T) {
	g := guard(t, "guard")
	namespace := g.protectedNamespace()
	changes, err := g.flux().DeleteAll(t.Context(), append(g.copies(), namespace.DeepCopy()), ssa.DeleteOptions{
		PropagationPolicy: "Background", Exclusions: map[string]string{"kustomize.toolkit.fluxcd.io/prune": "disabled"},
	})
	if err == nil {
		t.Error("the namespace, which carries no annotation here, was not refused")
	}
	got := map[ssa.Action]int{}
	for _, e := range changes.Entries {
		got[e.Action]++
	}
	if diff := cmp.Diff(map[ssa.Action]int{ssa.SkippedAction: len(g.objects), ssa.UnknownAction: 1}, got); diff != "" {
		t.Error(diff)
	}
	g.mustStay(append(g.objects, namespace)...)
}

// Flux with spec.force deletes what the API server calls invalid, to make it anew: a typo is
// enough, and the new one is as invalid.
func TestFlux_ForceSparesOnlyAProtectedNova(t *testing.T) {
	g := guard(t, "guard")
	for name, protect := range map[string]bool{"protected": true, "open": false} {
		live := g.nova(name, protect)
		commit := named(kindNova, name)
		commit.SetNamespace(g.Namespace)
		commit.Object["spec"] = map[string]any{"openStackRelease": "2026.l"}
		if _, err := g.flux().Apply(t.Context(), commit, ssa.ApplyOptions{Force: true}); err == nil {
			t.Error("the typo was taken")
		}
		if protect {
			g.mustStay(live)
		} else {
			g.awaitGone(live)
		}
	}
}

// copies are the objects of the installation, for who changes what it is given.
func (g *guarded) copies() []*unstructured.Unstructured {
	out := make([]*unstructured.Unstructured, len(g.objects))
	for i, o := range g.objects {
		out[i] = o.DeepCopy()
	}
	return out
}

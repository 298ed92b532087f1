package preview

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/nova-operator/apply/diff"
	"github.com/c5c3/nova-operator/render"
)

func TestPodsOf(t *testing.T) {
	deployment := func(spec map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "nova"}, "spec": spec}}
	}
	scaler := func(target string) diff.Result {
		return diff.Result{Key: render.Key{GroupVersionKind: render.KindHPA}, Live: &unstructured.Unstructured{Object: map[string]any{
			"spec": map[string]any{"minReplicas": int64(3), "scaleTargetRef": map[string]any{"name": target}},
		}}}
	}
	for name, tc := range map[string]struct {
		spec    map[string]any
		results []diff.Result
		want    int
	}{
		"its own count":               {map[string]any{"replicas": int64(2)}, []diff.Result{scaler("nova")}, 2},
		"the least of its autoscaler": {map[string]any{}, []diff.Result{scaler("other"), scaler("nova")}, 3},
		"another's autoscaler":        {map[string]any{}, []diff.Result{scaler("other")}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			b := &builder{in: Input{Results: tc.results}}
			if got := b.podsOf(deployment(tc.spec)); got != tc.want {
				t.Errorf("%d pods, want %d", got, tc.want)
			}
		})
	}
}

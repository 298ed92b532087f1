package gitops_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/nova-operator/test/process"
)

// The component adds the script to Argo CD's own ConfigMap under the keys of both kinds,
// and nothing else changes.
func TestArgoCD_ComponentAddsTheHealthCheck(t *testing.T) {
	component, err := filepath.Abs(filepath.Join(root, "kustomize", "gitops", "argocd"))
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if component, err = filepath.Rel(dir, component); err != nil {
		t.Fatal(err)
	}
	write(t, dir, map[string]string{
		"kustomization.yaml": "namespace: argocd\nresources: [argocd.yaml]\ncomponents: [" + component + "]\n",
		"argocd.yaml": `
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-cm, labels: {app.kubernetes.io/part-of: argocd}}
data: {url: "https://argocd.example.com"}
`,
	})
	objects, err := process.Kustomize(dir)
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile(filepath.Join(root, "kustomize", "gitops", "argocd", "health.lua"))
	if err != nil {
		t.Fatal(err)
	}
	const key = "resource.customizations.health.nova.openstack.c5c3.io_"
	want := []map[string]any{{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": "argocd-cm", "namespace": "argocd", "labels": map[string]any{"app.kubernetes.io/part-of": "argocd"}},
		"data":     map[string]any{"url": "https://argocd.example.com", key + "Nova": string(script), key + "NovaCompute": string(script)},
	}}
	var got []map[string]any
	for _, o := range objects {
		got = append(got, o.Object)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

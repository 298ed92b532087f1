// Package gitops_test delivers a Nova the way Argo CD and Flux do, and looks at what
// this repository ships for them: health check, examples, overlays and pipelines.
package gitops_test

import (
	"flag"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/c5c3/nova-operator/test/cluster"
)

// root is the repository, as seen from a test.
const root = "../.."

func TestMain(m *testing.M) {
	flag.Parse()
	// Deliveries wait more than they compute.
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	ctrl.SetLogger(logr.Discard())
	crds, err := filepath.Abs(filepath.Join(root, "kustomize", "crd"))
	if err != nil {
		panic(err)
	}
	cluster.Main(m, cluster.Options{Nodes: 3, CRDs: append([]string{crds}, cluster.AllCRDs...)})
}

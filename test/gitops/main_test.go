// Package gitops_test delivers a Nova the way Argo CD and Flux do, and looks at what
// this repository ships for them: health check, examples, overlays and pipelines.
package gitops_test

import (
	"testing"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/c5c3/nova-operator/test/cluster"
	"github.com/c5c3/nova-operator/test/world"
)

// root is the repository, as seen from a test.
const root = "../.."

func TestMain(m *testing.M) {
	world.Parallel(6)
	ctrl.SetLogger(logr.Discard())
	cluster.Main(m, cluster.Options{Nodes: 3, CRDs: world.Definitions(root)})
}

// Package operations_test installs the operator from kustomize/ on a real control plane
// and runs its binary as an installation does: with the arguments of the rendered
// Deployment, a token of the rendered ServiceAccount and nothing but the rendered roles.
package operations_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/c5c3/nova-operator/test/cluster"
	"github.com/c5c3/nova-operator/test/process"
	"github.com/c5c3/nova-operator/test/world"
)

// root is the repository, as seen from a test.
const root = "../.."

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	cluster.Main(m, options())
}

// options are those of every cluster here.
func options() cluster.Options {
	return cluster.Options{CRDs: append(world.Definitions(root), "./testdata/standins.yaml")}
}

// binary builds the operator, once.
var binary = sync.OnceValues(func() (string, error) {
	path, err := filepath.Abs(root)
	if err != nil {
		return "", err
	}
	return process.Build(context.Background(), path)
})

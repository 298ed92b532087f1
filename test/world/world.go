// Package world is where tests on a real API server take place: a namespace with what a
// resource refers to, the operator in the process of the test, and the resource that the
// test is about.
//
// A World knows no kind. A Subject is a World with a resource of one kind in it, and a Kind
// says what a test needs to know of that kind. A package whose tests need more embeds one
// of them:
//
//	type novaWorld struct{ *world.Subject[*v1alpha1.Nova] }
//
//	w := novaWorld{world.Of(world.In(t, c, c.Namespace(t)), world.Novas)}
//	w.Play(w.Namespace)
//	w.Inputs()
//	w.Run()
//	w.Create(w.Minimal())
//	w.AwaitReady()
//
// What cannot be done fails the test. Nothing waits for a length of time: every wait is
// for a state, and ends as cluster.Eventually does. A World stops what it started when its
// test ends; the cluster and the namespace belong to the caller.
package world

import (
	"errors"
	"flag"
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/test/cluster"
	"github.com/c5c3/nova-operator/test/surroundings"
)

// World is a namespace of a cluster.
type World struct {
	T       *testing.T
	Cluster *cluster.Cluster
	// Namespace is metav1.NamespaceAll for a world that is the whole cluster.
	Namespace string
	// Client has the rights of an admin.
	Client client.Client
	// Surroundings are nil before Play.
	Surroundings *surroundings.Surroundings
}

// In returns the world in a namespace, which need not exist yet.
func In(t *testing.T, c *cluster.Cluster, namespace string) *World {
	t.Helper()
	cl, err := NewClient(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	return &World{T: t, Cluster: c, Namespace: namespace, Client: cl}
}

// Play plays what a cloud has around the resources of a namespace, until the test ends;
// metav1.NamespaceAll plays it for the whole cluster.
func (w *World) Play(namespace string) {
	w.T.Helper()
	played, err := surroundings.StartIn(w.T.Context(), w.Cluster.Config, namespace)
	if err != nil {
		w.T.Fatal(err)
	}
	w.Surroundings = played
}

// NewClient returns a client that knows our kinds and those of Kubernetes.
func NewClient(config *rest.Config) (client.Client, error) {
	types := runtime.NewScheme()
	if err := errors.Join(scheme.AddToScheme(types), v1alpha1.AddToScheme(types)); err != nil {
		return nil, err
	}
	return client.New(config, client.Options{Scheme: types})
}

// Definitions are those the operator meets, its own included, for cluster.Options. The
// root of the repository may be relative to the working folder.
func Definitions(root string) []string {
	// A name without a slash is a set of foreign definitions, and Join drops "./".
	return append([]string{root + "/kustomize/crd"}, cluster.AllCRDs...)
}

// Parallel sets how many tests run at a time where the command line does not: tests of a
// World wait more than they compute.
func Parallel(n int) {
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if chosen {
		return
	}
	if err := flag.Set("test.parallel", strconv.Itoa(n)); err != nil {
		panic(err)
	}
}

package world

import (
	"context"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/c5c3/nova-operator/controllers/operator"
)

// RoundTripper is a function that stands between an operator and the API server.
type RoundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f RoundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Run starts an operator that watches this namespace only and reaches Services through
// the surroundings, and stops it with the test. The returned function stops it earlier.
func (w *World) Run(change ...func(*rest.Config, *operator.Options)) (stop func()) {
	w.T.Helper()
	config := rest.CopyConfig(w.Cluster.Config)
	options := operator.Options{
		MetricsAddress: "0", ProbeAddress: "0", SyncPeriod: 10 * time.Minute, Namespace: w.Namespace,
		HTTP: w.Surroundings.Network.Client(), Reused: true,
	}
	for _, c := range change {
		c(config, &options)
	}
	mgr, err := operator.New(config, options)
	if err != nil {
		w.T.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			w.T.Errorf("manager: %v", err)
		}
	})
	w.T.Cleanup(stop)
	return stop
}

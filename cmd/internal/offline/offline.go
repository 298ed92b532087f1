// Package offline previews a change from two states of the manifests, in a world where
// everything a resource refers to is there and works. It asks no cluster.
package offline

import (
	"fmt"
	"reflect"
	"runtime"
	"sync"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/apply/diff"
	"github.com/c5c3/nova-operator/cmd/internal/kind"
	"github.com/c5c3/nova-operator/preview"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/facts"
	"github.com/c5c3/nova-operator/render/foresee"
)

// Pair is one resource on both sides; nil where it does not exist.
type Pair struct {
	Kind          kind.Kind
	Before, After v1alpha1.Resource
	// The Secrets that are known on either side, as an observation names them.
	BeforeSecrets, AfterSecrets map[string]facts.SecretData
}

// Previews previews every pair, as many at a time as there are processors, in the order
// they are given.
func Previews(pairs []Pair, settings render.Settings, mask diff.Mask) []preview.Resource {
	out := make([]preview.Resource, len(pairs))
	next := make(chan int)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range next {
				out[i] = pairs[i].Preview(settings, mask)
			}
		})
	}
	for i := range pairs {
		next <- i
	}
	close(next)
	wg.Wait()
	for i := range pairs {
		out[i].Errors = append(out[i].Errors, renamed(pairs, pairs[i])...)
	}
	return out
}

// renamed says which schemas a new Nova takes from one that goes in the same change: to
// the API server a new name is a new Nova.
func renamed(pairs []Pair, made Pair) (errs []string) {
	after, ok := made.After.(*v1alpha1.Nova)
	if !ok || made.Before != nil {
		return nil
	}
	for _, p := range pairs {
		before, ok := p.Before.(*v1alpha1.Nova)
		if !ok || p.After != nil {
			continue
		}
		for _, s := range after.SharedSchemas(before) {
			what := "its Databases stay and keep it, and this Nova stalls with SchemaInUse"
			if before.Spec.DatabaseDeletionPolicy == v1alpha1.DatabaseDelete {
				what = "it is dropped with that Nova"
			}
			errs = append(errs, fmt.Sprintf("%s: %s is that of Nova %s, which goes in this change: %s. A Nova can't be renamed", s.Path, s, before.Name, what))
		}
	}
	return errs
}

// Preview decides both sides in a world that works, the second from where the first one
// ends.
func (p Pair) Preview(settings render.Settings, mask diff.Mask) preview.Resource {
	in := preview.Input{Kind: p.Kind.Kind, Before: p.Before, After: p.After, Mask: mask}
	var world kind.World
	var before *foresee.Forecast
	if p.Before != nil {
		world = p.Kind.World(p.Before, settings)
		before = settle(world, p.BeforeSecrets)
		in.Follows = preview.InUse(before)
	}
	switch {
	case p.After == nil:
	case p.unchanged():
		in.Forecast = before.Unchanged()
	case p.Before == nil:
		in.Forecast = settle(p.Kind.World(p.After, settings), p.AfterSecrets)
	default:
		world.Become(p.After)
		in.Forecast = settle(world, p.AfterSecrets)
	}
	in.Results = preview.Offline(before, in.Forecast, mask)
	return preview.Of(in)
}

// settle foresees a resource whose references all work.
func settle(w kind.World, secrets map[string]facts.SecretData) *foresee.Forecast {
	w.AddSecrets(secrets)
	w.AssumeInputs()
	f := foresee.Run(w)
	return &f
}

// unchanged reports whether both sides say the same.
func (p Pair) unchanged() bool {
	return p.Before != nil && reflect.DeepEqual(p.Before.GetSpec(), p.After.GetSpec()) && reflect.DeepEqual(p.BeforeSecrets, p.AfterSecrets)
}

// Package offline previews a change from two states of the manifests, in a world where
// everything a Nova refers to is there and works. It asks no cluster.
package offline

import (
	"reflect"
	"runtime"
	"sync"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/apply/diff"
	"github.com/c5c3/nova-operator/preview"
	"github.com/c5c3/nova-operator/render/nova"
)

// Pair is one Nova on both sides; nil where it does not exist.
type Pair struct {
	Before, After *v1alpha1.Nova
	// The Secrets that are known on either side, as an observation names them.
	BeforeSecrets, AfterSecrets map[string]nova.SecretData
}

// Previews previews every pair, as many at a time as there are processors, in the order
// they are given.
func Previews(pairs []Pair, settings nova.Settings, veil diff.Veil) []preview.Resource {
	out := make([]preview.Resource, len(pairs))
	next := make(chan int)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range next {
				out[i] = pairs[i].Preview(settings, veil)
			}
		})
	}
	for i := range pairs {
		next <- i
	}
	close(next)
	wg.Wait()
	return out
}

// Preview decides both sides in a world that works, the second from where the first one
// ends.
func (p Pair) Preview(settings nova.Settings, veil diff.Veil) preview.Resource {
	in := preview.Input{Before: p.Before, After: p.After, Veil: veil}
	var before *nova.Forecast
	world := nova.Input{Settings: settings}
	if p.Before != nil {
		settled := settle(nova.Input{Nova: p.Before, Observed: nova.Observed{Secrets: p.BeforeSecrets}, Settings: settings})
		before, world = &settled, settled.End
		in.Follows = preview.InUse(before)
	}
	switch {
	case p.After == nil:
	case p.unchanged():
		in.Forecast = &nova.Forecast{First: before.Last, Last: before.Last, Set: before.Set}
	default:
		world.Nova = moved(p.After, world.Nova)
		world.Observed = world.Observed.With(p.AfterSecrets)
		settled := settle(world)
		in.Forecast = &settled
	}
	in.Results = preview.Offline(before, in.Forecast, veil)
	return preview.Of(in)
}

// settle foresees a resource whose references all work.
func settle(in nova.Input) nova.Forecast {
	in, _ = nova.Assume(in)
	return nova.Foresee(in)
}

// moved is the resource of the second side with the state the first one reached.
func moved(after, reached *v1alpha1.Nova) *v1alpha1.Nova {
	after = after.DeepCopy()
	if reached != nil {
		after.Status = reached.Status
	}
	return after
}

// unchanged reports whether both sides say the same.
func (p Pair) unchanged() bool {
	return p.Before != nil && reflect.DeepEqual(p.Before.Spec, p.After.Spec) && reflect.DeepEqual(p.BeforeSecrets, p.AfterSecrets)
}

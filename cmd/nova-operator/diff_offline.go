package main

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"sync"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/apply"
	"github.com/c5c3/nova-operator/cmd/internal/manifest"
	"github.com/c5c3/nova-operator/preview"
	"github.com/c5c3/nova-operator/render/nova"
)

// side reads one state of the manifests. A place that does not exist is empty.
func (o *diffOptions) side(place string, stdin io.Reader, stderr io.Writer) (input, error) {
	in, err := readInput(manifest.Source{Places: []string{place}, Namespace: o.source.Namespace}, stdin, stderr)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNoResources) {
		return input{}, nil
	}
	return in, err
}

// pair is one Nova on both sides; nil where it does not exist.
type pair struct {
	before, after               *v1alpha1.Nova
	beforeSecrets, afterSecrets map[string]nova.SecretData
}

// compareSides previews every Nova of either side, in the order of their names.
func compareSides(before, after input, settings nova.Settings, veil apply.Veil) []preview.Resource {
	pairs := map[string]pair{}
	for _, r := range before.resources {
		if r.Nova != nil {
			pairs[sideName(r)] = pair{before: r.Nova, beforeSecrets: before.secretsOf(r.Nova)}
		}
	}
	for _, r := range after.resources {
		if r.Nova != nil {
			p := pairs[sideName(r)]
			p.after, p.afterSecrets = r.Nova, after.secretsOf(r.Nova)
			pairs[sideName(r)] = p
		}
	}
	names := slices.Sorted(maps.Keys(pairs))
	out := make([]preview.Resource, len(names))
	next := make(chan int)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range next {
				out[i] = pairs[names[i]].preview(settings, veil)
			}
		})
	}
	for i := range names {
		next <- i
	}
	close(next)
	wg.Wait()
	return out
}

// preview decides both sides in a world that works, the second from where the first one
// ends.
func (p pair) preview(settings nova.Settings, veil apply.Veil) preview.Resource {
	in := preview.Input{Before: p.before, After: p.after, Veil: veil}
	var before *nova.Forecast
	world := nova.Input{Settings: settings}
	if p.before != nil {
		settled := settle(nova.Input{Nova: p.before, Observed: nova.Observed{Secrets: p.beforeSecrets}, Settings: settings})
		before, world = &settled, settled.End
	}
	switch {
	case p.after == nil:
	case p.unchanged():
		in.Forecast = &nova.Forecast{First: before.Last, Last: before.Last, Set: before.Set}
	default:
		world.Nova = moved(p.after, world.Nova)
		world.Observed = world.Observed.With(p.afterSecrets)
		settled := settle(world)
		in.Forecast = &settled
	}
	in.Items = preview.Offline(before, in.Forecast, veil)
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
func (p pair) unchanged() bool {
	return p.before != nil && reflect.DeepEqual(p.before.Spec, p.after.Spec) && reflect.DeepEqual(p.beforeSecrets, p.afterSecrets)
}

package clusters

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"
)

// errChanged ends an attempt whose registration is no longer the one it began with.
var errChanged = errors.New("its registration changed meanwhile")

// attempt is an engagement until it has succeeded. It ends early where waiting is in
// vain: a cache that may not list a kind never fills, and a registration that was put
// right must not wait for the wrong one.
type attempt struct {
	cancel  context.CancelCauseFunc
	settled atomic.Bool
}

// attempt returns the context of an engagement, too: it goes on after a success.
func (f *Fleet) attempt(ctx context.Context, name multicluster.ClusterName, r Registration) (context.Context, *attempt) {
	a := &attempt{}
	ctx, a.cancel = context.WithCancelCause(ctx)
	go func() {
		tick := time.NewTicker(minBackoff)
		defer tick.Stop()
		for !a.settled.Load() {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if now, err := Find(ctx, f.reader, f.options.Namespace, name.String()); err != nil || now.fingerprint != r.fingerprint {
				a.giveUp(errChanged)
			}
		}
	}()
	return ctx, a
}

// end ends the engagement.
func (a *attempt) end() { a.cancel(context.Canceled) }

func (a *attempt) giveUp(why error) {
	if !a.settled.Load() {
		a.cancel(why)
	}
}

// over settles the attempt. It returns why it was given up, else what came of it, and
// ends a failed one.
func (a *attempt) over(ctx context.Context, err error) error {
	a.settled.Store(true)
	if why := context.Cause(ctx); why != nil {
		return why
	}
	if err != nil {
		a.end()
	}
	return err
}

// watchError gives up where a permission is missing. Once engaged it is logged and tried
// again, as everywhere: a permission may come back.
func (a *attempt) watchError(ctx context.Context, r *toolscache.Reflector, err error) {
	if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
		a.giveUp(err)
	}
	toolscache.DefaultWatchErrorHandler(ctx, r, err)
}

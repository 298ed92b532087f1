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

// attempt is the context of an engagement. Until that has succeeded it ends early where
// waiting is in vain: a cache that may not list a kind never fills, and a registration
// that was put right must not wait for the wrong one.
type attempt struct {
	context.Context
	cancel  context.CancelCauseFunc
	settled atomic.Bool
}

func (f *Fleet) attempt(ctx context.Context, name multicluster.ClusterName, r Registration) *attempt {
	a := &attempt{}
	a.Context, a.cancel = context.WithCancelCause(ctx)
	go func() {
		tick := time.NewTicker(minBackoff)
		defer tick.Stop()
		for !a.settled.Load() {
			select {
			case <-a.Done():
				return
			case <-tick.C:
			}
			if now, err := Find(a, f.reader, f.options.Namespace, name.String()); err != nil || now.fingerprint != r.fingerprint {
				a.giveUp(errChanged)
			}
		}
	}()
	return a
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
func (a *attempt) over(err error) error {
	a.settled.Store(true)
	if why := context.Cause(a); why != nil {
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

package pass

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/c5c3/nova-operator/api/v1alpha1"
)

// writes remembers the version of each resource this process wrote last. A pass on an
// older one would decide on a status that is gone: it would announce transitions and
// count Jobs again, and lose its own writes to conflicts.
type writes struct {
	mu   sync.Mutex
	last map[types.UID]string
}

func newWrites() *writes { return &writes{last: map[types.UID]string{}} }

// note takes the answer to a write.
func (w *writes) note(r v1alpha1.Resource) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last[r.GetUID()] = r.GetResourceVersion()
}

// ahead reports whether a resource from the cache is older than the last write.
func (w *writes) ahead(r v1alpha1.Resource) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	last, ok := w.last[r.GetUID()]
	if !ok {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(r.GetResourceVersion(), last)
	return err == nil && order < 0
}

// forget drops what is remembered about a resource that is gone.
func (w *writes) forget(r v1alpha1.Resource) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.last, r.GetUID())
}

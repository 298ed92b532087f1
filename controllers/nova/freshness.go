package nova

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/c5c3/nova-operator/api/v1alpha1"
)

// writes remembers the version of each Nova this process wrote last. A pass on an
// older one would decide on a status that is gone: it would announce transitions and
// count Jobs again, and lose its own writes to conflicts.
type writes struct {
	mu   sync.Mutex
	last map[types.UID]string
}

func newWrites() *writes { return &writes{last: map[types.UID]string{}} }

// note takes the answer to a write.
func (w *writes) note(n *v1alpha1.Nova) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last[n.UID] = n.ResourceVersion
}

// ahead reports whether a Nova from the cache is older than the last write.
func (w *writes) ahead(n *v1alpha1.Nova) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	last, ok := w.last[n.UID]
	if !ok {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(n.ResourceVersion, last)
	return err == nil && order < 0
}

// forget drops what is remembered about a Nova that is gone.
func (w *writes) forget(n *v1alpha1.Nova) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.last, n.UID)
}

package apply

import (
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/c5c3/nova-operator/apply/diff"
	"github.com/c5c3/nova-operator/render"
)

// defaultMemoLimit bounds the memo, in objects; an entry takes about 300 bytes.
const defaultMemoLimit = 65536

// entry is what the memo knows about one object after a write: what was sent and
// what the server made of it.
type entry struct {
	// desired is the digest of the stamped payload.
	desired diff.Digest
	// owned is the fingerprint of the fields we own in the server's answer.
	owned diff.Digest
	// version is the resourceVersion of that answer: an older live object is a
	// cache that has not caught up.
	version string
	uid     types.UID
}

func entryOf(desired diff.Digest, live *unstructured.Unstructured) entry {
	return entry{desired: desired, owned: diff.Fingerprint(live), version: live.GetResourceVersion(), uid: live.GetUID()}
}

// verdict is what the memo says about a live object.
type verdict int

const (
	// unknown: nothing memoised for this payload.
	unknown verdict = iota
	// same: the payload and every field we own are as the server last answered.
	same
	// lagging: the live object is older than our last write of this payload.
	lagging
	// drifted: the payload is the one last sent, the fields we own are not.
	drifted
)

// judge compares an entry with the payload at hand and the live object.
func (e entry) judge(desired diff.Digest, live *unstructured.Unstructured) verdict {
	switch {
	case e.desired != desired:
		return unknown
	case e.uid != live.GetUID():
		return unknown
	}
	if order, err := resourceversion.CompareResourceVersion(live.GetResourceVersion(), e.version); err == nil && order < 0 {
		return lagging
	}
	if e.owned == diff.Fingerprint(live) {
		return same
	}
	return drifted
}

// memo remembers entries per owner. It is bounded: above the limit the owners least
// recently planned are forgotten, which costs them one schema comparison each.
type memo struct {
	mu     sync.Mutex
	limit  int
	size   int
	clock  uint64
	owners map[memoKey]*ownerMemo
}

// memoKey names an owner on one of the clusters; an Owner itself cannot be compared.
type memoKey struct {
	schema.GroupVersionKind
	namespace, name string
	uid             types.UID
	remote          bool
}

func memoKeyOf(o Owner) memoKey {
	return memoKey{o.GroupVersionKind, o.Namespace, o.Name, o.UID, o.Remote}
}

type ownerMemo struct {
	used    uint64
	entries map[render.Key]entry
}

func newMemo(limit int) *memo {
	if limit <= 0 {
		limit = defaultMemoLimit
	}
	return &memo{limit: limit, owners: map[memoKey]*ownerMemo{}}
}

func (m *memo) get(o Owner, k render.Key) (entry, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	om, ok := m.owners[memoKeyOf(o)]
	if !ok {
		return entry{}, false
	}
	e, ok := om.entries[k]
	return e, ok
}

func (m *memo) put(o Owner, k render.Key, e entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	om := m.touch(o)
	if _, known := om.entries[k]; !known {
		m.size++
	}
	om.entries[k] = e
	for m.size > m.limit && len(m.owners) > 1 {
		m.evict(o)
	}
}

func (m *memo) drop(o Owner, k render.Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	om, ok := m.owners[memoKeyOf(o)]
	if !ok {
		return
	}
	if _, known := om.entries[k]; known {
		delete(om.entries, k)
		m.size--
	}
}

// retain forgets the entries of an owner's objects that are no longer desired.
func (m *memo) retain(o Owner, wanted map[render.Key]bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	om, ok := m.owners[memoKeyOf(o)]
	if !ok {
		return
	}
	m.touch(o)
	for k := range om.entries {
		if !wanted[k] {
			delete(om.entries, k)
			m.size--
		}
	}
}

func (m *memo) forget(o Owner) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if om, ok := m.owners[memoKeyOf(o)]; ok {
		m.size -= len(om.entries)
		delete(m.owners, memoKeyOf(o))
	}
}

func (m *memo) touch(o Owner) *ownerMemo {
	key := memoKeyOf(o)
	om, ok := m.owners[key]
	if !ok {
		om = &ownerMemo{entries: map[render.Key]entry{}}
		m.owners[key] = om
	}
	m.clock++
	om.used = m.clock
	return om
}

// evict forgets the owner least recently used, never keep.
func (m *memo) evict(keep Owner) {
	var oldest memoKey
	used := m.clock + 1
	for key, om := range m.owners {
		if key != memoKeyOf(keep) && om.used < used {
			oldest, used = key, om.used
		}
	}
	if om, ok := m.owners[oldest]; ok {
		m.size -= len(om.entries)
		delete(m.owners, oldest)
	}
}

package apply

import (
	"context"
	"crypto/rand"
	"time"

	"k8s.io/client-go/openapi"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/apply/diff"
	"github.com/c5c3/nova-operator/render"
)

// defaultConcurrency is how many objects of one wave are written at a time.
const defaultConcurrency = 8

// Options are what an Applier needs to know about its cluster.
type Options struct {
	// Client writes. Its reads are not used, its REST mapper is.
	Client client.Client
	// Reader gives live objects as unstructured with managedFields, from a cache.
	Reader client.Reader
	// Uncached reads past the cache where a cache miss is not absence: before an object is
	// created, after a lost race, and in a sweep. Nil means Reader.
	Uncached client.Reader
	// OpenAPI serves the cluster's schemas (discovery client's OpenAPIV3). Nil means
	// that the first pass after a start applies every object.
	OpenAPI openapi.Client
	// Concurrency is how many objects of a wave are written at a time; 0 means 8.
	Concurrency int
	// MemoLimit bounds the memo, in objects; 0 means 65,536 (about 20 MB).
	MemoLimit int
	// Now is the clock for durations and schema refreshes; nil means time.Now.
	Now func() time.Time
	// Mask is the key of the digests in changes; zero draws one.
	Mask diff.Mask
}

// Applier carries sets out on one cluster. It is safe for concurrent use by
// different owners; one owner is applied by one caller at a time.
type Applier struct {
	client      client.Client
	reader      client.Reader
	uncached    client.Reader
	schemas     *schemas
	memo        *memo
	concurrency int
	now         func() time.Time
	mask        diff.Mask
}

// New returns an Applier for one cluster.
func New(o Options) *Applier {
	a := &Applier{
		client: o.Client, reader: o.Reader, uncached: o.Uncached,
		memo: newMemo(o.MemoLimit), concurrency: o.Concurrency,
	}
	if a.uncached == nil {
		a.uncached = a.reader
	}
	if a.concurrency <= 0 {
		a.concurrency = defaultConcurrency
	}
	a.now = o.Now
	if a.now == nil {
		a.now = time.Now
	}
	a.schemas = newSchemas(o.OpenAPI, a.now)
	if a.mask = o.Mask; a.mask == (diff.Mask{}) {
		a.mask = NewMask()
	}
	return a
}

// Apply plans and executes. The error is Report.Err, or the reason why there is no
// plan.
func (a *Applier) Apply(ctx context.Context, owner Owner, set render.Set) (diff.Report, error) {
	plan, err := a.Plan(ctx, owner, set)
	if err != nil {
		return diff.Report{}, err
	}
	return a.Execute(ctx, plan)
}

// Forget drops what the memo holds for an owner that is gone.
func (a *Applier) Forget(owner Owner) { a.memo.forget(owner) }

// NewMask draws the key of a mask.
func NewMask() (v diff.Mask) {
	_, _ = rand.Read(v[:]) // never fails
	return v
}

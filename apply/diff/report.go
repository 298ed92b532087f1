package diff

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/nova-operator/render"
)

// Action is what happens, or happened, to one object.
type Action string

// The actions. A plan knows Create, Update, Unchanged, Delete, Wait, Held, Refused
// and Foreign; the rest show only when the API server has answered.
const (
	// ActionCreate: it does not exist yet.
	ActionCreate Action = "create"
	// ActionUpdate: in a plan, it may differ; in a report, it did.
	ActionUpdate Action = "update"
	// ActionUnchanged: it is as desired.
	ActionUnchanged Action = "unchanged"
	// ActionRecreate: a field that cannot change did; deleted and created, or created
	// by the next pass.
	ActionRecreate Action = "recreate"
	// ActionDelete: it is deleted.
	ActionDelete Action = "delete"
	// ActionWait: its predecessor is still being deleted; the next pass goes on.
	ActionWait Action = "wait"
	// ActionHeld: left as it is by a closed gate.
	ActionHeld Action = "held"
	// ActionRefused: a desired object whose name somebody else's object holds.
	ActionRefused Action = "refused"
	// ActionForeign: an absent object that exists, but is not ours: it stays.
	ActionForeign Action = "foreign"
	// ActionSkipped: not tried, because an earlier wave is not done.
	ActionSkipped Action = "skipped"
	// ActionFailed: the API server refused, or the object could not be read.
	ActionFailed Action = "failed"
)

// Change is one field that an apply changed. Values of Secrets are replaced by keyed
// digests (Mask).
type Change struct {
	// Path is the field as users write it: spec.template.spec.containers[name=api].image.
	Path string
	// From and To are JSON values; nil is absent.
	From, To any
	// Manager held the field before, when it was not us; "" if nobody did.
	Manager string
}

// OwnerLabels starts the names of the labels that mark a child of another cluster or
// namespace.
const OwnerLabels = "openstack.c5c3.io/owner-"

// IsMark tells a change of a mark of ownership from one of what was asked for.
func (c Change) IsMark() bool {
	return strings.HasPrefix(c.Path, "metadata.ownerReferences") || strings.HasPrefix(c.Path, "metadata.labels["+OwnerLabels)
}

// Fields lists the paths of changes, the first few by name, each with the manager that
// held it: verb says how ("by", "held by").
func Fields(changes []Change, first int, verb string) string {
	var text strings.Builder
	for i, c := range changes {
		if i == first {
			fmt.Fprintf(&text, " and %d more", len(changes)-first)
			break
		}
		if i > 0 {
			text.WriteString(", ")
		}
		text.WriteString(c.Path)
		if c.Manager != "" {
			fmt.Fprintf(&text, " (%s %s)", verb, c.Manager)
		}
	}
	return text.String()
}

// Conflict is a field we own that another manager claims. It was taken back.
type Conflict struct {
	Key           render.Key
	Path, Manager string
}

// Drift says that fields we own had been changed, or the object deleted, although
// the desired object is the one last applied. It was put right.
type Drift struct {
	Key     render.Key
	Changes []Change
	// Deleted says that the whole object was gone.
	Deleted bool
}

// Result is what happened to one object.
type Result struct {
	Key    render.Key
	Stage  render.Stage
	Action Action
	// Prune says that nobody named the object: it is of a pruned kind.
	Prune bool
	// Reason says why, where the action alone does not: the gate that holds it, the
	// owner that keeps it, what is waited for.
	Reason string
	// Changes lists the fields an update changed.
	Changes []Change
	// Before is the live object that the action was planned on; nil if there was none.
	// It may be shared with the cache: read only.
	Before *unstructured.Unstructured
	// Live is the object after the call as the API server answered, or the cached one
	// when there was no call; nil if it does not exist. It may be shared with the
	// cache: read only.
	Live *unstructured.Unstructured
	// Took is how long the calls for it took; 0 without one.
	Took time.Duration
	Err  error
}

// Counts are the results by action.
type Counts struct {
	Created, Updated, Unchanged, Recreated, Deleted, Waiting, Held, Refused, Foreign, Skipped, Failed int
}

// Report is what one Execute or Preview did.
type Report struct {
	// Results are in the order of the plan: waves, then absent objects, then prune,
	// then held ones.
	Results   []Result
	Conflicts []Conflict
	Drifts    []Drift
	Counts    Counts
	// Requests counts calls to the API server, reads through the cache excepted.
	Requests int
}

// Done says that everything is as desired now: nothing failed, was skipped or waits.
func (r Report) Done() bool {
	c := r.Counts
	return c.Failed+c.Refused+c.Skipped+c.Waiting == 0
}

// Pending says that a deletion must finish before the next pass can go on.
func (r Report) Pending() bool { return r.Counts.Waiting > 0 }

// Err joins the errors of all objects, in order; nil if there are none.
func (r Report) Err() error {
	var errs []error
	for _, res := range r.Results {
		errs = append(errs, res.Err)
	}
	return errors.Join(errs...)
}

// Live returns the object after the pass, nil if it is unknown or does not exist.
func (r Report) Live(key render.Key) *unstructured.Unstructured {
	for _, res := range r.Results {
		if res.Key == key {
			return res.Live
		}
	}
	return nil
}

// Add counts one more result.
func (c *Counts) Add(a Action) {
	switch a {
	case ActionCreate:
		c.Created++
	case ActionUpdate:
		c.Updated++
	case ActionUnchanged:
		c.Unchanged++
	case ActionRecreate:
		c.Recreated++
	case ActionDelete:
		c.Deleted++
	case ActionWait:
		c.Waiting++
	case ActionHeld:
		c.Held++
	case ActionRefused:
		c.Refused++
	case ActionForeign:
		c.Foreign++
	case ActionSkipped:
		c.Skipped++
	case ActionFailed:
		c.Failed++
	}
}

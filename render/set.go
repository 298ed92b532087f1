package render

import (
	"errors"
	"iter"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Absent is an object that must not exist: its feature is off or its block is gone.
// The applier deletes it only when this owner made it.
type Absent struct {
	Key
	// Reason says why in the user's words ("spec.consoleProxy.enabled is false").
	Reason string
	// UID limits the delete to one incarnation. Empty means whichever is live.
	UID string
}

// Held is an object to leave exactly as it is: an input is missing or a gate is
// closed. It is neither applied nor pruned, and it may not exist at all.
type Held struct {
	Key
	// Gate says what holds it ("WaitingForDBCredentials").
	Gate string
}

// Set is the desired state of everything one resource is responsible for. A key is
// in exactly one of the three lists.
type Set struct {
	Desired []Object
	Absent  []Absent
	Held    []Held
	// Prunable lists the kinds for which this decision is complete: live objects of
	// such a kind that carry the owner's mark and are in none of the lists may go.
	// Kinds that hold data are never listed.
	Prunable []schema.GroupVersionKind
}

// Event is one Kubernetes event to record on the resource.
type Event struct {
	// Type is Normal or Warning (corev1.EventTypeNormal, corev1.EventTypeWarning).
	Type, Reason, Message string
}

// ReasonError is a refusal that knows which condition it turns False, and why.
type ReasonError struct {
	Condition, Reason string
	Err               error
}

// Error is the message a person reads in the condition.
func (e *ReasonError) Error() string { return e.Err.Error() }

// Unwrap gives errors.Is and errors.As the cause.
func (e *ReasonError) Unwrap() error { return e.Err }

// Refusals yields every ReasonError in a tree of joined and wrapped errors, in order, but
// none that another one wraps.
func Refusals(err error) iter.Seq[*ReasonError] {
	return func(yield func(*ReasonError) bool) { refusals(err, yield) }
}

// refusals reports whether the walk goes on.
func refusals(err error, yield func(*ReasonError) bool) bool {
	for _, one := range Unjoin(err) {
		reason, ok := one.(*ReasonError) //nolint:errorlint // every one of the tree is wanted; errors.As gives the first
		if ok && !yield(reason) || !ok && !refusals(errors.Unwrap(one), yield) {
			return false
		}
	}
	return true
}

// Unjoin lists the single errors of a joined one; none for nil. It does not look inside an
// error that wraps a joined one, whose own words count.
func Unjoin(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	switch {
	case err == nil:
		return nil
	case !ok:
		return []error{err}
	}
	var out []error
	for _, one := range joined.Unwrap() {
		out = append(out, Unjoin(one)...)
	}
	return out
}

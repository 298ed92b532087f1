package world

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/test/cluster"
)

// Kind is what tests know of a kind of resource.
type Kind[R v1alpha1.Resource] struct {
	// New is an empty resource.
	New func() R
	// Minimal is the smallest one that an API server accepts, in a namespace. It refers to
	// the inputs.
	Minimal func(namespace string) R
	// Secrets are the credentials among the inputs, and Foreign the objects of other kinds.
	Secrets map[string]map[string]string
	Foreign []Foreign
	// Children are the kinds of what it owns.
	Children []schema.GroupVersionKind
	// Recorder is the component of our events about it.
	Recorder string
}

// Foreign names an object of a kind that we only read.
type Foreign struct {
	Kind schema.GroupVersionKind
	Name string
}

// Subject is a world with the resource that a test is about: the one that has the name of
// the smallest.
type Subject[R v1alpha1.Resource] struct {
	*World
	kind Kind[R]
	// name and gvk are those of the resource.
	name string
	gvk  schema.GroupVersionKind
}

// Of makes a resource the subject of a world. It creates nothing.
func Of[R v1alpha1.Resource](w *World, kind Kind[R]) *Subject[R] {
	w.T.Helper()
	gvk, err := apiutil.GVKForObject(kind.New(), w.Client.Scheme())
	if err != nil {
		w.T.Fatal(err)
	}
	return &Subject[R]{World: w, kind: kind, name: kind.Minimal(w.Namespace).GetName(), gvk: gvk}
}

// Minimal is the smallest resource, which the test may change before it creates it.
func (s *Subject[R]) Minimal() R { return s.kind.Minimal(s.Namespace) }

// Inputs creates what the smallest resource refers to.
func (s *Subject[R]) Inputs() {
	s.T.Helper()
	for name, data := range s.kind.Secrets {
		s.Secret(name, data)
	}
	for _, f := range s.kind.Foreign {
		s.Foreign(f.Kind, f.Name)
	}
}

// Live reads the resource.
func (s *Subject[R]) Live(ctx context.Context) (R, error) {
	r := s.kind.New()
	return r, s.Client.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: s.name}, r)
}

// MustLive reads the resource, which is there.
func (s *Subject[R]) MustLive() R {
	s.T.Helper()
	r, err := s.Live(s.T.Context())
	if err != nil {
		s.T.Fatal(err)
	}
	return r
}

// Edit changes the live resource.
func (s *Subject[R]) Edit(change func(R)) {
	s.T.Helper()
	cluster.Eventually(s.T, "an edit of the "+s.gvk.Kind, func(ctx context.Context) (bool, error) {
		r, err := s.Live(ctx)
		if err != nil {
			return false, err
		}
		change(r)
		return true, s.Client.Update(ctx, r)
	})
}

// Delete deletes the resource, and does not wait for its finalizers.
func (s *Subject[R]) Delete() {
	s.T.Helper()
	if err := s.Client.Delete(s.T.Context(), s.MustLive()); err != nil {
		s.T.Fatal(err)
	}
}

// AwaitGone waits until the resource is gone.
func (s *Subject[R]) AwaitGone() {
	s.T.Helper()
	cluster.Eventually(s.T, "the "+s.gvk.Kind+" to go", func(ctx context.Context) (bool, error) {
		_, err := s.Live(ctx)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
}

// AwaitSeen waits until the status is about the live generation.
func (s *Subject[R]) AwaitSeen() {
	s.T.Helper()
	cluster.Eventually(s.T, "a pass", func(ctx context.Context) (bool, error) {
		r, err := s.Live(ctx)
		return err == nil && r.GetObservedGeneration() == r.GetGeneration(), err
	})
}

// AwaitReady waits until the resource is ready in its live generation.
func (s *Subject[R]) AwaitReady() {
	s.T.Helper()
	s.AwaitReason(v1alpha1.ConditionReady, v1alpha1.ReasonAllReady)
}

// AwaitReason waits until a condition of the live generation has a reason, and returns it.
func (s *Subject[R]) AwaitReason(condition, reason string) metav1.Condition {
	s.T.Helper()
	return s.AwaitSays(condition, reason, "")
}

// AwaitSays waits for a message as well; an empty one is any.
func (s *Subject[R]) AwaitSays(condition, reason, message string) metav1.Condition {
	s.T.Helper()
	var found metav1.Condition
	last := "nothing"
	cluster.Eventually(s.T, fmt.Sprintf("%s to say %s: %s", condition, reason, message), func(ctx context.Context) (bool, error) {
		r, err := s.Live(ctx)
		if err != nil {
			return false, fmt.Errorf("%w; before: %s", err, last)
		}
		if c := current(r, condition); c != nil && c.Reason == reason && (message == "" || c.Message == message) {
			found = *c
			return true, nil
		}
		last = says(r, condition)
		return false, errors.New(last)
	})
	return found
}

// current is a condition of the live generation, nil where it has none.
func current(r v1alpha1.Resource, condition string) *metav1.Condition {
	c := meta.FindStatusCondition(r.GetConditions(), condition)
	if c == nil || c.ObservedGeneration != r.GetGeneration() {
		return nil
	}
	return c
}

// says words one condition of a resource, and those that may be why it is not as wanted.
func says(r v1alpha1.Resource, condition string) string {
	text := fmt.Sprintf("generation %d", r.GetGeneration())
	for _, c := range r.GetConditions() {
		if c.Status != metav1.ConditionTrue || c.Type == condition {
			text += fmt.Sprintf("; %s of %d is %s: %s", c.Type, c.ObservedGeneration, c.Reason, c.Message)
		}
	}
	return text
}

// Events are those about resources of the kind.
func (s *Subject[R]) Events() []corev1.Event {
	s.T.Helper()
	events, err := s.events(s.T.Context())
	if err != nil {
		s.T.Fatal(err)
	}
	return events
}

func (s *Subject[R]) events(ctx context.Context) ([]corev1.Event, error) {
	list := &corev1.EventList{}
	if err := s.Client.List(ctx, list, client.InNamespace(s.Namespace)); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list.Items, func(e corev1.Event) bool { return e.InvolvedObject.Kind != s.gvk.Kind }), nil
}

// AwaitEvent waits for an event of ours about the resource whose message has all of the
// texts, and returns the message.
func (s *Subject[R]) AwaitEvent(reason string, mentions ...string) string {
	s.T.Helper()
	message := ""
	cluster.Eventually(s.T, fmt.Sprintf("event %s about %q", reason, mentions), func(ctx context.Context) (bool, error) {
		events, err := s.events(ctx)
		at := slices.IndexFunc(events, func(e corev1.Event) bool {
			missing := func(text string) bool { return !strings.Contains(e.Message, text) }
			return e.Reason == reason && e.InvolvedObject.Name == s.name && e.Source.Component == s.kind.Recorder &&
				!slices.ContainsFunc(mentions, missing)
		})
		if at < 0 {
			return false, err
		}
		message = events[at].Message
		return true, nil
	})
	return message
}

// EachChild visits every object of a child's kind in the namespace, whoever made it.
func (s *Subject[R]) EachChild(visit func(*unstructured.Unstructured)) {
	s.T.Helper()
	for _, gvk := range s.kind.Children {
		for _, u := range s.List(gvk) {
			visit(&u)
		}
	}
}

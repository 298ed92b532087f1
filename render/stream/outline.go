package stream

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/pipeline"
)

// Outline is a decision without its objects, in the shape it is printed in.
type Outline struct {
	Conditions []Condition `json:"conditions"`
	Events     []Event     `json:"events"`
	Absent     []Absent    `json:"absent"`
	Held       []Held      `json:"held"`
	// Prunable lists the kinds of which leftovers go, as kind.group.
	Prunable []string `json:"prunable"`
	// Requeue is a Go duration, "0s" for none.
	Requeue string `json:"requeue"`
}

// Condition is a condition without its transition time, which the recorder stamps.
type Condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message,omitempty"`
}

// Event is an event to record.
type Event struct {
	Type    string `json:"type"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// Absent is an object that must not exist.
type Absent struct {
	// Object is "Kind.group namespace/name".
	Object string `json:"object"`
	Reason string `json:"reason"`
	UID    string `json:"uid,omitempty"`
}

// Held is an object to leave as it is.
type Held struct {
	Object string `json:"object"`
	Gate   string `json:"gate"`
}

// Describe puts a decision into its printed shape. Lists are empty, never absent.
func Describe(r pipeline.Decision) Outline {
	out := Outline{
		Conditions: []Condition{}, Events: []Event{}, Absent: []Absent{}, Held: []Held{}, Prunable: []string{},
		Requeue: r.Requeue.String(),
	}
	for _, c := range r.Conditions {
		out.Conditions = append(out.Conditions, Condition{c.Type, string(c.Status), c.Reason, c.Message})
	}
	for _, e := range r.Events {
		out.Events = append(out.Events, Event(e))
	}
	for _, a := range r.Set.Absent {
		out.Absent = append(out.Absent, Absent{a.String(), a.Reason, a.UID})
	}
	for _, h := range r.Set.Held {
		out.Held = append(out.Held, Held{h.String(), h.Gate})
	}
	for _, kind := range r.Set.Prunable {
		out.Prunable = append(out.Prunable, kind.GroupKind().String())
	}
	return out
}

// Document is a whole decision about one resource, the document of -o json.
type Document struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Placeholders names what a placeholder stands in for, as secret/key.
	Placeholders []string `json:"placeholders"`
	// Desired holds the objects in the order they are applied.
	Desired []Desired `json:"desired"`
	Outline
	// Error is what could not be decided, "" when nothing.
	Error string `json:"error,omitempty"`
}

// Desired is one object that should exist.
type Desired struct {
	Wave   string         `json:"wave"`
	Policy render.Policy  `json:"policy"`
	Object map[string]any `json:"object"`
}

// Fill sets the objects of a decision.
func (d *Document) Fill(set render.Set, o Options) {
	d.Desired = []Desired{}
	for _, stage := range render.Stages {
		for _, object := range set.Desired {
			if object.Stage == stage {
				d.Desired = append(d.Desired, Desired{stage.String(), object.Policy, o.printable(object.Content).Object})
			}
		}
	}
}

// JSON writes one document, indented.
func JSON(w io.Writer, d Document) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(d); err != nil {
		return fmt.Errorf("print %s %s/%s: %w", d.Kind, d.Namespace, d.Name, err)
	}
	return nil
}

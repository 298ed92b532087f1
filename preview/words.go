package preview

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render/stream"
)

// absent stands for a field that is not there.
const absent = "(none)"

// show prints a value on one line. Text that could steer a terminal or end the line is
// quoted.
func show(v any) string {
	switch t := v.(type) {
	case nil:
		return absent
	case string:
		if t == "" || t == absent || strings.ContainsFunc(t, func(r rune) bool { return !unicode.IsPrint(r) }) {
			return strconv.Quote(t)
		}
		return t
	default:
		raw, err := json.Marshal(v)
		if err != nil {
			return fmt.Sprint(v)
		}
		return string(raw)
	}
}

// longest is how much of a value the text form shows, in bytes.
const longest = 2000

// brief cuts a value that nobody reads on a terminal; the other forms have it whole.
func brief(text string) string {
	if len(text) <= longest {
		return text
	}
	return fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(text[:longest], ""), len(text))
}

// values prints the values of an option.
func values(list []string) string {
	if list == nil {
		return absent
	}
	out := make([]string, len(list))
	for i, value := range list {
		out[i] = show(value)
	}
	return strings.Join(out, " | ")
}

// followsConfiguration tells a field that names the generation of the configuration.
func followsConfiguration(path string) bool { return strings.HasSuffix(path, "].configMap.name") }

// telling are the changes worth a line: a name that carries a hash, and a hash, say only
// that something else changed.
func telling(changes []Change) []Change {
	return slices.DeleteFunc(slices.Clone(changes), func(c Change) bool {
		return followsConfiguration(c.Path) || strings.HasSuffix(c.Path, "["+v1alpha1.AnnotationPodSpecHash+"]")
	})
}

// plural counts things.
func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// counted counts the resources by kind, in the order in which the kinds come.
func (d *Document) counted() string {
	counts := map[string]int{}
	var kinds []string
	for i := range d.Resources {
		kind := d.Resources[i].Kind
		if counts[kind]++; counts[kind] == 1 {
			kinds = append(kinds, kind)
		}
	}
	if len(kinds) == 0 {
		return "0 Novas"
	}
	for i, kind := range kinds {
		kinds[i] = plural(counts[kind], kind, kind+"s")
	}
	return strings.Join(kinds, ", ")
}

// Headline says what matters first: what restarts and runs, then what goes.
func (s Summary) Headline() string {
	var parts []string
	switch {
	case s.Rollouts > s.Deployments+s.DaemonSets:
		parts = append(parts, fmt.Sprintf("rolls %s in %d rollouts, %s", s.rolled(), s.Rollouts, plural(s.Pods, "pod", "pods")))
	case s.Rollouts > 0:
		parts = append(parts, fmt.Sprintf("rolls %s, %s", s.rolled(), plural(s.Pods, "pod", "pods")))
	case s.Started+s.Stopped == 0 && s.Create+s.Change+s.Recreate+s.Delete > 0:
		parts = append(parts, "restarts no pod")
	}
	if s.Started > 0 {
		parts = append(parts, "starts "+plural(s.Started, "pod", "pods"))
	}
	if s.Stopped > 0 {
		parts = append(parts, "stops "+plural(s.Stopped, "pod", "pods"))
	}
	if s.Jobs > 0 {
		parts = append(parts, "runs "+plural(s.Jobs, "Job", "Jobs"))
	}
	for _, part := range []struct {
		n    int
		word string
	}{
		{s.Delete, "to delete"},
		{s.Recreate, "to recreate"},
		{s.Create, "to create"},
		{s.Change, "to change"},
		{s.Refused, "that can't be written"},
		{s.Held, "held"},
		{s.Unchanged, "unchanged"},
	} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.word))
		}
	}
	if len(parts) == 0 {
		return "nothing changes"
	}
	return strings.Join(parts, ", ")
}

// rolled counts the workloads that replace their pods.
func (s Summary) rolled() string {
	var parts []string
	if s.Deployments > 0 {
		parts = append(parts, plural(s.Deployments, "Deployment", "Deployments"))
	}
	if s.DaemonSets > 0 {
		parts = append(parts, plural(s.DaemonSets, "DaemonSet", "DaemonSets"))
	}
	return strings.Join(parts, " and ")
}

// sentence says what a run does.
func (s Run) sentence() string {
	text := ""
	switch s.Kind {
	case RunPhase:
		switch s.Phase {
		case phaseDone:
			return "the upgrade is complete"
		case phaseAborted:
			return "the upgrade is taken back"
		}
		return "upgrade phase " + s.Phase
	case RunJob:
		text = s.Object + " runs"
	case RunStart:
		return fmt.Sprintf("%s starts %s", s.Object, plural(s.Pods, "pod", "pods"))
	case RunRollout:
		text = fmt.Sprintf("%s replaces %s", s.Object, plural(s.Pods, "pod", "pods"))
	case RunScale:
		text = s.Object + " scales"
	case RunStop:
		text = fmt.Sprintf("%s stops %s", s.Object, plural(s.Pods, "pod", "pods"))
	}
	if len(s.Why) > 0 {
		text += ": " + stream.OneLine(strings.Join(s.Why, ", "))
	}
	return text
}

// title names an object as kubectl does.
func (o *Object) title() string { return o.Kind + "/" + o.Name }

// about says what happens to an object, on one line.
func (o *Object) about() string {
	text := string(o.Action)
	switch {
	case o.Error != "":
		text += ": " + stream.OneLine(o.Error)
	case o.Reason != "":
		text += ": " + stream.OneLine(o.Reason)
	case len(o.Changes) > 0 && len(telling(o.Changes)) == 0:
		text += ", follows the configuration"
	case len(o.Keys) > 0:
		text += ", keys " + strings.Join(o.Keys, ", ")
	}
	return text
}

func (c Change) suffix() string {
	if c.Manager == "" {
		return ""
	}
	return fmt.Sprintf(" (held by %q, is taken)", c.Manager)
}

func (l ConfigLine) name() string { return fmt.Sprintf("%s [%s] %s", l.File, l.Section, l.Option) }

// heldLines says what each gate leaves as it is, in the order of the gates.
func (r *Resource) heldLines() []string {
	var gates []string
	objects := map[string][]string{}
	for _, h := range r.Held {
		if objects[h.Gate] == nil {
			gates = append(gates, h.Gate)
		}
		objects[h.Gate] = append(objects[h.Gate], h.Object)
	}
	for i, gate := range gates {
		gates[i] = fmt.Sprintf("held by %s: %s", gate, strings.Join(objects[gate], ", "))
	}
	return gates
}

func (r *Resource) title() string { return r.Kind + " " + r.Namespace + "/" + r.Name }

// quiet reports whether there is nothing to say about a resource.
func (r *Resource) quiet() bool {
	return r.Action == ActionUnchanged && len(r.Objects) == 0 && len(r.Errors) == 0 && len(r.Notes) == 0
}

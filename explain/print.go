package explain

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/c5c3/nova-operator/render/stream"
)

// JSON writes the tree as a document.
func (t *Tree) JSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(t); err != nil {
		return fmt.Errorf("print %s %s/%s: %w", t.Kind, t.Namespace, t.Name, err)
	}
	return nil
}

// Text writes the tree for a person: what matters at three in the morning first.
func (t *Tree) Text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s/%s: %s\n", t.Kind, t.Namespace, t.Name, t.headline())
	if b2 := t.Blocker; b2 != nil {
		fmt.Fprintf(&b, "  held by   %s: %s: %s\n", b2.Condition, b2.Reason, stream.OneLine(b2.Message))
		if b2.Since != "" {
			fmt.Fprintf(&b, "  since     %s\n", b2.Since)
		}
		fmt.Fprintf(&b, "  next step %s\n", b2.Next)
	}
	for _, note := range t.Notes {
		fmt.Fprintf(&b, "  note      %s\n", stream.OneLine(note))
	}
	for _, s := range t.Steps {
		s.print(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (t *Tree) headline() string {
	text := "not ready"
	switch {
	case t.Deleting:
		text = "being deleted"
	case t.Ready:
		text = "ready"
	case t.Blocker != nil && t.Blocker.NeedsPerson:
		text = "not ready, and needs a person"
	}
	switch {
	case t.Phase != "":
		text += fmt.Sprintf("; upgrades %s to %s, phase %s", t.Installed, t.Target, t.Phase)
	case t.Installed != "":
		text += "; release " + t.Installed
	}
	if t.Stale {
		text += "; the operator has not seen the newest spec"
	}
	return text
}

func (s *Step) print(b *strings.Builder) {
	state := strings.TrimSpace(s.Status + " " + s.Reason)
	if !s.Reached {
		state = strings.TrimSpace(state + " (not reached)")
	}
	fmt.Fprintf(b, "%-20s %s %s\n", s.Name, s.Condition, state)
	for i, c := range s.Children {
		branch := "├─"
		if i == len(s.Children)-1 {
			branch = "└─"
		}
		line := fmt.Sprintf("  %s %s: %s", branch, c.Object, c.State)
		if c.Detail != "" {
			line += ": " + stream.OneLine(c.Detail)
		}
		b.WriteString(line + "\n")
	}
}

package preview

import (
	"fmt"
	"io"
	"strings"

	"github.com/c5c3/nova-operator/render/stream"
)

// TextOptions are the choices of the text form.
type TextOptions struct {
	// Colour marks what comes, goes and changes with terminal colours.
	Colour bool
}

// ink is a colour of the terminal.
type ink string

const (
	plain  ink = ""
	bold   ink = "\x1b[1m"
	red    ink = "\x1b[31m"
	green  ink = "\x1b[32m"
	yellow ink = "\x1b[33m"
	faint  ink = "\x1b[2m"
	reset      = "\x1b[0m"
)

// marks head the line of an object.
var marks = map[Action]struct {
	sign string
	ink  ink
}{
	ActionCreate: {"+", green}, ActionChange: {"~", yellow}, ActionRecreate: {"±", yellow}, ActionDelete: {"-", red},
	ActionWait: {"+", green}, ActionRefused: {"!", red}, ActionHeld: {"=", faint}, ActionUnchanged: {" ", plain},
}

// text collects lines.
type text struct {
	strings.Builder
	colour bool
}

func (t *text) line(colour ink, format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	if t.colour && colour != plain {
		line = string(colour) + line + reset
	}
	t.WriteString(line + "\n")
}

// Text writes a preview for a person.
func (d *Document) Text(w io.Writer, o TextOptions) error {
	t := &text{colour: o.Colour}
	for i := range d.Resources {
		if r := &d.Resources[i]; !r.quiet() {
			t.resource(r)
			t.WriteString("\n")
		}
	}
	t.line(bold, "%s: %s", d.counted(), d.Summary.Headline())
	_, err := io.WriteString(w, t.String())
	return err
}

func (t *text) resource(r *Resource) {
	mark := marks[r.Action]
	t.line(bold, "%s %s: %s", mark.sign, r.title(), r.Action)
	for _, c := range r.Changes {
		t.line(mark.ink, "    %s: %s → %s", c.Path, brief(show(c.From)), brief(show(c.To)))
	}
	t.line(plain, "  %s", r.Summary.Headline())
	for _, message := range r.Errors {
		t.line(red, "  error: %s", stream.OneLine(message))
	}
	for _, note := range r.Notes {
		t.line(faint, "  note: %s", stream.OneLine(note))
	}
	if len(r.Sequence) > 0 {
		t.line(bold, "  In order:")
		for i, run := range r.Sequence {
			t.line(plain, "    %2d. %s", i+1, run.sentence())
		}
	}
	if c := r.Configuration; c != nil {
		t.line(bold, "  Configuration %s follows %s:", c.Name, c.Follows)
		for _, l := range c.Lines {
			t.line(plain, "      %s: %s → %s", l.name(), brief(values(l.From)), brief(values(l.To)))
		}
	}
	for i := range r.Objects {
		t.object(&r.Objects[i])
	}
	for _, line := range r.heldLines() {
		t.line(faint, "  = %s", line)
	}
	if len(r.NotReady) > 0 {
		t.line(bold, "  Not ready when nothing moves any more:")
		for _, c := range r.NotReady {
			t.line(red, "    %s: %s: %s", c.Type, c.Reason, stream.OneLine(c.Message))
		}
	}
}

func (t *text) object(o *Object) {
	mark := marks[o.Action]
	t.line(mark.ink, "  %s %s: %s", mark.sign, o.title(), o.about())
	for _, c := range telling(o.Changes) {
		t.line(plain, "      %s: %s → %s%s", c.Path, brief(show(c.From)), brief(show(c.To)), c.suffix())
	}
}

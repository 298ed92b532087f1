package preview

import (
	"fmt"
	"html"
	"io"
	"strings"

	"github.com/c5c3/nova-operator/render/stream"
)

// Marker is the first line of the Markdown form. A pipeline finds its own comment by it.
const Marker = "<!-- nova-operator diff -->"

// DefaultLimit is the longest comment GitHub takes, in bytes at most 65,536 characters.
const DefaultLimit = 65536

// markdown is a comment in the making. What does not fit is left out and named.
type markdown struct {
	strings.Builder
	limit int
	// cut are the titles that did not fit.
	cut []string
}

// reserve is the room, in bytes, kept for the line that says what was cut.
const reserve = 600

// Markdown writes a preview as a comment on a pull request of at most limit bytes; 0
// means DefaultLimit. A summary comes first, what each resource does next, and the
// fields of its objects folded last, so that a cut takes those.
func (d *Document) Markdown(w io.Writer, limit int) error {
	if limit <= 0 {
		limit = DefaultLimit
	}
	m := &markdown{limit: limit}
	m.WriteString(Marker + "\n")
	fmt.Fprintf(m, "**%s: %s**\n", d.counted(), d.Summary.Headline())
	if d.From != "" || d.To != "" {
		fmt.Fprintf(m, "\nFrom %s to %s.\n", code(d.From), code(d.To))
	}
	for i := range d.Resources {
		if r := &d.Resources[i]; !r.quiet() {
			m.block(r.title(), r.overview())
		}
	}
	for i := range d.Resources {
		r := &d.Resources[i]
		for j := range r.Objects {
			o := &r.Objects[j]
			m.block(o.Namespace+" "+o.title(), o.folded())
		}
	}
	m.trailer()
	_, err := io.WriteString(w, m.String())
	return err
}

// block adds a part, if it fits as a whole.
func (m *markdown) block(title, body string) {
	if m.Len()+len(body) > m.limit-reserve {
		m.cut = append(m.cut, title)
		return
	}
	m.WriteString(body)
}

// trailer names what was cut, as far as there is room.
func (m *markdown) trailer() {
	if len(m.cut) == 0 {
		return
	}
	head := fmt.Sprintf("\n**Cut, because a comment ends at %d bytes: %s.** ", m.limit, plural(len(m.cut), "part", "parts"))
	tail := "The whole preview: `nova-operator diff -o text` with the same arguments.\n"
	var names []string
	room := m.limit - m.Len() - len(head) - len(tail) - len(" and more. ")
	for _, name := range m.cut {
		if room -= len(name) + len(", "); room < 0 {
			names = append(names, "and more")
			break
		}
		names = append(names, name)
	}
	text := head + strings.Join(names, ", ") + ". " + tail
	if m.Len()+len(text) <= m.limit {
		m.WriteString(text)
	}
}

// overview is a resource without its objects' fields.
func (r *Resource) overview() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n### %s: %s\n%s\n", r.title(), r.Action, r.Summary.Headline())
	var lines []string
	for _, message := range r.Errors {
		lines = append(lines, "error: "+stream.OneLine(message))
	}
	for _, c := range r.NotReady {
		lines = append(lines, fmt.Sprintf("not ready: %s: %s: %s", c.Type, c.Reason, stream.OneLine(c.Message)))
	}
	for _, note := range r.Notes {
		lines = append(lines, "note: "+stream.OneLine(note))
	}
	fence(&b, "text", lines)
	fence(&b, "diff", changeLines(r.Changes))
	if len(r.Sequence) > 0 {
		b.WriteString("\n")
		for i, run := range r.Sequence {
			fmt.Fprintf(&b, "%d. %s\n", i+1, code(run.sentence()))
		}
	}
	fence(&b, "diff", r.Configuration.lines())
	fence(&b, "text", r.heldLines())
	return b.String()
}

// folded is one object behind its title.
func (o *Object) folded() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n<details><summary>%s %s <b>%s</b>: %s</summary>\n",
		marks[o.Action].sign, html.EscapeString(o.Namespace), html.EscapeString(o.title()), html.EscapeString(o.about()))
	fence(&b, "diff", changeLines(telling(o.Changes)))
	b.WriteString("\n</details>\n")
	return b.String()
}

// lines are the options as lines of a patch.
func (c *Configuration) lines() []string {
	if c == nil {
		return nil
	}
	var out []string
	for _, l := range c.Lines {
		if l.From != nil {
			out = append(out, fmt.Sprintf("- %s = %s", l.name(), values(l.From)))
		}
		if l.To != nil {
			out = append(out, fmt.Sprintf("+ %s = %s", l.name(), values(l.To)))
		}
	}
	return out
}

func changeLines(changes []Change) []string {
	var lines []string
	for _, c := range changes {
		if c.From != nil {
			lines = append(lines, fmt.Sprintf("- %s: %s", c.Path, show(c.From)))
		}
		if c.To != nil {
			lines = append(lines, fmt.Sprintf("+ %s: %s%s", c.Path, show(c.To), c.suffix()))
		}
	}
	return lines
}

// fence writes a block of code that no line of it can end.
func fence(b *strings.Builder, language string, lines []string) {
	if len(lines) == 0 {
		return
	}
	ticks := "```"
	for strings.Contains(strings.Join(lines, "\n"), ticks) {
		ticks += "`"
	}
	fmt.Fprintf(b, "\n%s%s\n%s\n%s\n", ticks, language, strings.Join(lines, "\n"), ticks)
}

// code is text as a code span.
func code(text string) string {
	ticks := "`"
	for strings.Contains(text, ticks) {
		ticks += "`"
	}
	if len(ticks) > 1 {
		text = " " + text + " "
	}
	return ticks + text + ticks
}

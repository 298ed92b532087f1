package preview

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// drawn is a document of any size, with text that would break out of its place.
func drawn(t *rapid.T) *Document {
	hostile := rapid.OneOf(
		rapid.String(),
		rapid.SampledFrom([]string{"```", "````\n# owned", "</details><script>", "`x`", "\x1b[2J", "a\nb", "| --- |", strings.Repeat("long ", 500)}),
	)
	changes := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Change {
		return Change{Path: "spec.x", From: hostile.Draw(t, "from"), To: hostile.Draw(t, "to"), Manager: hostile.Draw(t, "manager")}
	}), 0, 6)
	var resources []Resource
	for i := range rapid.IntRange(0, 4).Draw(t, "resources") {
		r := Resource{Kind: "Nova", Namespace: "ns", Name: fmt.Sprintf("nova-%d", i), Action: ActionChange, Changes: changes.Draw(t, "own")}
		r.NotReady = []Condition{{"DatabaseReady", "DBSyncFailed", hostile.Draw(t, "message")}}
		r.Configuration = &Configuration{Name: "b", Follows: "a", Lines: []ConfigLine{{"nova.conf", "DEFAULT", "x", []string{hostile.Draw(t, "line")}, nil}}}
		r.Notes = []string{hostile.Draw(t, "note")}
		r.Sequence = []Run{{Kind: RunJob, Object: "Job/x", Why: []string{hostile.Draw(t, "why")}}}
		for j := range rapid.IntRange(0, 20).Draw(t, "objects") {
			r.Objects = append(r.Objects, Object{
				Kind: "ConfigMap", Namespace: "ns", Name: fmt.Sprintf("object-%d", j), Action: ActionChange, Reason: hostile.Draw(t, "reason"),
				Changes: changes.Draw(t, "changes"),
			})
		}
		resources = append(resources, r)
	}
	return New(ModeLive, "", "", resources)
}

// A comment is never longer than its host takes, starts with the marker and the summary,
// names everything that it leaves out, and no value breaks out of its place.
func TestMarkdown_StaysInItsLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawn(t)
		limit := rapid.IntRange(1500, 40000).Draw(t, "limit")
		var b strings.Builder
		if err := d.Markdown(&b, limit); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		if len(text) > limit {
			t.Fatalf("%d bytes, limit %d", len(text), limit)
		}
		if !strings.HasPrefix(text, Marker+"\n**") {
			t.Fatalf("starts with %q", text[:60])
		}
		parts := strings.Count(text, "<details>")
		for i := range d.Resources {
			parts -= len(d.Resources[i].Objects)
		}
		if parts < 0 && !strings.Contains(text, "**Cut, because a comment ends at") {
			t.Fatalf("%d objects are missing, and nothing says so", -parts)
		}
		if strings.Contains(text, "\x1b") {
			t.Fatal("a terminal sequence got through")
		}
		closed(t, text)
	})
}

// closed follows the fences: outside of them no drawn value may start a line.
func closed(t *rapid.T, text string) {
	fence := ""
	for _, line := range strings.Split(text, "\n") {
		switch {
		case fence == "" && strings.HasPrefix(line, "```"):
			fence = line[:len(line)-len(strings.TrimLeft(line, "`"))]
		case fence != "" && line == fence:
			fence = ""
		case fence == "" && (strings.HasPrefix(line, "# owned") || strings.Contains(line, "<script>") && !strings.Contains(line, "`")):
			t.Fatalf("a value broke out: %q", line)
		}
	}
	if fence != "" {
		t.Fatal("a fence is left open")
	}
}

// The text form holds no terminal sequence of a value, whatever it prints.
func TestText_PrintsNoSequenceOfAValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		if err := drawn(t).Text(&b, TextOptions{}); err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(b.String(), "\x1b\x07\r") {
			t.Fatalf("%q", b.String())
		}
	})
}

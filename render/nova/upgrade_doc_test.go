package nova

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/c5c3/nova-operator/test/golden"
)

// The page shows the state machine as the code has it.
func TestUpgradePage_IsMadeFromTheTable(t *testing.T) {
	const path, begin, end = "../../docs/upgrade.md", "<!-- made by make golden -->\n", "<!-- end -->"
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(raw), begin)
	_, after, found := strings.Cut(rest, end)
	if !found {
		t.Fatalf("%s has no marks", path)
	}
	golden.Same(t, path, []byte(before+begin+diagram()+end+after))
}

// diagram draws the moves between phases, and lists every row.
func diagram() string {
	name := map[string]string{"": "Idle"}
	of := func(phase string) string {
		if n, ok := name[phase]; ok {
			return n
		}
		return phase
	}
	var b strings.Builder
	b.WriteString("```mermaid\nstateDiagram-v2\n    [*] --> Idle\n")
	for _, row := range transitions {
		switch row.from {
		case row.to:
		case anyPhase:
			for _, from := range []string{"Expanding", "Migrating", "RollingUpdate", "Contracting"} {
				fmt.Fprintf(&b, "    %s --> %s: %s\n", from, of(string(row.to)), row.when)
			}
		default:
			fmt.Fprintf(&b, "    %s --> %s: %s\n", of(string(row.from)), of(string(row.to)), row.when)
		}
	}
	b.WriteString("```\n\n| In | When | Then | Next |\n| --- | --- | --- | --- |\n")
	for _, row := range transitions {
		next := of(string(row.to))
		if row.to == row.from {
			next = "the same"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", of(string(row.from)), row.when, row.does, next)
	}
	b.WriteString("\n")
	return b.String()
}

package preview

import (
	"fmt"
	"io"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
	"sigs.k8s.io/yaml"
)

// unifiedContext is how many unchanged lines stand around a difference.
const unifiedContext = 3

// Unified writes a patch of YAML for every object that changes: what other tools read.
// Comments say what a patch can't.
func (d *Document) Unified(w io.Writer) error {
	for i := range d.Resources {
		r := &d.Resources[i]
		if r.quiet() {
			continue
		}
		if _, err := fmt.Fprintf(w, "# %s: %s: %s\n", r.title(), r.Action, r.Summary.Headline()); err != nil {
			return err
		}
		if err := r.Configuration.unified(w, r.Namespace); err != nil {
			return err
		}
		for j := range r.Objects {
			if err := r.Objects[j].unified(w); err != nil {
				return err
			}
		}
	}
	return nil
}

func (o *Object) unified(w io.Writer) error {
	name := strings.ToLower(o.Kind) + "/" + o.Namespace + "/" + o.Name
	before, err := o.yaml(o.before)
	if err != nil {
		return err
	}
	after, err := o.yaml(o.after)
	if err != nil {
		return err
	}
	return patch(w, name, name, before, after)
}

// unified shows a new configuration against the one it follows, one option a line.
func (c *Configuration) unified(w io.Writer, namespace string) error {
	if c == nil {
		return nil
	}
	var before, after strings.Builder
	for _, l := range c.Lines {
		for _, value := range l.From {
			fmt.Fprintf(&before, "%s = %s\n", l.name(), show(value))
		}
		for _, value := range l.To {
			fmt.Fprintf(&after, "%s = %s\n", l.name(), show(value))
		}
	}
	prefix := "configuration/" + namespace + "/"
	return patch(w, prefix+c.Follows, prefix+c.Name, before.String(), after.String())
}

func (o *Object) yaml(object map[string]any) (string, error) {
	if object == nil {
		return "", nil
	}
	raw, err := yaml.Marshal(object)
	if err != nil {
		return "", fmt.Errorf("print %s: %w", o.title(), err)
	}
	return string(raw), nil
}

func patch(w io.Writer, from, to, before, after string) error {
	if before == "" {
		from = "/dev/null"
	}
	if after == "" {
		to = "/dev/null"
	}
	// The library's own writing to w does not tell when that fails.
	text, err := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{
		A: linesOf(before), B: linesOf(after), FromFile: from, ToFile: to, Context: unifiedContext,
	})
	if err != nil {
		return fmt.Errorf("compare %s: %w", to, err)
	}
	_, err = io.WriteString(w, text)
	return err
}

func linesOf(s string) []string {
	if s == "" {
		return nil
	}
	return strings.SplitAfter(strings.TrimSuffix(s, "\n")+"\n", "\n")[:strings.Count(strings.TrimSuffix(s, "\n"), "\n")+1]
}

package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/c5c3/nova-operator/cmd/internal/check"
	"github.com/c5c3/nova-operator/cmd/internal/kind"
	"github.com/c5c3/nova-operator/cmd/internal/manifest"
	"github.com/c5c3/nova-operator/cmd/internal/report"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/foresee"
	"github.com/c5c3/nova-operator/render/pipeline"
	"github.com/c5c3/nova-operator/render/stream"
)

// renderOptions are the flags of render.
type renderOptions struct {
	source   manifest.Source
	observed string
	output   string
	reveal   []string
	flags    settingsFlags
	settings render.Settings
}

func newRenderCommand() *cobra.Command {
	var o renderOptions
	command := &cobra.Command{
		Use:   "render (-f FILE|DIR|- | -k KUSTOMIZATION)",
		Short: "Print the objects a Nova stands for",
		Long: `Prints the objects that should exist for every Nova of the input, in the order
they are applied.

Without --observed everything the Nova refers to is assumed to be there and to work.
Secrets of the input supply the credentials; placeholders stand in for the others and
are named in the output. With --observed, an observation decides which gates are open,
and what is not in it does not exist.

Findings go to standard error, one a line, as FILE:LINE: error: Kind/name: path: message;
the exit code is then 2. Nothing is printed while a manifest has one. What could not be
decided, or keeps a Nova from turning ready in the assumed world, is a finding too.

-o json prints one document for each Nova:
  {kind, namespace, name, placeholders, desired: [{wave, policy, object}], conditions,
   events, absent, held, prunable, requeue, error}`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			return o.run(command.InOrStdin(), command.OutOrStdout(), command.ErrOrStderr())
		},
	}
	sourceFlags(command, &o.source)
	flags := command.Flags()
	flags.StringVar(&o.observed, "observed", "", "file with an observation of the input's one Nova")
	flags.StringVarP(&o.output, "output", "o", "yaml", "yaml or json")
	flags.StringSliceVar(&o.reveal, "secrets", nil, "names of Secrets of the output whose values are printed")
	o.flags.add(command)
	return command
}

func (o *renderOptions) check() error {
	if !slices.Contains([]string{"yaml", "json"}, o.output) {
		return fmt.Errorf("-o %s: must be yaml or json", o.output)
	}
	var err error
	o.settings, err = o.flags.settings()
	return err
}

// run prints the decision about every Nova, or the findings of the input.
func (o *renderOptions) run(stdin io.Reader, stdout, stderr io.Writer) error {
	if err := o.readable(); err != nil {
		return err
	}
	in, err := readInput(o.source, stdin, stderr)
	if err != nil {
		return err
	}
	if in.failed {
		return errFindings
	}
	var decisions []decision
	for _, r := range in.resources {
		k := r.decides()
		if k == nil {
			noteUndecided(stderr, r)
			continue
		}
		d, err := o.decide(*k, r, in)
		if err != nil {
			return err
		}
		decisions = append(decisions, d)
	}
	if o.observed != "" && len(decisions) != 1 {
		return fmt.Errorf("--observed is about one %s, and the input holds %d", strings.Join(kind.Names(), " or "), len(decisions))
	}
	if err := o.revealable(decisions); err != nil {
		return err
	}
	for _, d := range decisions {
		if err := o.print(stdout, d); err != nil {
			return err
		}
		for _, name := range d.placeholders {
			_, _ = fmt.Fprintf(stderr, "note: %s: a placeholder stands in for %s\n", d.Document, name)
		}
		for _, problem := range d.problems(o.observed == "") {
			found := in.find(d.Document, check.Finding{Rule: check.RuleRender, Message: problem})
			if err := report.Text(stderr, []report.Finding{found}); err != nil {
				return err
			}
		}
	}
	if in.failed {
		return errFindings
	}
	return nil
}

// decision is what was decided about one document.
type decision struct {
	resource
	pipeline.Decision
	placeholders []string
}

func (o *renderOptions) decide(k kind.Kind, r resource, in input) (decision, error) {
	world := k.World(r.Resource, o.settings)
	if o.observed != "" {
		err := manifest.Observation(o.observed, world.Document())
		return decision{r, world.Decide(), nil}, err
	}
	world.AddSecrets(in.secretsOf(r.Resource))
	settled, placeholders := foresee.Settle(world)
	return decision{r, settled, placeholders}, nil
}

// problems are findings about a decision: what it could not decide and, in a world that
// is assumed to work, what keeps the Nova from turning ready.
func (d decision) problems(assumed bool) []string {
	var out []string
	told := map[string]bool{}
	for _, err := range render.Unjoin(d.Err) {
		refusals := slices.Collect(render.Refusals(err))
		for _, refused := range refusals {
			told[refused.Condition] = true
			out = append(out, refused.Condition+": "+refused.Error())
		}
		if len(refusals) == 0 {
			out = append(out, err.Error())
		}
	}
	for _, c := range d.Conditions {
		if assumed && c.Status != metav1.ConditionTrue && !told[c.Type] &&
			slices.Contains(d.decides().Conditions, c.Type) {
			out = append(out, fmt.Sprintf("%s: %s: %s", c.Type, c.Reason, c.Message))
		}
	}
	return out
}

// revealable refuses a name that no Secret of the output has.
func (o *renderOptions) revealable(decisions []decision) error {
	var names []string
	for _, d := range decisions {
		names = append(names, stream.Secrets(d.Set)...)
	}
	for _, name := range o.reveal {
		if !slices.Contains(names, name) {
			return fmt.Errorf("--secrets %s: the output has no Secret of that name, only %s", name, strings.Join(names, ", "))
		}
	}
	return nil
}

func (o *renderOptions) print(w io.Writer, d decision) error {
	show := stream.Options{Reveal: func(name string) bool { return slices.Contains(o.reveal, name) }}
	outline := stream.Describe(d.Decision)
	if o.output == "json" {
		out := stream.Document{
			Kind: d.Object.GetKind(), Namespace: d.Object.GetNamespace(), Name: d.Object.GetName(),
			Placeholders: append([]string{}, d.placeholders...), Outline: outline,
		}
		if d.Err != nil {
			out.Error = d.Err.Error()
		}
		out.Fill(d.Set, show)
		return stream.JSON(w, out)
	}
	var head strings.Builder
	fmt.Fprintf(&head, "# %s %s\n", d.Object.GetKind(), d.fullName())
	for _, name := range d.placeholders {
		fmt.Fprintf(&head, "# placeholder: %s\n", name)
	}
	if _, err := io.WriteString(w, head.String()); err != nil {
		return err
	}
	if err := stream.Comments(w, outline); err != nil {
		return err
	}
	return stream.Objects(w, d.Set, show)
}

// readable refuses an observation that can't be read before anything else is said.
func (o *renderOptions) readable() error {
	if o.observed == "" {
		return nil
	}
	file, err := os.Open(o.observed)
	if err != nil {
		return err
	}
	return file.Close()
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/c5c3/nova-operator/apply"
	"github.com/c5c3/nova-operator/cmd/internal/check"
	"github.com/c5c3/nova-operator/cmd/internal/live"
	"github.com/c5c3/nova-operator/cmd/internal/manifest"
	"github.com/c5c3/nova-operator/cmd/internal/offline"
	"github.com/c5c3/nova-operator/cmd/internal/report"
	"github.com/c5c3/nova-operator/docs"
	"github.com/c5c3/nova-operator/preview"
	"github.com/c5c3/nova-operator/render"
)

const nameDiff = "diff"

// The formats of a preview, and those of what it says against a change.
var (
	previewFormats = []string{"text", "unified", "json", "markdown"}
	findingFormats = []string{"sarif", "github", "gitlab"}
)

// errDiffers says that the change does something; it is printed already.
var errDiffers = errors.New("there are differences")

// diffOptions are the flags of diff.
type diffOptions struct {
	source   manifest.Source
	from, to string
	access   live.Access
	settings settingsFlags
	output   string
	colour   string
	limit    int
	exitZero bool
}

func newDiffCommand() *cobra.Command {
	var o diffOptions
	command := &cobra.Command{
		Use:   nameDiff + " (-f FILE|DIR|- | -k KUSTOMIZATION | --from A --to B)",
		Short: "Show what a change would do, on a cluster or between two revisions",
		Long: `Shows what applying the Novas of the input would do: the objects that change, field by
field, what restarts, which Jobs run, in which order, and what a gate keeps.

With -f or -k the input is compared with the cluster of the kubeconfig. The decision is
the operator's own, from what is observed there now; every object that may differ is
sent with dry run, so defaults and admission show. Nothing is written.

With --from and --to two states of the manifests are compared without a cluster. Each is
a file, a directory, a kustomization or git:REV:PATH; a place that does not exist on one
side counts as empty. Everything a Nova refers to is assumed to be there and to work.

Values of Secrets never appear: a digest with a key drawn anew in each run stands in, so
that a change shows and digests of two runs don't compare.

The exit code is 0 without differences, 1 with differences, 2 when the input has findings
or a resource can't get to where the change wants it, and 3 on any other error.`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			err := o.run(command.Context(), command.InOrStdin(), command.OutOrStdout(), command.ErrOrStderr())
			if errors.Is(err, errDiffers) && o.exitZero {
				return nil
			}
			return err
		},
	}
	flags := command.Flags()
	placeFlags(command, &o.source)
	flags.StringVar(&o.from, "from", "", "the state before: a file, directory, kustomization or git:REV:PATH")
	flags.StringVar(&o.to, "to", "", "the state after, in the same forms")
	flags.StringVarP(&o.output, "output", "o", "text", "text, unified, json or markdown; sarif, github or gitlab for findings alone")
	flags.StringVar(&o.colour, "color", "auto", "auto, always or never, for text")
	flags.IntVar(&o.limit, "limit", preview.DefaultLimit, "longest Markdown, in bytes; what does not fit is named")
	flags.BoolVar(&o.exitZero, "exit-zero", false, "exit with 0 when there are differences")
	accessFlags(command, &o.access)
	o.settings.add(command)
	command.MarkFlagsOneRequired("filename", "kustomize", "from")
	command.MarkFlagsRequiredTogether("from", "to")
	for _, live := range []string{"filename", "kustomize", "kubeconfig", "context"} {
		command.MarkFlagsMutuallyExclusive(live, "from")
	}
	return command
}

// accessFlags are the flags of every command that looks at a cluster.
func accessFlags(command *cobra.Command, access *live.Access) {
	command.Flags().StringVar(&access.Kubeconfig, "kubeconfig", "", "kubeconfig of the cluster")
	command.Flags().StringVar(&access.Context, "context", "", "context of the kubeconfig")
}

func (o *diffOptions) run(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) error {
	if formats := append(previewFormats, findingFormats...); !slices.Contains(formats, o.output) {
		return fmt.Errorf("-o %s: must be one of %s", o.output, strings.Join(formats, ", "))
	}
	if !slices.Contains([]string{"auto", "always", "never"}, o.colour) {
		return fmt.Errorf("--color %s: must be auto, always or never", o.colour)
	}
	settings, err := o.settings.settings()
	if err != nil {
		return err
	}
	in, err := o.after(stdin, stderr)
	if err != nil {
		return err
	}
	var document *preview.Document
	switch {
	case in.failed:
		document = preview.New("", "", "", nil)
	case o.from != "":
		document, err = o.offline(in, settings, stdin)
	default:
		document, err = o.live(ctx, in, settings)
	}
	if err != nil {
		return err
	}
	if err := o.print(in, document, stdout); err != nil {
		return err
	}
	switch {
	case in.failed || document.Failed():
		return errFindings
	case document.Differs():
		return errDiffers
	default:
		return nil
	}
}

// after reads the state that is wanted.
func (o *diffOptions) after(stdin io.Reader, stderr io.Writer) (input, error) {
	var in input
	var err error
	if o.from == "" {
		in, err = readInput(o.source, stdin, stderr)
	} else if in, err = o.side(o.to, stdin, stderr); err != nil {
		err = fmt.Errorf("--to: %w", err)
	}
	for _, r := range in.resources {
		if r.decides() == nil && !in.failed {
			noteUndecided(stderr, r)
		}
	}
	return in, err
}

func (o *diffOptions) print(in input, d *preview.Document, w io.Writer) error {
	if slices.Contains(findingFormats, o.output) {
		base, err := os.Getwd()
		if err != nil {
			return err
		}
		return report.Write(w, o.output, report.Report{Findings: append(in.findings, findingsOf(in, d)...)}, manifest.RepositoryRoot(base))
	}
	if in.failed {
		return nil // the findings stand on standard error
	}
	switch o.output {
	case "unified":
		return d.Unified(w)
	case "json":
		return d.JSON(w)
	case "markdown":
		return d.Markdown(w, o.limit)
	default:
		return d.Text(w, preview.TextOptions{Colour: o.coloured(w)})
	}
}

// findingsOf are what a preview says against a change, at the resource it is about: an
// error where the resource can't get there, a warning for what it then waits for.
func findingsOf(in input, d *preview.Document) []report.Finding {
	var out []report.Finding
	for i := range d.Resources {
		r := &d.Resources[i]
		for _, document := range in.resources {
			if document.Object.GetKind() != r.Kind || document.fullName() != r.Namespace+"/"+r.Name {
				continue
			}
			told := map[string]bool{}
			for _, c := range r.NotReady {
				told[c.Message] = true
				out = append(out, report.New(document.Document, check.Finding{
					Rule: check.RuleRender, Message: c.Type + ": " + c.Reason + ": " + c.Message, Suggestion: docs.Remedy(c.Type, c.Reason),
					Warning: !slices.Contains(r.Errors, c.Message),
				}))
			}
			for _, message := range r.Errors {
				if !told[message] {
					out = append(out, report.New(document.Document, check.Finding{Rule: check.RuleRender, Message: message}))
				}
			}
		}
	}
	return out
}

// coloured follows the flag, or the terminal and NO_COLOR.
func (o *diffOptions) coloured(w io.Writer) bool {
	if o.colour != "auto" {
		return o.colour == "always"
	}
	file, ok := w.(*os.File)
	return ok && os.Getenv("NO_COLOR") == "" && term.IsTerminal(int(file.Fd()))
}

// live compares the input with a cluster.
func (o *diffOptions) live(ctx context.Context, in input, settings render.Settings) (*preview.Document, error) {
	cluster, err := live.Connect(o.access, apply.NewMask())
	if err != nil {
		return nil, err
	}
	settings, notes := cluster.Settings(ctx, settings)
	resources := []preview.Resource{}
	for _, r := range in.resources {
		k := r.decides()
		if k == nil {
			continue
		}
		one, err := cluster.Preview(ctx, live.Change{Kind: *k, Manifest: r.Object, Secrets: in.secretsOf(r.Resource)}, settings, notes)
		if err != nil {
			return nil, err
		}
		resources = append(resources, one)
	}
	return preview.New(preview.ModeLive, "", "", resources), nil
}

// noteUndecided says that a resource is of a kind that this build does not decide about.
func noteUndecided(stderr io.Writer, r resource) {
	_, _ = fmt.Fprintf(stderr, "note: %s: %s\n", r.Document, r.undecided())
}

func (r resource) undecided() string {
	return fmt.Sprintf("a %s is checked but not rendered by this build", r.Object.GetKind())
}

// offline compares the input with another state of the manifests.
func (o *diffOptions) offline(after input, settings render.Settings, stdin io.Reader) (*preview.Document, error) {
	before, err := o.side(o.from, stdin, io.Discard)
	if err != nil {
		return nil, fmt.Errorf("--from: %w", err)
	}
	resources := offline.Previews(pairUp(before, after), settings, apply.NewMask())
	return preview.New(preview.ModeOffline, o.from, o.to, resources), nil
}

package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/c5c3/nova-operator/cmd/internal/manifest"
	"github.com/c5c3/nova-operator/cmd/internal/report"
)

// validateOptions are the flags of validate.
type validateOptions struct {
	source manifest.Source
	output string
	strict bool
}

func newValidateCommand() *cobra.Command {
	var o validateOptions
	command := &cobra.Command{
		Use:   "validate (-f FILE|DIR|git:REV:PATH|- | -k KUSTOMIZATION)",
		Short: "Check Nova and NovaCompute manifests as the API server and the webhooks would",
		Long: `Checks every Nova and NovaCompute of the input: unknown fields, the schema of
this build's definitions with its rules, the rules of the webhooks, and the options of
the release. Other kinds are left alone. Rules that compare with the stored resource need
a cluster and are not checked.

Findings go to standard error, one a line, as
FILE:LINE: error: Kind/name: path: message; suggestion, and the exit code is then 2.
Warnings do not change it without --strict. With -o json, sarif, github or gitlab the
whole report goes to standard output instead.`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if !slices.Contains(report.Formats, o.output) {
				return fmt.Errorf("-o %s: must be one of %s", o.output, strings.Join(report.Formats, ", "))
			}
			return o.run(command.InOrStdin(), command.OutOrStdout(), command.ErrOrStderr())
		},
	}
	sourceFlags(command, &o.source)
	command.Flags().StringVarP(&o.output, "output", "o", report.Formats[0], strings.Join(report.Formats, ", "))
	command.Flags().BoolVar(&o.strict, "strict", false, "treat warnings as errors")
	return command
}

func (o *validateOptions) run(stdin io.Reader, stdout, stderr io.Writer) error {
	in, err := gather(o.source, stdin)
	if err != nil {
		return err
	}
	out := report.Report{Findings: in.findings}
	for i := range out.Findings {
		if o.strict {
			out.Findings[i].Severity = report.Error
		}
	}
	for _, r := range in.resources {
		out.Resources = append(out.Resources, report.Resource{
			File: r.File, Document: r.Number, Kind: r.Object.GetKind(), Namespace: r.Object.GetNamespace(), Name: r.Object.GetName(),
			Valid: !r.Failed() && (!o.strict || len(r.Findings) == 0),
		})
	}
	if o.output == "text" {
		err = o.text(out, stdout, stderr)
	} else {
		err = o.machine(out, stdout)
	}
	if err == nil && out.Failed() {
		err = errFindings
	}
	return err
}

// text prints findings for people, and what is valid.
func (o *validateOptions) text(out report.Report, stdout, stderr io.Writer) error {
	if err := report.Text(stderr, out.Findings); err != nil {
		return err
	}
	for _, r := range out.Resources {
		if !r.Valid {
			continue
		}
		if _, err := fmt.Fprintf(stdout, "%s: document %d %s/%s: valid\n", r.File, r.Document, r.Kind, r.Name); err != nil {
			return err
		}
	}
	return nil
}

// machine prints the report with paths as a code host names them.
func (o *validateOptions) machine(out report.Report, stdout io.Writer) error {
	base, err := os.Getwd()
	if err != nil {
		return err
	}
	return report.Write(stdout, o.output, out, manifest.RepositoryRoot(base))
}

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/c5c3/nova-operator/cmd/internal/manifest"
)

func newValidateCommand() *cobra.Command {
	var source manifest.Source
	command := &cobra.Command{
		Use:   "validate (-f FILE|DIR|- | -k KUSTOMIZATION)",
		Short: "Check Nova and NovaCompute manifests as the API server and the webhooks would",
		Long: `Checks every Nova and NovaCompute of the input: unknown fields, the schema of
this build's definitions with its rules, and the rules of the webhooks. Other kinds are
left alone. Rules that compare with the stored resource need a cluster and are not
checked.

Findings go to standard error, one a line, as FILE: document N Kind/name: path: message;
the exit code is then 2. Warnings start with "warning:" and do not change it.`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			in, err := readInput(source, command.InOrStdin(), command.ErrOrStderr())
			if err != nil {
				return err
			}
			for _, r := range in.resources {
				if r.Failed() {
					continue
				}
				if _, err := fmt.Fprintf(command.OutOrStdout(), "%s: valid\n", r.Document); err != nil {
					return err
				}
			}
			if in.failed {
				return errFindings
			}
			return nil
		},
	}
	sourceFlags(command, &source)
	return command
}

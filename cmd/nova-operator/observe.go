package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/c5c3/nova-operator/apply"
	"github.com/c5c3/nova-operator/cmd/internal/live"
	"github.com/c5c3/nova-operator/cmd/internal/manifest"
	"github.com/c5c3/nova-operator/render"
)

func newObserveCommand() *cobra.Command {
	var access live.Access
	var namespace string
	command := &cobra.Command{
		Use:   "observe [KIND/]NAME",
		Short: "Print what the operator sees when it decides about a Nova, for a bug report",
		Long: `Prints the observation that the operator would decide from now, as render and explain
take it with --observed. Placeholders stand in for credentials, chosen so that a decision
takes the same turns; digests of credentials in its output are those of the placeholders.
Together with the resource it replays a case:

  kubectl get nova NAME -n NS -o yaml > nova.yaml
  nova-operator observe -n NS NAME > observed.yaml
  nova-operator explain -f nova.yaml --observed observed.yaml`,
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			return observe(command.Context(), access, namespace, args[0], command.OutOrStdout())
		},
	}
	command.Flags().StringVarP(&namespace, "namespace", "n", "default", "namespace of the Nova")
	accessFlags(command, &access)
	return command
}

func observe(ctx context.Context, access live.Access, namespace, name string, stdout io.Writer) error {
	k, name, err := parseName(name)
	if err != nil {
		return err
	}
	cluster, err := live.Connect(access, apply.NewMask())
	if err != nil {
		return err
	}
	settings, _ := cluster.Settings(ctx, render.Settings{})
	r, err := cluster.Found(ctx, k, namespace, name)
	if err != nil {
		return err
	}
	world := k.World(r, settings)
	if err := cluster.Observe(ctx, k, world); err != nil {
		return err
	}
	head := fmt.Sprintf("# What the operator sees of %s %s/%s. Credentials are placeholders.\n", k.Kind.Kind, namespace, name)
	if settings.OperatorNamespace != "" {
		head += fmt.Sprintf("# Replay with --operator-namespace %s.\n", settings.OperatorNamespace)
	}
	world.Mask()
	return manifest.WriteObservation(stdout, head, world.Document(), world.Secrets())
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/c5c3/nova-operator/apply"
	"github.com/c5c3/nova-operator/cmd/internal/live"
	"github.com/c5c3/nova-operator/cmd/internal/manifest"
	"github.com/c5c3/nova-operator/explain"
	"github.com/c5c3/nova-operator/render"
)

// explainOptions are the flags of explain.
type explainOptions struct {
	access    live.Access
	namespace string
	output    string
	file      string
	observed  string
	settings  settingsFlags
}

func newExplainCommand() *cobra.Command {
	var o explainOptions
	command := &cobra.Command{
		Use:   "explain ([KIND/]NAME | -f FILE --observed FILE)",
		Short: "Say why a Nova is as it is, and what to do next",
		Long: `Prints the children of a Nova, step by step, with the state of each: current, missing,
changing, drifted, held by a gate, pruned next. First comes what holds the Nova and the
next step to take.

With NAME the Nova of the cluster is explained; objects that differ are sent with dry run,
and nothing is written. With -f and --observed the same is said about a resource and an
observation, as observe prints them.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			return o.run(command.Context(), args, command.OutOrStdout())
		},
	}
	flags := command.Flags()
	flags.StringVarP(&o.namespace, "namespace", "n", "default", "namespace of the Nova")
	flags.StringVarP(&o.output, "output", "o", "text", "text or json")
	flags.StringVarP(&o.file, "filename", "f", "", "file with the Nova, its status included")
	flags.StringVar(&o.observed, "observed", "", "file with an observation")
	accessFlags(command, &o.access)
	o.settings.add(command)
	command.MarkFlagsRequiredTogether("filename", "observed")
	return command
}

func (o *explainOptions) run(ctx context.Context, args []string, stdout io.Writer) error {
	if !slices.Contains([]string{"text", "json"}, o.output) {
		return fmt.Errorf("-o %s: must be text or json", o.output)
	}
	if (len(args) == 1) == (o.file != "") {
		return errors.New("give the NAME of a Nova, or -f and --observed")
	}
	settings, err := o.settings.settings()
	if err != nil {
		return err
	}
	var tree explain.Tree
	if o.file != "" {
		tree, err = o.replayed(settings)
	} else {
		tree, err = o.fromCluster(ctx, args[0], settings)
	}
	if err != nil {
		return err
	}
	if o.output == "json" {
		return tree.JSON(stdout)
	}
	return tree.Text(stdout)
}

func (o *explainOptions) replayed(settings render.Settings) (explain.Tree, error) {
	k, r, err := readOne(o.file)
	if err != nil {
		return explain.Tree{}, err
	}
	world := k.World(r, settings)
	if err := manifest.Observation(o.observed, world.Document()); err != nil {
		return explain.Tree{}, err
	}
	return explain.Of(explain.Input{Kind: k.Kind, Resource: r, Decision: world.Decide()}), nil
}

func (o *explainOptions) fromCluster(ctx context.Context, name string, settings render.Settings) (explain.Tree, error) {
	k, name, err := parseName(name)
	if err != nil {
		return explain.Tree{}, err
	}
	cluster, err := live.Connect(o.access, apply.NewMask())
	if err != nil {
		return explain.Tree{}, err
	}
	settings, notes := cluster.Settings(ctx, settings)
	return cluster.Explain(ctx, k, o.namespace, name, settings, notes)
}

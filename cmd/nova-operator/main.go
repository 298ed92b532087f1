// Command nova-operator runs OpenStack Nova on Kubernetes, and shows offline what it
// would do.
//
// Exit code 0 is success, 2 means that the input has findings, each printed on
// standard error, and 1 is everything else. Of diff, 1 means differences, and 3 is
// everything else.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// Exit codes.
const (
	exitOK       = 0
	exitError    = 1
	exitFindings = 2
	// diff gives 1 another meaning, as kubectl does.
	exitDiffers   = 1
	exitDiffError = 3
)

// shortLivedGC is how much a heap may grow before it is collected, in percent.
const shortLivedGC = 150

// commands are the subcommands, in the order help lists them.
var commands = []func() *cobra.Command{
	newManagerCommand,
	newRenderCommand,
	newDiffCommand,
	newExplainCommand,
	newObserveCommand,
	newValidateCommand,
	newFunctionCommand,
	newVersionCommand,
}

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run executes one command line and returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := &cobra.Command{
		Use:           "nova-operator",
		Short:         "Runs OpenStack Nova on Kubernetes, and shows offline what it would do",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.PersistentPreRun = func(command *cobra.Command, _ []string) {
		// A command that prints and ends trades memory for time; the manager lives.
		if command.Name() != nameManager {
			debug.SetGCPercent(shortLivedGC)
		}
	}
	cobra.EnableCommandSorting = false
	for _, command := range commands {
		root.AddCommand(command())
	}
	command, err := root.ExecuteC()
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errFindings):
		return exitFindings
	case errors.Is(err, errDiffers):
		return exitDiffers
	}
	_, _ = fmt.Fprintf(stderr, "nova-operator: %v\n", err)
	if command.Name() == nameDiff {
		return exitDiffError
	}
	return exitError
}

package main

import (
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/c5c3/nova-operator/api/catalog"
)

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this build and the releases it knows",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			info, _ := debug.ReadBuildInfo()
			_, err := fmt.Fprint(command.OutOrStdout(), versionText(info))
			return err
		},
	}
}

// versionText says what was built, from which commit, and which option catalogs are
// embedded. Info is nil for a build without module data.
func versionText(info *debug.BuildInfo) string {
	version, commit, golang := "unknown", "unknown", "unknown"
	if info != nil {
		version, golang = info.Main.Version, info.GoVersion
		settings := map[string]string{}
		for _, s := range info.Settings {
			settings[s.Key] = s.Value
		}
		if settings["vcs.revision"] != "" {
			commit = settings["vcs.revision"]
			if settings["vcs.modified"] == "true" {
				commit += " (modified)"
			}
		}
	}
	return fmt.Sprintf("nova-operator %s\ncommit %s\n%s\noption catalogs %s\n",
		version, commit, golang, strings.Join(catalog.Releases(), ", "))
}

package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/c5c3/nova-operator/render"
)

// pullPolicies are the values of --default-image-pull-policy.
var pullPolicies = []string{"", string(corev1.PullAlways), string(corev1.PullIfNotPresent), string(corev1.PullNever)}

// settingsFlags are the operator's own flags that a decision depends on.
type settingsFlags struct {
	namespace, pull string
}

func (s *settingsFlags) add(command *cobra.Command) {
	command.Flags().StringVar(&s.namespace, "operator-namespace", "", "namespace of the operator, which a NetworkPolicy lets in")
	command.Flags().StringVar(&s.pull, "default-image-pull-policy", "", "the operator's flag of this name")
}

func (s *settingsFlags) settings() (render.Settings, error) {
	if !slices.Contains(pullPolicies, s.pull) {
		return render.Settings{}, fmt.Errorf("--default-image-pull-policy %s: must be Always, IfNotPresent or Never", s.pull)
	}
	return render.Settings{OperatorNamespace: s.namespace, PullPolicy: corev1.PullPolicy(s.pull)}, nil
}

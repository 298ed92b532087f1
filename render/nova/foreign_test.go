package nova

import (
	"encoding/json"
	"strings"
	"testing"

	mariadbv1alpha1 "github.com/mariadb-operator/mariadb-operator/api/v1alpha1"
	autoscalingv1 "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"sigs.k8s.io/yaml"
)

// The objects that are written out by hand must say nothing that the kind's own type
// does not know: a misspelt field would be dropped in silence.
func TestForeignKinds_KnowEveryField(t *testing.T) {
	n := parse(t, minimalYAML+`
  conductor: {deployment: {verticalAutoscaling: {updateMode: Auto, minReplicas: 2, minAllowed: {cpu: 10m}, maxAllowed: {memory: 2Gi}}}}
`)
	r, _ := Settle(Input{Nova: n})
	types := map[string]func() any{
		"Database":              func() any { return &mariadbv1alpha1.Database{} },
		"User":                  func() any { return &mariadbv1alpha1.User{} },
		"Grant":                 func() any { return &mariadbv1alpha1.Grant{} },
		"VerticalPodAutoscaler": func() any { return &autoscalingv1.VerticalPodAutoscaler{} },
	}
	seen := map[string]bool{}
	for _, o := range r.Set.Desired {
		make, ok := types[o.Key().Kind]
		if !ok {
			continue
		}
		seen[o.Key().Kind] = true
		raw, err := json.Marshal(o.Content.Object)
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.UnmarshalStrict(raw, make()); err != nil {
			t.Errorf("%s: %s", o.Key(), strings.ReplaceAll(err.Error(), "\n", " "))
		}
	}
	if len(seen) != len(types) {
		t.Errorf("only %v were rendered", seen)
	}
}

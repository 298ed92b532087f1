package pass

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/apply/diff"
	"github.com/c5c3/nova-operator/controllers/metrics"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/facts"
	rendernova "github.com/c5c3/nova-operator/render/nova"
)

// novaKind is a kind with every sort of step.
var novaKind = rendernova.About()

func refusal(condition string) error {
	return &render.ReasonError{Condition: condition, Err: errors.New("refused")}
}

func TestFailedSteps(t *testing.T) {
	all := []string{"Secrets", "DBConnectionSecrets", "TransportURLSecret", "Config", "ComputeConfig", "Database", "HPA", "VPA"}
	cases := map[string]struct {
		reached []string
		err     error
		want    []string
	}{
		"nothing failed": {reached: all},
		"of the steps behind one condition the last one reached ended the pass": {
			reached: all[:3], err: refusal(v1alpha1.ConditionSecretsReady), want: []string{"TransportURLSecret"},
		},
		"a step that let the pass go on is not the last one reached": {
			reached: all, err: refusal(v1alpha1.ConditionComputeConfigReady), want: []string{"ComputeConfig"},
		},
		"members of the group fail side by side": {
			reached: all,
			err:     errors.Join(refusal(v1alpha1.ConditionHPAReady), fmt.Errorf("decide: %w", refusal(v1alpha1.ConditionVPAReady))),
			want:    []string{"HPA", "VPA"},
		},
		"two refusals of one step are one failed pass of it": {
			reached: all, err: errors.Join(errors.Join(refusal(v1alpha1.ConditionHPAReady), refusal(v1alpha1.ConditionHPAReady))), want: []string{"HPA"},
		},
		"an error that names no condition belongs to no step": {reached: all, err: errors.New("other")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, failedSteps(novaKind, tc.reached, tc.err)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The fixture with every feature has a child of every step that makes any.
func TestUnwritten_NamesTheStepOfEveryChild(t *testing.T) {
	raw, err := os.ReadFile("../../fixtures/nova/everything/nova.yaml")
	if err != nil {
		t.Fatal(err)
	}
	n := &v1alpha1.Nova{}
	document, _, _ := strings.Cut(string(raw), "\n---\n")
	if err := yaml.UnmarshalStrict([]byte(document), n); err != nil {
		t.Fatal(err)
	}
	result, _ := rendernova.Settle(rendernova.Input{Nova: n, Observed: rendernova.Observed{
		GatewayAPI: facts.Capability{Served: true}, VPA: facts.Capability{Served: true},
	}})
	got := map[string][]string{}
	for _, o := range result.Set.Desired {
		report := diff.Report{Results: []diff.Result{{Key: o.Key(), Err: errors.New("forbidden")}, {Key: o.Key(), Err: errors.New("again")}, {Key: o.Key()}}}
		steps := unwritten(novaKind, n, report)
		if len(steps) != 1 {
			t.Fatalf("%s failed %v", o.Key(), steps)
		}
		name, _, _ := strings.Cut(o.Key().Name, "-config-")
		got[steps[0]] = append(got[steps[0]], o.Key().Kind+"/"+name)
	}
	for step := range got {
		slices.Sort(got[step])
	}
	want := map[string][]string{
		"DBConnectionSecrets": {"Secret/nova-api-db-connection", "Secret/nova-db-connection", "Secret/nova-metadata-secret-env", "Secret/nova-service-user-env"},
		"TransportURLSecret":  {"Secret/nova-transport-url"},
		"Config":              {"ConfigMap/nova"},
		"ComputeConfig":       {"Secret/nova-compute-config", "Secret/nova-remote-compute-config"},
		"Database": {
			"Database/nova", "Database/nova-api", "Database/nova-nova-cell0", "Grant/nova", "Grant/nova-api", "Grant/nova-nova-cell0",
			"Job/nova-db-sync", "User/nova", "User/nova-api",
		},
		"Conductor":         {"Deployment/nova-conductor"},
		"Scheduler":         {"Deployment/nova-scheduler"},
		"Metadata":          {"Deployment/nova-metadata", "Service/nova-metadata"},
		"ConsoleProxy":      {"Deployment/nova-novncproxy", "Service/nova-novncproxy"},
		"Deployment":        {"Deployment/nova", "PodDisruptionBudget/nova", "Service/nova"},
		"DBArchive":         {"CronJob/nova-db-archive"},
		"HTTPRoute":         {"HTTPRoute/nova"},
		"MetadataHTTPRoute": {"HTTPRoute/nova-metadata"},
		"ConsoleHTTPRoute":  {"HTTPRoute/nova-console"},
		"HPA":               {"HorizontalPodAutoscaler/nova"},
		"VPA":               {"VerticalPodAutoscaler/nova-conductor", "VerticalPodAutoscaler/nova-metadata", "VerticalPodAutoscaler/nova-novncproxy", "VerticalPodAutoscaler/nova-scheduler"},
		"NetworkPolicy":     {"NetworkPolicy/nova", "NetworkPolicy/nova-novncproxy"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	stranger := diff.Report{Results: []diff.Result{{Key: render.Key{Name: "stranger"}, Err: errors.New("no")}}}
	if got := unwritten(novaKind, n, stranger); !slices.Equal(got, []string{unknownStep}) {
		t.Errorf("a child of no step failed %v", got)
	}
}

func TestWaited_AddsTheCallsOfAStepUp(t *testing.T) {
	n := &v1alpha1.Nova{ObjectMeta: metav1.ObjectMeta{Name: "nova", Namespace: "openstack"}}
	key := func(gvk schema.GroupVersionKind, name string) render.Key {
		return render.Key{GroupVersionKind: gvk, Namespace: "openstack", Name: name}
	}
	report := diff.Report{Results: []diff.Result{
		{Key: key(render.KindDeployment, "nova-metadata"), Took: 2 * time.Second},
		{Key: key(render.KindService, "nova-metadata"), Took: time.Second},
		{Key: key(render.KindCronJob, "nova-db-archive")},
	}}
	want := map[string]time.Duration{"Metadata": 3 * time.Second}
	if diff := cmp.Diff(want, waited(novaKind, n, report)); diff != "" {
		t.Error(diff)
	}
}

func TestConditionOf_IsUnknownForAnythingElse(t *testing.T) {
	if got := conditionOf(novaKind, "Secrets"); got != v1alpha1.ConditionSecretsReady {
		t.Errorf("Secrets turns %s", got)
	}
	if got := conditionOf(novaKind, "Observe"); got != metrics.Unknown {
		t.Errorf("a step without a condition turns %s", got)
	}
}

package nova

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/facts"
	"github.com/c5c3/nova-operator/render/openstack"
)

// elsewhere are the reasons of a Nova that no case of the step tables produces, and
// where they are produced.
var elsewhere = map[string]string{
	v1alpha1.ReasonAllReady:    "the ready world",
	v1alpha1.ReasonNotAllReady: "TestReady_FollowsEverySubCondition",
	v1alpha1.ReasonNotStalled:  "TestStalled",

	v1alpha1.ReasonExpandInProgress:     "the upgrade's own tests",
	v1alpha1.ReasonMigrateInProgress:    "the upgrade's own tests",
	v1alpha1.ReasonUpgradeRollingUpdate: "the upgrade's own tests",
	v1alpha1.ReasonContractInProgress:   "the upgrade's own tests",
	v1alpha1.ReasonExpandFailed:         "the upgrade's own tests",
	v1alpha1.ReasonMigrateFailed:        "the upgrade's own tests",
	v1alpha1.ReasonContractFailed:       "the upgrade's own tests",
	v1alpha1.ReasonUpgradeTargetChanged: "the upgrade's own tests",
	v1alpha1.ReasonUpgradeAborting:      "the upgrade's own tests",

	v1alpha1.ReasonApplyError: "TestApplyFailed",
	v1alpha1.ReasonVPAError:   "TestApplyFailed",

	v1alpha1.ReasonDeletionProtected: "TestTeardown_AProtectedNovaStays",
}

// TestReasons_AreAllProduced fails on a reason of the Nova kind that no case of a step
// table expects. The cases are compared with what the step says, so a reason that is
// expected is produced.
func TestReasons_AreAllProduced(t *testing.T) {
	produced := map[string]bool{}
	for _, table := range stepTables() {
		for _, tc := range table {
			produced[tc.want.Reason] = true
		}
	}
	for name, reason := range constants(t, "Reason") {
		where, excepted := elsewhere[reason]
		switch {
		case produced[reason] && excepted:
			t.Errorf("%s is produced by a step table; it needs no exception (%s)", name, where)
		case !produced[reason] && !excepted:
			t.Errorf("no case produces %s", name)
		}
	}
}

// stepTables are the tables of all steps.
func stepTables() []map[string]stepCase {
	tables := []map[string]stepCase{
		secretsCases, transportCases, configCases, extraConfigCases, computeConfigCases, provisionCases, claimCases, adoptCases, releaseCases, syncCases,
		dbArchiveCases, healthCases, apiRouteCases, metadataRouteCases, consoleRouteCases, hpaCases, vpaCases, networkPolicyCases,
	}
	for _, table := range roleCases {
		tables = append(tables, table)
	}
	return tables
}

// constants are the API's constants of a prefix that a Nova uses, name → value.
func constants(t *testing.T, prefix string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, file := range []string{"conditions.go", "nova_conditions.go"} {
		parsed, err := parser.ParseFile(token.NewFileSet(), "../../api/v1alpha1/"+file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(node ast.Node) bool {
			spec, ok := node.(*ast.ValueSpec)
			if !ok || !strings.HasPrefix(spec.Names[0].Name, prefix) || len(spec.Values) != 1 {
				return true
			}
			if literal, ok := spec.Values[0].(*ast.BasicLit); ok {
				value, err := strconv.Unquote(literal.Value)
				if err != nil {
					t.Fatal(err)
				}
				out[spec.Names[0].Name] = value
			}
			return true
		})
	}
	if len(out) == 0 {
		t.Fatalf("no constant %s…", prefix)
	}
	return out
}

func TestReady_FollowsEverySubCondition(t *testing.T) {
	if got := len(v1alpha1.NovaConditions()); got != 16 {
		t.Fatalf("%d sub-conditions", got)
	}
	for name, change := range map[string]func(*Input){
		v1alpha1.ConditionSecretsReady:   drop("nova-db"),
		v1alpha1.ConditionDatabaseReady:  syncJob(func(j *facts.Job) { j.Complete = false }),
		v1alpha1.ConditionConductorReady: deploymentOf("nova-conductor", notAvailable),
		v1alpha1.ConditionNovaAPIReady:   answers(&openstack.Answer{Code: 500}),
		v1alpha1.ConditionHPAReady: func(in *Input) {
			meta.RemoveStatusCondition(&in.Nova.Status.Conditions, v1alpha1.ConditionHPAReady)
			drop("nova-db")(in)
		},
		v1alpha1.ConditionExtraConfigHealthy: nil,
	} {
		t.Run(name, func(t *testing.T) {
			in := readyWorld(t, nil)
			want := v1alpha1.ReasonNotAllReady
			if change != nil {
				change(&in)
			} else {
				in = readyWorld(t, extraConfig("DEFAULT", "debug", "true"))
				want = v1alpha1.ReasonAllReady
			}
			ready := meta.FindStatusCondition(Decide(in).Conditions, v1alpha1.ConditionReady)
			if ready == nil || ready.Reason != want {
				t.Errorf("Ready is %+v", ready)
			}
		})
	}
}

// A step the pass did not reach counts as the last pass left it.
func TestReady_CountsWhatThePassDidNotReach(t *testing.T) {
	in := readyWorld(t, nil)
	meta.FindStatusCondition(in.Nova.Status.Conditions, v1alpha1.ConditionVPAReady).Status = "False"
	deploymentOf("nova", notAvailable)(&in)
	r := Decide(in)
	if meta.FindStatusCondition(r.Conditions, v1alpha1.ConditionVPAReady) != nil {
		t.Error("VPAReady is set by a pass that did not reach it")
	}
	if ready := meta.FindStatusCondition(r.Conditions, v1alpha1.ConditionReady); ready.Reason != v1alpha1.ReasonNotAllReady {
		t.Errorf("Ready is %+v", ready)
	}
}

// An object the API server refuses turns the condition of its step False.
func TestApplyFailed(t *testing.T) {
	for id, want := range map[string]struct{ condition, reason string }{
		"api/connection":       {v1alpha1.ConditionSecretsReady, v1alpha1.ReasonConfigError},
		"transport":            {v1alpha1.ConditionSecretsReady, v1alpha1.ReasonConfigError},
		"compute-config":       {v1alpha1.ConditionComputeConfigReady, v1alpha1.ReasonComputeConfigError},
		"cell/user":            {v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonApplyError},
		"db-sync":              {v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonApplyError},
		"conductor/deployment": {v1alpha1.ConditionConductorReady, v1alpha1.ReasonApplyError},
		"console/service":      {v1alpha1.ConditionConsoleProxyReady, v1alpha1.ReasonApplyError},
		"api/budget":           {v1alpha1.ConditionDeploymentReady, v1alpha1.ReasonApplyError},
		"api/vpa":              {v1alpha1.ConditionVPAReady, v1alpha1.ReasonVPAError},
		"network-policy":       {v1alpha1.ConditionNetworkPolicyReady, v1alpha1.ReasonApplyError},
	} {
		t.Run(id, func(t *testing.T) {
			in := readyWorld(t, nil)
			r := Decide(in)
			for _, c := range index.Children {
				if c.ID == id {
					About().ApplyFailed(in.Nova, &r, render.Key{GroupVersionKind: c.Kind, Namespace: "openstack", Name: c.Name(in.Nova)}, errors.New("forbidden"))
				}
			}
			for _, c := range r.Conditions {
				switch c.Type {
				case want.condition:
					if c.Status != "False" || c.Reason != want.reason || c.Message != "forbidden" {
						t.Errorf("%+v", c)
					}
				case v1alpha1.ConditionReady, v1alpha1.ConditionStalled:
					if c.Status != "False" {
						t.Errorf("%+v", c)
					}
				default:
					if c.Status != "True" {
						t.Errorf("%+v", c)
					}
				}
			}
		})
	}
}

// refusal is an error that knows whether a retry helps.
type refusal struct {
	error
	final bool
}

func (r refusal) NeedsPerson() bool { return r.final }

// A contract that could not be written is not what the status points to.
func TestApplyFailed_PublishesNoContract(t *testing.T) {
	in := readyWorld(t, nil)
	in.Nova.Status.ComputeConfigSecretRef = nil
	r := Decide(in)
	if statusOf(r).ComputeConfigSecretRef == nil {
		t.Fatal("the decision publishes none")
	}
	About().ApplyFailed(in.Nova, &r, render.Key{GroupVersionKind: render.KindSecret, Namespace: "openstack", Name: "nova-compute-config"}, errors.New("forbidden"))
	if statusOf(r).ComputeConfigSecretRef != nil {
		t.Errorf("published: %+v", statusOf(r).ComputeConfigSecretRef)
	}
}

// An answer of the API server stalls a Nova when no retry changes it, and never hides
// what stalls it already.
func TestApplyFailed_StallsByTheError(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Input)
		err    error
		want   metav1.Condition
	}{
		"an error nobody judged": {
			err:  errors.New("timeout"),
			want: metav1.Condition{Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonNotStalled, Message: "No sub-condition needs a person"},
		},
		"one that a retry may clear": {
			err:  refusal{errors.New("quota"), false},
			want: metav1.Condition{Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonNotStalled, Message: "No sub-condition needs a person"},
		},
		"one that stays": {
			err:  fmt.Errorf("api/service: %w", refusal{errors.New("somebody else's"), true}),
			want: metav1.Condition{Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonApplyError, Message: "api/service: somebody else's"},
		},
		"one that stays, beside an archive that failed": {
			change: runs(facts.Job{Name: "nova-db-archive-1", Failed: true}),
			err:    refusal{errors.New("somebody else's"), true},
			want: metav1.Condition{
				Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonDBArchiveJobFailed,
				Message: "Database archive Job nova-db-archive-1 failed; the soft-deleted rows are no longer moving out of the live tables",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := readyWorld(t, nil)
			if tc.change != nil {
				tc.change(&in)
			}
			r := Decide(in)
			About().ApplyFailed(in.Nova, &r, render.Key{GroupVersionKind: render.KindService, Namespace: "openstack", Name: "nova"}, tc.err)
			tc.want.Type, tc.want.ObservedGeneration = v1alpha1.ConditionStalled, 3
			if diff := cmp.Diff(&tc.want, meta.FindStatusCondition(r.Conditions, v1alpha1.ConditionStalled)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Stalled follows the first condition of the pass that needs a person, and nothing that
// an earlier pass left behind.
func TestStalled(t *testing.T) {
	notStalled := outcome{Reason: v1alpha1.ReasonNotStalled, Message: "No sub-condition needs a person"}
	for name, tc := range map[string]struct {
		nova   func(*v1alpha1.Nova)
		change func(*Input)
		want   outcome
	}{
		"everything is up":              {want: notStalled},
		"pods are coming up":            {change: deploymentOf("nova", notAvailable), want: notStalled},
		"a credential is on its way":    {change: drop("nova-db"), want: notStalled},
		"the API answers with an error": {change: answers(&openstack.Answer{Code: 500}), want: notStalled},
		"an owned option is overridden, which leaves Ready alone": {
			nova: extraConfig("DEFAULT", "debug", "true"), want: notStalled,
		},
		"a Job failed for good": {
			change: syncJob(func(j *facts.Job) { j.Complete, j.Failed, j.Failure = false, true, "BackoffLimitExceeded: no" }),
			want:   outcome{Ready: true, Reason: v1alpha1.ReasonDBSyncFailed, Message: "db_sync job failed: BackoffLimitExceeded: no"},
		},
		"a Job failed for good in an earlier pass, and this one does not get there": {
			change: func(in *Input) {
				c := meta.FindStatusCondition(in.Nova.Status.Conditions, v1alpha1.ConditionDatabaseReady)
				c.Status, c.Reason = metav1.ConditionFalse, v1alpha1.ReasonDBSyncFailed
				drop("nova-db")(in)
			},
			want: notStalled,
		},
		"a wait of the same pass comes first": {
			change: func(in *Input) {
				deploymentOf("nova-conductor", notAvailable)(in)
				runs(facts.Job{Name: "a", Failed: true})(in)
			},
			want: outcome{
				Ready: true, Reason: v1alpha1.ReasonDBArchiveJobFailed,
				Message: "Database archive Job a failed; the soft-deleted rows are no longer moving out of the live tables",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := readyWorld(t, tc.nova)
			if tc.change != nil {
				tc.change(&in)
			}
			r := Decide(in)
			c := meta.FindStatusCondition(r.Conditions, v1alpha1.ConditionStalled)
			if c == nil || c.ObservedGeneration != in.Nova.Generation {
				t.Fatalf("Stalled is %+v", c)
			}
			got := outcome{Ready: c.Status == metav1.ConditionTrue, Reason: c.Reason, Message: c.Message}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

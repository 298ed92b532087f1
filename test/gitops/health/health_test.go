package health_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/test/gitops/health"
)

const root = "../../.."

// computeReasons are the reasons each condition of a NovaCompute is False for.
var computeReasons = map[string][]string{
	v1alpha1.ConditionNovaReady: {
		v1alpha1.ReasonNovaNotFound, v1alpha1.ReasonWaitingForInstalledRelease, v1alpha1.ReasonComputeConfigNotPublished,
		v1alpha1.ReasonTargetClusterUnavailable, v1alpha1.ReasonWaitingForServiceUserSecret, v1alpha1.ReasonNovaError,
	},
	v1alpha1.ConditionNodesReady: {
		v1alpha1.ReasonNoMatchingNodes, v1alpha1.ReasonNodeConflict, v1alpha1.ReasonNodesForbidden, v1alpha1.ReasonNodeListError,
		v1alpha1.ReasonTargetClusterUnavailable,
	},
	v1alpha1.ConditionConfigReady: {
		v1alpha1.ReasonWaitingForComputeConfig, v1alpha1.ReasonComputeConfigIncomplete, v1alpha1.ReasonConfigError,
	},
	v1alpha1.ConditionDaemonSetReady: {v1alpha1.ReasonDaemonSetProgressing, v1alpha1.ReasonDaemonSetError},
	v1alpha1.ConditionVPAReady:       {v1alpha1.ReasonVPANotInstalled, v1alpha1.ReasonCapabilityProbeFailed, v1alpha1.ReasonVPAError},
	v1alpha1.ConditionAggregatesReady: {
		v1alpha1.ReasonNodesWithoutZone, v1alpha1.ReasonAggregateZoneMismatch, v1alpha1.ReasonWaitingForAggregate,
		v1alpha1.ReasonComputeAPIError, v1alpha1.ReasonNovaComputeListError,
	},
	v1alpha1.ConditionServicesReady: {
		v1alpha1.ReasonWaitingForServices, v1alpha1.ReasonWaitingForHostMapping, v1alpha1.ReasonHostDiscoveryError,
		v1alpha1.ReasonServicesDown, v1alpha1.ReasonComputeAPIError, v1alpha1.ReasonPodListError, v1alpha1.ReasonTargetClusterUnavailable,
	},
	v1alpha1.ConditionTraitsReady: {
		v1alpha1.ReasonNodesWithCustomTraitsAnnotation, v1alpha1.ReasonNodesWithoutHypervisor, v1alpha1.ReasonHypervisorLifecycleDisabled,
		v1alpha1.ReasonHypervisorTraitsFailed, v1alpha1.ReasonHypervisorOperatorNotInstalled, v1alpha1.ReasonHypervisorsForbidden,
		v1alpha1.ReasonHypervisorError, v1alpha1.ReasonPlacementEndpointNotFound, v1alpha1.ReasonPlacementAPIError,
		v1alpha1.ReasonComputeAPIError, v1alpha1.ReasonNovaComputeListError, v1alpha1.ReasonTargetClusterUnavailable,
	},
}

// object is a resource of either kind with a status of the API types.
func object(kind string, generation, observed int64, conditions ...metav1.Condition) any {
	about := metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: kind}
	named := metav1.ObjectMeta{Namespace: "openstack", Name: "nova", Generation: generation}
	if kind == v1alpha1.KindNova {
		return &v1alpha1.Nova{TypeMeta: about, ObjectMeta: named, Status: v1alpha1.NovaStatus{ObservedGeneration: observed, Conditions: conditions}}
	}
	return &v1alpha1.NovaCompute{TypeMeta: about, ObjectMeta: named, Status: v1alpha1.NovaComputeStatus{ObservedGeneration: observed, Conditions: conditions}}
}

// whole adds the two conditions that follow from the others.
func whole(order []string, conditions []metav1.Condition, generation int64) []metav1.Condition {
	ready := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonAllReady}
	for _, name := range order {
		if !slices.ContainsFunc(conditions, func(c metav1.Condition) bool { return c.Type == name && c.Status == metav1.ConditionTrue }) {
			ready.Status, ready.Reason = metav1.ConditionFalse, v1alpha1.ReasonNotAllReady
		}
	}
	return append(slices.Clone(conditions), ready, v1alpha1.Stalled(conditions, order, generation))
}

// must is both answers about an object.
func must(t interface{ Fatal(args ...any) }, object any) (kstatus, argo health.Answer) {
	script, err := health.Shipped(root)
	if err != nil {
		t.Fatal(err)
	}
	if kstatus, err = health.KStatus(object); err != nil {
		t.Fatal(err)
	}
	if argo, err = script.Check(object); err != nil {
		t.Fatal(err)
	}
	return kstatus, argo
}

// A NovaCompute one of whose conditions is False, for each reason there is.
func TestNovaCompute_IsToldAlikeForEveryReason(t *testing.T) {
	order := v1alpha1.NovaComputeConditions()
	failed := 0
	for _, broken := range order {
		for _, reason := range computeReasons[broken] {
			t.Run(broken+"/"+reason, func(t *testing.T) {
				var conditions []metav1.Condition
				for _, name := range order {
					c := metav1.Condition{Type: name, Status: metav1.ConditionTrue, Reason: name}
					if name == broken {
						c = metav1.Condition{Type: name, Status: metav1.ConditionFalse, Reason: reason, Message: "as it is"}
					}
					conditions = append(conditions, c)
				}
				want := "InProgress"
				if v1alpha1.NeedsPerson(reason) {
					want = "Failed"
					failed++
				}
				kstatus, argo := must(t, object(v1alpha1.KindNovaCompute, 2, 2, whole(order, conditions, 2)...))
				if kstatus.Status != want {
					t.Errorf("kstatus says %+v, want %s", kstatus, want)
				}
				if diff := cmp.Diff(health.Answer{Status: health.InArgo(want), Message: broken + ": " + reason + ": as it is"}, argo); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
	if failed == 0 {
		t.Error("nothing fails a NovaCompute")
	}
}

// Whatever a status says, both tools say the same of it, and Ready of the generation of
// now is the only thing they call well.
func TestBothKinds_AreToldAlikeInEveryCombination(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		kind, order := v1alpha1.KindNova, v1alpha1.NovaConditions()
		if rapid.Bool().Draw(rt, "compute") {
			kind, order = v1alpha1.KindNovaCompute, v1alpha1.NovaComputeConditions()
		}
		reasons := []string{v1alpha1.ReasonDBSyncFailed, v1alpha1.ReasonDBSyncInProgress, v1alpha1.ReasonConfigError, v1alpha1.ReasonServicesDown}
		var conditions []metav1.Condition
		for _, name := range order {
			switch rapid.IntRange(0, 9).Draw(rt, name) {
			case 0:
			case 1:
				conditions = append(conditions, metav1.Condition{Type: name, Status: metav1.ConditionFalse, Reason: rapid.SampledFrom(reasons).Draw(rt, "reason")})
			default:
				conditions = append(conditions, metav1.Condition{Type: name, Status: metav1.ConditionTrue, Reason: name})
			}
		}
		if rapid.IntRange(0, 9).Draw(rt, "none") == 0 {
			conditions = nil
		} else {
			conditions = whole(order, rapid.Permutation(conditions).Draw(rt, "order"), 3)
		}
		observed := rapid.SampledFrom([]int64{3, 3, 3, 2, -1}).Draw(rt, "observed")
		if conditions == nil {
			observed = -1
		}
		kstatus, argo := must(rt, object(kind, 3, observed, conditions...))
		if health.InArgo(kstatus.Status) != argo.Status {
			rt.Fatalf("kstatus says %+v, Argo CD %+v", kstatus, argo)
		}
		ready := slices.ContainsFunc(conditions, func(c metav1.Condition) bool {
			return c.Type == v1alpha1.ConditionReady && c.Status == metav1.ConditionTrue
		})
		if (kstatus.Status == "Current") != (ready && observed == 3) {
			rt.Fatalf("kstatus says %+v of Ready %t, observed generation %d of 3", kstatus, ready, observed)
		}
		if argo.Message == "" {
			rt.Fatal("no message")
		}
	})
}

// What an object looks like before anybody gave it a status, under an old definition as
// well.
func TestScript_WaitsForAStatus(t *testing.T) {
	script, err := health.Shipped(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, status := range map[string]any{
		"none":                   nil,
		"empty":                  map[string]any{},
		"the definition's":       map[string]any{"observedGeneration": -1},
		"one without conditions": map[string]any{"observedGeneration": 1},
	} {
		t.Run(name, func(t *testing.T) {
			object := map[string]any{"apiVersion": v1alpha1.GroupVersion.String(), "kind": "Nova", "metadata": map[string]any{"name": "nova", "generation": 1}}
			if status != nil {
				object["status"] = status
			}
			got, err := script.Check(object)
			if err != nil || got.Status != health.Progressing || got.Message == "" {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

// The harness refuses what Argo CD would.
func TestScript_Harness(t *testing.T) {
	for name, tc := range map[string]struct{ script, want string }{
		"a function Argo CD does not offer":  {`return {status = string.upper("healthy")}`, "upper"},
		"a status it does not know":          {`return {status = "Fine"}`, `no status "Fine"`},
		"nothing returned":                   {`local a = 1`, "no table"},
		"a script that never ends":           {`while true do end`, "context deadline exceeded"},
		"a reference to what is not present": {`return {status = obj.status.phase.name}`, "nil"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := health.Script(tc.script).Check(object(v1alpha1.KindNova, 1, 1))
			if err == nil || !strings.Contains(fmt.Sprint(err), tc.want) {
				t.Errorf("%v, want one with %q", err, tc.want)
			}
		})
	}
}

package facts

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/c5c3/nova-operator/render"
)

const image = "nova:2026.1"

// rolled is a Deployment of three pods, all of them new, ready and available.
func rolled(change func(*Deployment)) Deployment {
	d := Deployment{
		Generation: 4, ObservedGeneration: 4, Replicas: new(int32(3)), TotalReplicas: 3, UpdatedReplicas: 3, ReadyReplicas: 3,
		AvailableReplicas: 3, Available: true, Image: image,
	}
	if change != nil {
		change(&d)
	}
	return d
}

// The contract phase of an upgrade drops what old pods read. Every comparison of the gate
// before it counts.
func TestDeployment_RolledOut(t *testing.T) {
	for name, tc := range map[string]struct {
		live Deployment
		want bool
	}{
		"every pod is new":                {rolled(nil), true},
		"it was observed later":           {rolled(func(d *Deployment) { d.ObservedGeneration++ }), true},
		"the condition does not count":    {rolled(func(d *Deployment) { d.Available = false }), true},
		"scaled to none":                  {Deployment{Image: image, Replicas: new(int32(0))}, true},
		"one pod, by default":             {Deployment{Image: image, TotalReplicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1}, true},
		"it is not there":                 {Deployment{}, false},
		"it is not observed yet":          {rolled(func(d *Deployment) { d.ObservedGeneration-- }), false},
		"another image":                   {rolled(func(d *Deployment) { d.Image = "nova:2025.2" }), false},
		"an old pod lingers unready":      {rolled(func(d *Deployment) { d.TotalReplicas++ }), false},
		"a pod has not been made yet":     {rolled(func(d *Deployment) { d.TotalReplicas-- }), false},
		"a pod is old":                    {rolled(func(d *Deployment) { d.UpdatedReplicas-- }), false},
		"more new pods than are wanted":   {rolled(func(d *Deployment) { d.UpdatedReplicas++ }), false},
		"a pod is not ready":              {rolled(func(d *Deployment) { d.ReadyReplicas-- }), false},
		"an old pod is ready beside":      {rolled(func(d *Deployment) { d.ReadyReplicas++ }), false},
		"a pod is not available":          {rolled(func(d *Deployment) { d.AvailableReplicas-- }), false},
		"an old pod is available beside":  {rolled(func(d *Deployment) { d.AvailableReplicas++ }), false},
		"scaled to none, and one is left": {Deployment{Image: image, Replicas: new(int32(0)), TotalReplicas: 1}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.live.RolledOut(image); got != tc.want {
				t.Errorf("rolled out is %v", got)
			}
		})
	}
}

func TestDeployment_Serves(t *testing.T) {
	for name, tc := range map[string]struct {
		live Deployment
		want bool
	}{
		"every pod is ready":            {rolled(nil), true},
		"old pods serve":                {rolled(func(d *Deployment) { d.UpdatedReplicas, d.Image = 0, "nova:2025.2" }), true},
		"more pods than are wanted":     {rolled(func(d *Deployment) { d.ReadyReplicas, d.TotalReplicas = 5, 5 }), true},
		"it is not there":               {Deployment{}, false},
		"it is not observed yet":        {rolled(func(d *Deployment) { d.ObservedGeneration-- }), false},
		"a pod is missing":              {rolled(func(d *Deployment) { d.ReadyReplicas-- }), false},
		"it says that it does not":      {rolled(func(d *Deployment) { d.Available = false }), false},
		"one pod is wanted by default":  {rolled(func(d *Deployment) { d.Replicas, d.ReadyReplicas = nil, 0 }), false},
		"one pod is enough by default":  {rolled(func(d *Deployment) { d.Replicas, d.ReadyReplicas = nil, 1 }), true},
		"none is wanted, and it agrees": {Deployment{Replicas: new(int32(0)), Available: true}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.live.Serves(); got != tc.want {
				t.Errorf("serves is %v", got)
			}
		})
	}
}

func TestDeployment_Wanted(t *testing.T) {
	for want, replicas := range map[int32]*int32{0: new(int32(0)), 1: nil, 3: new(int32(3))} {
		if got := (Deployment{Replicas: replicas}).Wanted(); got != want {
			t.Errorf("%d pods, want %d", got, want)
		}
	}
}

func TestDeploymentOf(t *testing.T) {
	for name, tc := range map[string]struct {
		live string
		want Deployment
	}{
		"nothing in it": {"", Deployment{}},
		"everything": {`
metadata:
  generation: 5
  managedFields:
  - {manager: ` + render.FieldOwner + `, operation: Apply, fieldsType: FieldsV1, fieldsV1: {'f:spec': {'f:replicas': {}}}}
spec:
  replicas: 3
  template:
    spec:
      containers: [{name: api, image: 'nova:2026.1'}, {name: proxy, image: 'proxy:1'}]
      volumes: [{name: config, configMap: {name: nova-config-1}}]
status:
  observedGeneration: 4
  replicas: 6
  updatedReplicas: 2
  readyReplicas: 5
  availableReplicas: 1
  conditions: [{type: Available, status: 'True'}, {type: Progressing, status: 'False'}]
`, Deployment{
			Generation: 5, ObservedGeneration: 4, Replicas: new(int32(3)), OwnsReplicas: true, TotalReplicas: 6, UpdatedReplicas: 2,
			ReadyReplicas: 5, AvailableReplicas: 1, Available: true, Image: image, ConfigMap: "nova-config-1",
		}},
		"it says that it is not available": {"status: {conditions: [{type: Available, status: 'False'}, {type: Progressing, status: 'True'}]}", Deployment{}},
		"an unknown field":                 {"spec: {replicas: 2, madeUp: true}", Deployment{Replicas: new(int32(2))}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := DeploymentOf(kinded(t, render.KindDeployment, tc.live))
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Error(diff, err)
			}
		})
	}
}

// An apply without spec.replicas resets the count only while nobody else holds the field.
func TestOwnsReplicas(t *testing.T) {
	entry := func(manager, subresource string, operation metav1.ManagedFieldsOperationType, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{
			Manager: manager, Subresource: subresource, Operation: operation, FieldsV1: metav1.NewFieldsV1(fields),
		}
	}
	const replicas, others = `{"f:spec":{"f:replicas":{}}}`, `{"f:spec":{"f:selector":{}}}`
	ours := entry(render.FieldOwner, "", metav1.ManagedFieldsOperationApply, replicas)
	for name, tc := range map[string]struct {
		entries []metav1.ManagedFieldsEntry
		want    bool
	}{
		"nobody":                       {nil, false},
		"the operator alone":           {[]metav1.ManagedFieldsEntry{ours}, true},
		"somebody else alone":          {[]metav1.ManagedFieldsEntry{entry("kubectl", "", metav1.ManagedFieldsOperationUpdate, replicas)}, false},
		"an autoscaler beside it":      {[]metav1.ManagedFieldsEntry{ours, entry("hpa", "scale", metav1.ManagedFieldsOperationUpdate, replicas)}, false},
		"an autoscaler before it":      {[]metav1.ManagedFieldsEntry{entry("hpa", "scale", metav1.ManagedFieldsOperationUpdate, replicas), ours}, false},
		"another field beside it":      {[]metav1.ManagedFieldsEntry{ours, entry("kubectl", "", metav1.ManagedFieldsOperationUpdate, others)}, true},
		"the operator owns others":     {[]metav1.ManagedFieldsEntry{entry(render.FieldOwner, "", metav1.ManagedFieldsOperationApply, others)}, false},
		"an update of the operator":    {[]metav1.ManagedFieldsEntry{entry(render.FieldOwner, "", metav1.ManagedFieldsOperationUpdate, replicas)}, false},
		"the operator on a scale":      {[]metav1.ManagedFieldsEntry{entry(render.FieldOwner, "scale", metav1.ManagedFieldsOperationApply, replicas)}, false},
		"no fields, and what is wrong": {[]metav1.ManagedFieldsEntry{{Manager: "x"}, entry("y", "", metav1.ManagedFieldsOperationApply, "{"), ours}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ownsReplicas(tc.entries); got != tc.want {
				t.Errorf("owns it: %v", got)
			}
		})
	}
}

func TestCameUp(t *testing.T) {
	const template = "template: {spec: {containers: [{image: 'nova:2026.1'}], volumes: [{name: config, configMap: {name: nova-config-1}}]}}"
	up := func(replicas int32, owns bool) Deployment {
		return Deployment{
			Generation: 1, ObservedGeneration: 1, Replicas: &replicas, OwnsReplicas: owns, TotalReplicas: replicas, UpdatedReplicas: replicas,
			ReadyReplicas: replicas, AvailableReplicas: replicas, Available: true, Image: image, ConfigMap: "nova-config-1",
		}
	}
	for name, tc := range map[string]struct {
		payload string
		before  Deployment
		there   bool
		want    Deployment
	}{
		"a new one takes the count of the payload":     {"spec: {replicas: 2, " + template + "}", Deployment{}, false, up(2, true)},
		"a new one without a count":                    {"spec: {" + template + "}", Deployment{}, false, up(1, false)},
		"a count that others hold stays":               {"spec: {" + template + "}", Deployment{Replicas: new(int32(7)), OwnsReplicas: true}, true, up(7, false)},
		"a count that the operator held, again":        {"spec: {replicas: 2, " + template + "}", Deployment{OwnsReplicas: true}, true, up(2, true)},
		"a count that the operator shares with others": {"spec: {replicas: 2, " + template + "}", Deployment{Replicas: new(int32(7))}, true, up(2, false)},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := CameUp(kinded(t, render.KindDeployment, tc.payload), tc.before, tc.there)
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Error(diff, err)
			}
			if !got.Serves() || !got.RolledOut(image) {
				t.Error("it came up, and does not serve")
			}
		})
	}
}

// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/test/cluster"
)

func TestStored_SchemaDefaultsAndNoOthers(t *testing.T) {
	for name, tc := range map[string]struct {
		kind   kind
		change string
		want   string
	}{
		"the smallest Nova": {
			kind: nova,
			want: `
api: {}
scheduler: {}
conductor: {}
consoleProxy: {}
endpoints: {}
apiDatabase: {replicas: 3, storageSize: 100Gi}
database: {replicas: 3, storageSize: 100Gi}
cache: {replicas: 3}
`,
		},
		"a Nova with empty blocks": {
			kind: nova,
			change: `
spec:
  api: {deployment: {}, uwsgi: {}}
  metadata: {deployment: {}}
  scheduler: {deployment: {}}
  consoleProxy: {deployment: {}}
  jobs: {}
  dbArchive: {}
  logging: {}
  secretStoreRef: {name: a}
`,
			want: `
api: {deployment: {replicas: 3}, uwsgi: {processes: 2, threads: 1}}
metadata: {deployment: {replicas: 3}}
scheduler: {deployment: {replicas: 3}}
conductor: {}
consoleProxy: {deployment: {replicas: 3}}
endpoints: {}
apiDatabase: {replicas: 3, storageSize: 100Gi}
database: {replicas: 3, storageSize: 100Gi}
cache: {replicas: 3}
logging: {format: text, level: INFO}
secretStoreRef: {kind: ClusterSecretStore}
`,
		},
		"the smallest NovaCompute": {
			kind: compute,
			want: `
libvirt: {virtType: kvm}
updateStrategy: {type: RollingUpdate}
`,
		},
		"a NovaCompute with traits of a host": {
			kind:   compute,
			change: "spec: {hostTraits: [{nodeName: a, traits: [CUSTOM_A]}]}",
			want: `
libvirt: {virtType: kvm}
updateStrategy: {type: RollingUpdate}
hostTraits: [{nodeName: a, traits: [CUSTOM_A], mode: Append}]
`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			given := tc.kind.object(t, tc.change)
			got, err := tc.kind.client(t).Create(t.Context(), given, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var want map[string]any
			if err := yaml.Unmarshal([]byte(tc.want), &want); err != nil {
				t.Fatal(err)
			}
			merged := merge(given.Object["spec"].(map[string]any), want)
			if diff := cmp.Diff(plain(t, merged), plain(t, got.Object["spec"])); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// merge lays b over a, map by map.
func merge(a, b map[string]any) map[string]any {
	for key, value := range b {
		inner, isMap := value.(map[string]any)
		if existing, both := a[key].(map[string]any); isMap && both {
			value = merge(existing, inner)
		}
		a[key] = value
	}
	return a
}

// plain makes numbers of any source alike.
func plain(t *testing.T, value any) any {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// The replica default of one reaches a role whose block is absent, so a client that
// uses the Go types must not write an empty block.
func TestStored_GoTypesKeepAbsentAndEmptyApart(t *testing.T) {
	want := &v1alpha1.Nova{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(nova.object(t, `
spec:
  extraConfig: {DEFAULT: {debug: true}, pci: {alias: [a, b]}}
  jobs: {priorityClassName: "", nodeSelector: {}, tolerations: [], affinity: {}, resources: {}}
  api: {deployment: {topologySpreadConstraints: []}}
`).Object, want); err != nil {
		t.Fatal(err)
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(want)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := nova.client(t).Create(t.Context(), &unstructured.Unstructured{Object: object}, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range [][]string{{"spec", "metadata", "deployment"}, {"spec", "scheduler", "deployment"}, {"spec", "consoleProxy", "deployment"}, {"spec", "logging"}} {
		if _, found, _ := unstructured.NestedFieldNoCopy(stored.Object, path...); found {
			t.Errorf("%v is stored", path)
		}
	}
	got := &v1alpha1.Nova{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(stored.Object, got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Spec.Jobs, got.Spec.Jobs); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want.Spec.ExtraConfig, got.Spec.ExtraConfig); diff != "" {
		t.Error(diff)
	}
	if constraints := got.Spec.API.Deployment.TopologySpreadConstraints; constraints == nil || len(constraints) > 0 {
		t.Errorf("an empty list of constraints became %v", constraints)
	}
}

func TestStored_StatusIsASubresource(t *testing.T) {
	client := nova.client(t)
	given := nova.object(t, "status: {installedRelease: x}")
	stored, err := client.Create(t.Context(), given, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"observedGeneration": int64(-1)}, stored.Object["status"]); diff != "" {
		t.Errorf("create stored a status: %s", diff)
	}
	stored.Object["status"] = map[string]any{"upgradePhase": "Resting"}
	_, err = client.UpdateStatus(t.Context(), stored, metav1.UpdateOptions{})
	compare(t, []string{`status.upgradePhase: Unsupported value: "Resting": supported values: "Expanding", "Migrating", "RollingUpdate", "Contracting"`}, err)
	stored.Object["status"] = map[string]any{
		"installedRelease": "2026.1", "upgradePhase": "Expanding",
		"cells": []any{map[string]any{"name": "cell0", "uuid": "0"}, map[string]any{"name": "cell1", "uuid": "1"}},
	}
	if _, err = client.UpdateStatus(t.Context(), stored, metav1.UpdateOptions{}); err != nil {
		t.Error(err)
	}
}

func TestStored_PrintColumns(t *testing.T) {
	client, err := discovery.NewDiscoveryClientForConfig(cluster.Shared(t).Config)
	if err != nil {
		t.Fatal(err)
	}
	for resource, want := range map[string][]string{
		"novas":        {"Name", "Ready", "Release", "Endpoint", "Age"},
		"novacomputes": {"Name", "Ready", "Desired", "Ready pods", "Age"},
	} {
		text, err := client.RESTClient().Get().AbsPath("/apis/nova.openstack.c5c3.io/v1alpha1", resource).
			SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var table metav1.Table
		if err := json.Unmarshal(text, &table); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, column := range table.ColumnDefinitions {
			got = append(got, column.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", resource, diff)
		}
	}
}

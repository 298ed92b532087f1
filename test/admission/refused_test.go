// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"

	"github.com/c5c3/nova-operator/api/v1alpha1"
)

// The rules a schema cannot hold, on a resource the schema admits. Every case of every
// rule is tried in controllers/webhook, where no schema comes first.
func TestHooked_RefusesWhatTheSchemaAdmits(t *testing.T) {
	h := newHooked(t)
	for name, tc := range map[string]struct {
		kind   kind
		change string
		want   []string
	}{
		"a name that is too long": {
			kind: smallest, change: "metadata: {name: " + strings.Repeat("a", 42) + "}",
			want: []string{`metadata.name: "` + strings.Repeat("a", 42) + `": name must be at most 41 characters: the db-archive CronJob appends "-db-archive" and Kubernetes caps CronJob names at 52 characters`},
		},
		"a request beyond its limit": {
			kind: smallest, change: "spec: {api: {deployment: {resources: {requests: {cpu: 2}, limits: {cpu: 1500m}}}}}",
			want: []string{`spec.api.deployment.resources.requests.cpu: "2": cpu request must not exceed limit (1500m)`},
		},
		"a toleration no pod may have": {
			kind: smallest, change: "spec: {jobs: {tolerations: [{operator: Exists, value: a, effect: Never}]}}",
			want: []string{
				`spec.jobs.tolerations[0].effect: Unsupported value: "Never": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"`,
				`spec.jobs.tolerations[0].value: "a": value must be empty when 'operator' is 'Exists'`,
			},
		},
		"a schedule no CronJob takes": {
			kind: smallest, change: "spec: {dbArchive: {schedule: never}}",
			want: []string{`spec.dbArchive.schedule: "never": invalid cron expression: expected exactly 5 fields, found 1: [never]`},
		},
		"a URL without a host": {
			kind: smallest, change: "spec: {keystoneEndpoint: 'https:///v3'}",
			want: []string{`spec.keystoneEndpoint: "https:///v3": URL must include a host`},
		},
		"a line break in a rendered text": {
			kind: smallest, change: `spec: {region: "a\nb"}`,
			want: []string{`spec.region: "a\nb": value must not contain a newline or carriage return: it is rendered verbatim into nova.conf and nova-compute.conf, so a newline injects arbitrary config lines`},
		},
		"an upper bound below the replicas": {
			kind: smallest, change: "spec: {autoscaling: {maxReplicas: 2, targetCPUUtilization: 80}}",
			want: []string{`spec.autoscaling.maxReplicas: 2: maxReplicas must be >= spec.api.deployment.replicas (3) when minReplicas is not set, because minReplicas defaults to spec.api.deployment.replicas`},
		},
		"an option that is misspelt": {
			kind: smallest, change: "spec: {extraConfig: {libvirt: {cpu_mod: none}, libvrt: {cpu_mode: none}}}",
			want: []string{
				`spec.extraConfig[libvirt][cpu_mod]: "cpu_mod": no such option in the nova 2026.1 option catalog; did you mean "cpu_mode"?`,
				`spec.extraConfig[libvrt][cpu_mode]: "cpu_mode": no such section in the nova 2026.1 option catalog; did you mean "libvirt"?`,
			},
		},
		"a key the operator owns": {
			kind: smallest, change: "spec: {extraConfig: {DEFAULT: {web: x}}}",
			want: []string{`spec.extraConfig[DEFAULT][web]: Forbidden: web is managed via operator-computed and must not be set in extraConfig (another path gives a blank console page without an error)`},
		},
		"values that have no line": {
			kind: smallest, change: "spec: {extraConfig: {DEFAULT: {debug: [null]}, pci: {alias: {name: a}}, vnc: 5}}",
			want: []string{
				"spec.extraConfig[DEFAULT][debug]: item 0: must be a string, a boolean, a number or a list of these",
				"spec.extraConfig[pci][alias]: must be a string, a boolean, a number or a list of these",
				"spec.extraConfig[vnc]: must map options to values",
			},
		},
		"everything at once": {
			kind: smallest, change: `
spec:
  region: "a\nb"
  dbArchive: {schedule: never}
  api: {uwsgi: {harakiri: 500}, deployment: {priorityClassName: missing, topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: DoNotSchedule}]}}
  extraConfig: {DEFAULT: {debug: {}, transport_url: x}, ironic: {password: hunter2}}
`,
			want: []string{
				`spec.api.deployment.priorityClassName: Not found: "missing"`,
				"spec.api.deployment.topologySpreadConstraints[0].labelSelector: Required value: labelSelector is required on each TopologySpreadConstraint",
				"spec.api.uwsgi.harakiri: 500: harakiri (500) must be strictly less than terminationGracePeriodSeconds - preStopSleepSeconds (180)",
				`spec.dbArchive.schedule: "never": invalid cron expression: expected exactly 5 fields, found 1: [never]`,
				"spec.extraConfig[DEFAULT][debug]: must be a string, a boolean, a number or a list of these",
				"spec.extraConfig[DEFAULT][transport_url]: Forbidden: transport_url is managed via spec.messaging and must not be set in extraConfig (the value comes from the environment, so the line is inert and copies a credential into the ConfigMap)",
				"spec.extraConfig[ironic][password]: Forbidden: is a credential, which does not belong in a custom resource; no field takes it from a Secret yet",
				`spec.region: "a\nb": value must not contain a newline or carriage return: it is rendered verbatim into nova.conf and nova-compute.conf, so a newline injects arbitrary config lines`,
			},
		},
		"a field of another type is the schema's to tell": {
			kind: nova, change: "spec: {scheduler: {workers: three}, extraConfig: {DEFAULT: {debug: {}}}}",
			want: []string{`spec.scheduler.workers: "string": spec.scheduler.workers in body must be of type integer: "string"`},
		},
		"a block that is missing is the schema's to tell": {
			kind: smallest, change: "spec: {metadata: null}",
			want: []string{"spec.metadata.sharedSecretRef.name: Required value"},
		},
		"a pool that stays on a node that is emptied": {
			kind: compute, change: "spec: {tolerations: [{operator: Exists}]}",
			want: []string{`spec.tolerations[0]: "": tolerates kvm.cloud.sap/offboarding:NoExecute; openstack-hypervisor-operator deletes the compute service only after every agent pod on the node is gone, and a nova-compute that stays re-registers it`},
		},
		"a pool that never updates": {
			kind: compute, change: "spec: {updateStrategy: {maxUnavailable: 0%}, image: {repository: a, tag: b}}",
			want: []string{`spec.updateStrategy.maxUnavailable: "0%": maxUnavailable must resolve to at least 1 for RollingUpdate`},
		},
		"a pool with a name no label takes": {
			kind: compute, change: "metadata: {name: " + strings.Repeat("a", 64) + "}",
			want: []string{`metadata.name: "` + strings.Repeat("a", 64) + `": name must be at most 63 characters: it is the app.kubernetes.io/instance label value of every child`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := h.client(tc.kind).Create(t.Context(), tc.kind.object(t, tc.change), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			compare(t, tc.want, err)
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Error("the answer quotes a credential")
			}
		})
	}
}

// What the fixtures show is what people start from. One shows what the operator does
// with a resource no webhook has seen.
func TestHooked_AdmitsTheFixtures(t *testing.T) {
	h := newHooked(t)
	files, err := filepath.Glob("../../fixtures/*/*/nova*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d fixtures: %v", len(files), err)
	}
	client, err := kubernetes.NewForConfig(h.config)
	if err != nil {
		t.Fatal(err)
	}
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "openstack-control-plane"}, Value: 5}
	if _, err := client.SchedulingV1().PriorityClasses().Create(t.Context(), class, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = client.SchedulingV1().PriorityClasses().Delete(t.Context(), class.Name, metav1.DeleteOptions{})
	}()
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		t.Run(name, func(t *testing.T) {
			k := kind{resource: "novas", file: file}
			object := k.object(t, "")
			if object.GetKind() == v1alpha1.KindNovaCompute {
				k = kind{resource: "novacomputes", file: file}
			}
			object.SetNamespace(h.namespace)
			_, err := h.client(k).Create(t.Context(), object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict})
			if (err != nil) != (name == "last-good") {
				t.Error(err)
			}
		})
	}
}

func TestHooked_PriorityClasses(t *testing.T) {
	h := newHooked(t)
	const everywhere = `
spec:
  api: {deployment: {priorityClassName: NAME}}
  metadata: {deployment: {priorityClassName: NAME}}
  scheduler: {deployment: {priorityClassName: NAME}}
  conductor: {deployment: {priorityClassName: NAME}}
  consoleProxy: {enabled: ENABLED, deployment: {priorityClassName: NAME}}
  jobs: {priorityClassName: NAME}
`
	all := []string{
		`spec.api.deployment.priorityClassName: Not found: "NAME"`,
		`spec.conductor.deployment.priorityClassName: Not found: "NAME"`,
		`spec.consoleProxy.deployment.priorityClassName: Not found: "NAME"`,
		`spec.jobs.priorityClassName: Not found: "NAME"`,
		`spec.metadata.deployment.priorityClassName: Not found: "NAME"`,
		`spec.scheduler.deployment.priorityClassName: Not found: "NAME"`,
	}
	client, err := kubernetes.NewForConfig(h.config)
	if err != nil {
		t.Fatal(err)
	}
	try := func(enabled, name string, want []string) {
		t.Helper()
		change := strings.NewReplacer("NAME", name, "ENABLED", enabled).Replace(everywhere)
		for i := range want {
			want[i] = strings.Replace(want[i], "NAME", name, 1)
		}
		_, err := h.client(nova).Create(t.Context(), smallest.object(t, change), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		compare(t, want, err)
	}
	try("true", "absent", slices.Clone(all))
	try("false", "absent", slices.Delete(slices.Clone(all), 2, 3))
	try("true", "''", nil)
	// Read past the cache: what was created a moment ago counts, and what is gone does not.
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: h.namespace}, Value: 5}
	if _, err := client.SchedulingV1().PriorityClasses().Create(t.Context(), class, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	try("true", class.Name, nil)
	if err := client.SchedulingV1().PriorityClasses().Delete(t.Context(), class.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	try("true", class.Name, slices.Clone(all))
}

func TestHooked_PoolsAreComparedWithTheirNova(t *testing.T) {
	h := newHooked(t)
	const misspelt = "spec: {extraConfig: {libvirt: {cpu_mod: none}}}"
	try := func(change string, want, warnings, reads []string) {
		t.Helper()
		hooks.reads.take()
		_, err := h.client(compute).Create(t.Context(), compute.object(t, change), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		compare(t, want, err)
		if diff := cmp.Diff(warnings, h.warned()); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(reads, hooks.reads.take()); diff != "" {
			t.Error(diff)
		}
	}
	read := []string{"/apis/nova.openstack.c5c3.io/v1alpha1/namespaces/" + h.namespace + "/novas/nova"}
	try("", nil, nil, nil)
	try(misspelt, nil, []string{"extraConfig catalog check skipped: Nova " + h.namespace + "/nova not found"}, read)
	if _, err := h.create(smallest, ""); err != nil {
		t.Fatal(err)
	}
	h.warned()
	try("", nil, nil, nil)
	try(misspelt, []string{`spec.extraConfig[libvirt][cpu_mod]: "cpu_mod": no such option in the nova 2026.1 option catalog; did you mean "cpu_mode"?`}, nil, read)
	try("spec: {extraConfig: {DEFAULT: {logfile: x}}}", nil, []string{"spec.extraConfig [DEFAULT] logfile: deprecated option in nova 2026.1, replaced by [DEFAULT] log_file"}, read)
}

// An operator that is down keeps changes out and lets go of what is deleted, which a
// registered DELETE would not.
func TestHooked_DownOperatorBlocksNoDeletion(t *testing.T) {
	h := newHooked(t)
	stored, err := h.create(smallest, "")
	if err != nil {
		t.Fatal(err)
	}
	pool, err := h.create(compute, "")
	if err != nil {
		t.Fatal(err)
	}
	down(t, h)
	for k, object := range map[kind]*unstructured.Unstructured{nova: stored, compute: pool} {
		if _, err := h.patch(k, object.GetName(), `{"metadata": {"labels": {"a": "b"}}}`); err == nil || !strings.Contains(err.Error(), "failed calling webhook") {
			t.Errorf("a change while the operator is down: %v", err)
		}
		if err := h.client(k).Delete(t.Context(), object.GetName(), metav1.DeleteOptions{}); err != nil {
			t.Errorf("a deletion while the operator is down: %v", err)
		}
	}
}

package facts

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
)

// parse reads a live object from YAML. Counts are int64, as from the API server.
func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	u := &unstructured.Unstructured{}
	if err == nil {
		err = u.UnmarshalJSON(raw)
	}
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// kinded is an object of a kind with nothing in it but what is given.
func kinded(t *testing.T, gvk schema.GroupVersionKind, text string) *unstructured.Unstructured {
	t.Helper()
	apiVersion, kind := gvk.ToAPIVersionAndKind()
	return parse(t, "apiVersion: "+apiVersion+"\nkind: "+kind+"\n"+text)
}

func TestReadinessOf(t *testing.T) {
	for name, tc := range map[string]struct {
		live string
		want Readiness
	}{
		"no status":              {"", Readiness{}},
		"Ready":                  {"status: {conditions: [{type: Other, status: 'False'}, {type: Ready, status: 'True'}]}", Readiness{Ready: true}},
		"not Ready":              {"status: {conditions: [{type: Ready, status: 'False'}]}", Readiness{}},
		"unknown":                {"status: {conditions: [{type: Ready, status: Unknown}]}", Readiness{}},
		"another condition":      {"status: {conditions: [{type: Available, status: 'True'}]}", Readiness{}},
		"Ready and going":        {"metadata: {deletionTimestamp: '2026-03-01T00:00:00Z'}\nstatus: {conditions: [{type: Ready, status: 'True'}]}", Readiness{Ready: true, Deleting: true}},
		"conditions are no list": {"status: {conditions: yes}", Readiness{}},
		"a condition is no map":  {"status: {conditions: [Ready, {type: Ready, status: 'True'}]}", Readiness{Ready: true}},
		"a status of true":       {"status: {conditions: [{type: Ready, status: true}]}", Readiness{}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ReadinessOf(kinded(t, render.KindDatabase, tc.live))
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Error(diff, err)
			}
		})
	}
}

func TestSecretDataOf(t *testing.T) {
	for name, tc := range map[string]struct {
		live string
		want map[string]string
		err  string
	}{
		"no data":             {"", map[string]string{}, ""},
		"values are decoded":  {"data: {a: aHVudGVyMgo=, b: ''}", map[string]string{"a": "hunter2\n", "b": ""}, ""},
		"no base64":           {"data: {a: hunter2!}", nil, "decode Secret openstack/nova: key a is not base64"},
		"a value is a number": {"data: {a: 2}", nil, "decode Secret openstack/nova: data is no map of strings"},
		"data is a list":      {"data: [hunter2]", nil, "decode Secret openstack/nova: data is no map of strings"},
		"stringData counts not, as the API server keeps none": {"stringData: {a: hunter2}", map[string]string{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := SecretDataOf(kinded(t, render.KindSecret, "metadata: {namespace: openstack, name: nova}\n"+tc.live))
			if tc.err != "" {
				if err == nil || err.Error() != tc.err {
					t.Errorf("error %v, want %s", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			plain := map[string]string{}
			for key, value := range got {
				plain[key] = value.Reveal()
			}
			if diff := cmp.Diff(tc.want, plain); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSecretKey(t *testing.T) {
	if got := SecretKey("openstack", "openstack", "nova"); got != "nova" {
		t.Errorf("at home it is %s", got)
	}
	if got := SecretKey("openstack", "rabbitmq", "nova"); got != "rabbitmq/nova" {
		t.Errorf("elsewhere it is %s", got)
	}
}

func TestConfigMapOf(t *testing.T) {
	for name, tc := range map[string]struct {
		live string
		want ConfigMap
	}{
		"without data": {"metadata: {name: a}", ConfigMap{Name: "a"}},
		"keys are sorted, in UTC": {
			"metadata: {name: a, creationTimestamp: '2026-03-01T01:00:00+01:00'}\ndata: {nova.conf: x, api-paste.ini: y}",
			ConfigMap{Name: "a", Created: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), Keys: []string{"api-paste.ini", "nova.conf"}},
		},
		"data is no map": {"metadata: {name: a}\ndata: 1", ConfigMap{Name: "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, ConfigMapOf(kinded(t, render.KindConfigMap, tc.live))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMountedConfigMap(t *testing.T) {
	const volumes = "volumes: [{name: tmp, emptyDir: {}}, {name: config, configMap: {name: nova-config-1}}]"
	for name, tc := range map[string]struct {
		kind schema.GroupVersionKind
		live string
		want string
	}{
		"a Deployment":            {render.KindDeployment, "spec: {template: {spec: {" + volumes + "}}}", "nova-config-1"},
		"a Job":                   {render.KindJob, "spec: {template: {spec: {" + volumes + "}}}", "nova-config-1"},
		"a CronJob":               {render.KindCronJob, "spec: {jobTemplate: {spec: {template: {spec: {" + volumes + "}}}}}", "nova-config-1"},
		"a CronJob as others":     {render.KindCronJob, "spec: {template: {spec: {" + volumes + "}}}", ""},
		"no volume":               {render.KindDeployment, "spec: {template: {spec: {}}}", ""},
		"no volume of that name":  {render.KindDeployment, "spec: {template: {spec: {volumes: [{name: x, configMap: {name: y}}]}}}", ""},
		"config is no ConfigMap":  {render.KindDeployment, "spec: {template: {spec: {volumes: [{name: config, secret: {secretName: y}}]}}}", ""},
		"a volume that is no map": {render.KindDeployment, "spec: {template: {spec: {volumes: [config, {name: config, configMap: {name: other}}]}}}", "other"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := MountedConfigMap(kinded(t, tc.kind, tc.live)); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

func TestRouteOf(t *testing.T) {
	const accepted, refused = "{conditions: [{type: Accepted, status: 'True'}]}", "{conditions: [{type: Accepted, status: 'False'}]}"
	for name, tc := range map[string]struct {
		live string
		want bool
	}{
		"no status":             {"", false},
		"no parent":             {"status: {parents: []}", false},
		"any parent counts":     {"status: {parents: [" + refused + ", " + accepted + "]}", true},
		"no parent accepts":     {"status: {parents: [" + refused + "]}", false},
		"resolved is not it":    {"status: {parents: [{conditions: [{type: ResolvedRefs, status: 'True'}]}]}", false},
		"a parent is no map":    {"status: {parents: [Accepted, " + accepted + "]}", true},
		"parents are no list":   {"status: {parents: {}}", false},
		"without a condition":   {"status: {parents: [{}]}", false},
		"a condition elsewhere": {"status: {conditions: [{type: Accepted, status: 'True'}]}", false},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := RouteOf(kinded(t, render.KindHTTPRoute, tc.live))
			if got.Accepted != tc.want || err != nil {
				t.Errorf("accepted %v, error %v", got.Accepted, err)
			}
		})
	}
}

func TestRabbitmqClusterOf(t *testing.T) {
	for name, tc := range map[string]struct {
		live string
		want RabbitmqCluster
	}{
		"no user yet":      {"status: {defaultUser: {}}", RabbitmqCluster{}},
		"its user":         {"status: {defaultUser: {secretReference: {name: mq, namespace: rabbit}}}", RabbitmqCluster{UserSecret: "mq", UserSecretNamespace: "rabbit"}},
		"its own place":    {"status: {defaultUser: {secretReference: {name: mq}}}", RabbitmqCluster{UserSecret: "mq"}},
		"a name of digits": {"status: {defaultUser: {secretReference: {name: 5}}}", RabbitmqCluster{}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, RabbitmqClusterOf(kinded(t, render.KindRabbitmqCluster, tc.live))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// An object that is not of its kind's type is an error that names it, never an empty fact.
func TestTyped_NamesWhatItCannotRead(t *testing.T) {
	odd := "metadata: {namespace: openstack, name: nova}\nspec: {replicas: many, backoffLimit: many}"
	for name, read := range map[string]func() error{
		"Deployment": func() error { _, err := DeploymentOf(kinded(t, render.KindDeployment, odd)); return err },
		"Job":        func() error { _, err := JobOf(kinded(t, render.KindJob, odd)); return err },
	} {
		if err := read(); err == nil || !strings.HasPrefix(err.Error(), "decode "+name+" openstack/nova: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := CameUp(kinded(t, render.KindDeployment, odd), Deployment{}, false); err == nil {
		t.Error("an odd Deployment came up")
	}
}

func TestDatabaseOf(t *testing.T) {
	u := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"uid": "1", "annotations": map[string]any{v1alpha1.AnnotationSchemaRelease: "2025.2"}},
		"spec":     map[string]any{"cleanupPolicy": "Skip"},
		"status":   map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True"}}},
	}}
	got, err := DatabaseOf(u)
	if want := (Database{Readiness{Ready: true}, "1", "2025.2", true}); err != nil || got != want {
		t.Errorf("%+v, error %v", got, err)
	}
}

// Only positive evidence counts: what one pod of many says is not enough.
func TestUnstarted(t *testing.T) {
	waiting := corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}}}}
	with := func(change func(*corev1.PodStatus)) corev1.PodStatus {
		s := *waiting.DeepCopy()
		change(&s)
		return s
	}
	for name, tc := range map[string]struct {
		status map[string]any
		pods   []corev1.PodStatus
		want   bool
	}{
		"no pod was ever made":          {nil, nil, true},
		"a pod that nobody schedules":   {map[string]any{"active": int64(1)}, []corev1.PodStatus{{Phase: corev1.PodPending}}, true},
		"an image that can't be pulled": {map[string]any{"active": int64(1)}, []corev1.PodStatus{waiting}, true},
		"a pod that failed and is gone": {map[string]any{"failed": int64(1)}, []corev1.PodStatus{waiting}, false},
		"a pod that is ready":           {map[string]any{"ready": int64(1)}, nil, false},
		"a pod that is going":           {map[string]any{"terminating": int64(1)}, nil, false},
		"one that succeeded":            {map[string]any{"succeeded": int64(1)}, nil, false},
		"one of two runs":               {nil, []corev1.PodStatus{waiting, {Phase: corev1.PodRunning}}, false},
		"a container that runs": {nil, []corev1.PodStatus{with(func(s *corev1.PodStatus) {
			s.ContainerStatuses[0].State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
		})}, false},
		"a container that ran before": {nil, []corev1.PodStatus{with(func(s *corev1.PodStatus) {
			s.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{}
		})}, false},
		"a container that was started again": {nil, []corev1.PodStatus{with(func(s *corev1.PodStatus) { s.ContainerStatuses[0].RestartCount = 1 })}, false},
		"an init container that ran": {nil, []corev1.PodStatus{with(func(s *corev1.PodStatus) {
			s.InitContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}}
		})}, false},
	} {
		var pods []corev1.Pod
		for _, s := range tc.pods {
			pods = append(pods, corev1.Pod{Status: s})
		}
		u := &unstructured.Unstructured{Object: map[string]any{"status": tc.status}}
		if tc.status == nil {
			u.Object = map[string]any{}
		}
		if got, err := Unstarted(u, pods); err != nil || got != tc.want {
			t.Errorf("%s: %t, error %v", name, got, err)
		}
	}
}

func TestKeepsConfig(t *testing.T) {
	object := func(kind schema.GroupVersionKind, path string, value any) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{}}
		u.SetGroupVersionKind(kind)
		if path != "" {
			if err := unstructured.SetNestedField(u.Object, value, strings.Split(path, ".")...); err != nil {
				t.Fatal(err)
			}
		}
		return u
	}
	ended := func(kind string) []any { return []any{map[string]any{"type": kind, "status": "True"}} }
	old := object(render.KindReplicaSet, "spec.replicas", int64(0))
	lingers := object(render.KindReplicaSet, "spec.replicas", int64(0))
	if err := unstructured.SetNestedField(lingers.Object, int64(1), "status", "replicas"); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		u    *unstructured.Unstructured
		want bool
	}{
		"a ReplicaSet that wants pods":        {object(render.KindReplicaSet, "spec.replicas", int64(1)), true},
		"a ReplicaSet that says nothing":      {object(render.KindReplicaSet, "", nil), true},
		"a ReplicaSet whose pods are going":   {lingers, true},
		"a ReplicaSet that is history":        {old, false},
		"a pod that is still to be scheduled": {object(render.KindPod, "status.phase", "Pending"), true},
		"a pod that runs":                     {object(render.KindPod, "status.phase", "Running"), true},
		"a pod nobody hears of":               {object(render.KindPod, "status.phase", "Unknown"), true},
		"a pod that is done":                  {object(render.KindPod, "status.phase", "Succeeded"), false},
		"a pod that failed":                   {object(render.KindPod, "status.phase", "Failed"), false},
		"a Job that runs":                     {object(render.KindJob, "status.conditions", ended("FailureTarget")), true},
		"a Job that is done":                  {object(render.KindJob, "status.conditions", ended("Complete")), false},
		"a Job that failed":                   {object(render.KindJob, "status.conditions", ended("Failed")), false},
		"anything else":                       {object(render.KindDeployment, "", nil), true},
	} {
		if got := KeepsConfig(tc.u); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// The annotation says of a Job which incarnations it was made for, and nothing else.
func TestDatabasesAnnotation(t *testing.T) {
	for text, want := range map[string]map[string]string{
		"": nil, "nonsense": nil, "nova=2,nova-api=1": {"nova-api": "1", "nova": "2"}, "a=,,b": {"a": ""},
	} {
		u := &unstructured.Unstructured{}
		u.SetAnnotations(map[string]string{v1alpha1.AnnotationDatabases: text})
		if diff := cmp.Diff(want, RanThrough(u).Databases); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
		if len(want) == 2 && DatabasesAnnotation(want) != text {
			t.Errorf("written as %q", DatabasesAnnotation(want))
		}
	}
}

// What an observation says is a document: it reads back as it was, but for credentials.
func TestFacts_AreADocument(t *testing.T) {
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	type document struct {
		Readiness  Readiness
		Secret     SecretData
		Capability Capability
		ConfigMap  ConfigMap
		Deployment Deployment
		Database   Database
		Claim      SchemaClaim
		Job, Never Job
	}
	want := document{
		Readiness: Readiness{true, true}, Capability: Capability{true, "no answer"}, ConfigMap: ConfigMap{"a", now, []string{"k"}},
		Database: Database{Readiness{true, true}, "uid", "2026.1", true}, Claim: SchemaClaim{"Nova a", "schema nova", "spec", true},
		Deployment: Deployment{1, 2, new(int32(0)), true, 3, 4, 5, 6, true, "image", "config"},
		Job:        Job{"a", "uid", "hash", map[string]string{"a": "b"}, true, true, "why", true, true, now, now, "config", "report"},
	}
	raw, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got document
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	want.Secret = SecretData{"password": "hunter2"}
	if raw, err = json.Marshal(want); err != nil || strings.Contains(string(raw), "hunter2") {
		t.Errorf("%s, error %v", raw, err)
	}
	if strings.Contains(string(raw), "0001-01-01") {
		t.Errorf("it tells a time that never was: %s", raw)
	}
}

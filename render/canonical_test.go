package render

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"
)

func payload(t *testing.T, doc string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	raw, err := yaml.YAMLToJSON([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

func TestCanonical(t *testing.T) {
	cases := map[string]struct{ in, want string }{
		"what the API server writes goes": {
			in:   `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, uid: x, resourceVersion: "1", generation: 2, creationTimestamp: null, managedFields: [{}]}, status: {x: 1}}`,
			want: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`,
		},
		"null and empty go, and a map that becomes empty with them": {
			in:   `{kind: Deployment, spec: {a: null, b: {c: {d: null}}, e: [], f: "", g: 0, h: false}}`,
			want: `{kind: Deployment, spec: {f: "", g: 0, h: false}}`,
		},
		"empty volumes and selectors stay": {
			in:   `{kind: NetworkPolicy, spec: {podSelector: {matchLabels: {}}, egress: [{}], ingress: [], v: {emptyDir: {}}, from: [{namespaceSelector: {}}]}}`,
			want: `{kind: NetworkPolicy, spec: {podSelector: {}, egress: [{}], v: {emptyDir: {}}, from: [{namespaceSelector: {}}]}}`,
		},
		"an empty selector means every pod to a budget and nothing to a Service": {
			in:   `{apiVersion: v1, kind: Service, spec: {selector: {}, type: ClusterIP}}`,
			want: `{apiVersion: v1, kind: Service, spec: {type: ClusterIP}}`,
		},
		"an empty spec stays": {
			in: `{kind: Database, spec: {}}`, want: `{kind: Database, spec: {}}`,
		},
		"quantities": {
			in:   `{kind: X, spec: {resources: {limits: {cpu: 1000m, memory: 1024Mi, hugepages-2Mi: 4}, requests: {cpu: 0.5}}, limits: {n: 5}, emptyDir: {sizeLimit: 1024Ki}}}`,
			want: `{kind: X, spec: {resources: {limits: {cpu: "1", memory: 1Gi, hugepages-2Mi: "4"}, requests: {cpu: 500m}}, limits: {n: 5}, emptyDir: {sizeLimit: 1Mi}}}`,
		},
		"stringData wins over data": {
			in:   `{apiVersion: v1, kind: Secret, data: {a: YQ==, b: Yg==}, stringData: {a: z}}`,
			want: `{apiVersion: v1, kind: Secret, data: {a: eg==, b: Yg==}}`,
		},
		"base64 with line breaks is rewritten": {
			in:   `{apiVersion: v1, kind: Secret, data: {a: "YWFh\nYWFh"}}`,
			want: `{apiVersion: v1, kind: Secret, data: {a: YWFhYWFh}}`,
		},
		"container ports get a protocol": {
			in:   `{kind: X, spec: {containers: [{name: a, ports: [{containerPort: 1}, {containerPort: 1, protocol: UDP}]}]}}`,
			want: `{kind: X, spec: {containers: [{name: a, ports: [{containerPort: 1, protocol: TCP}, {containerPort: 1, protocol: UDP}]}]}}`,
		},
		"Service ports get a protocol, other kinds' ports do not": {
			in:   `{apiVersion: v1, kind: Service, spec: {ports: [{port: 1}]}}`,
			want: `{apiVersion: v1, kind: Service, spec: {ports: [{port: 1, protocol: TCP}]}}`,
		},
		"ports of an unknown kind stay": {
			in: `{kind: RabbitmqCluster, spec: {ports: [{port: 1}]}}`, want: `{kind: RabbitmqCluster, spec: {ports: [{port: 1}]}}`,
		},
		"whole floats are integers": {
			in: `{kind: X, spec: {a: 3.0, b: 0.5}}`, want: `{kind: X, spec: {a: 3, b: 0.5}}`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := payload(t, tc.in)
			if err := Canonical(got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(encode(t, payload(t, tc.want)), encode(t, got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCanonical_Refuses(t *testing.T) {
	cases := map[string]struct{ in, want string }{
		"duplicate variable": {
			in:   `{kind: X, spec: {containers: [{name: a, env: [{name: A, value: "1"}, {name: B}, {name: A}]}]}}`,
			want: "spec.containers[0].env[2]: second item with name=A",
		},
		"duplicate port once the protocol is there": {
			in:   `{kind: X, spec: {containers: [{name: a, ports: [{containerPort: 1}, {containerPort: 1, protocol: TCP}]}]}}`,
			want: "spec.containers[0].ports[1]: second item with containerPort=1 protocol=TCP",
		},
		"duplicate finalizer": {
			in: `{kind: X, metadata: {finalizers: [a/b, a/b]}}`, want: "metadata.finalizers[1]: second item with a/b",
		},
		"null in a list": {in: `{kind: X, spec: {args: [a, null]}}`, want: "spec.args[1]: null in a list"},
		"quantity": {
			in: `{kind: X, spec: {resources: {limits: {cpu: lots}}}}`, want: "spec.resources.limits.cpu: lots is not a quantity",
		},
		"stringData": {in: `{apiVersion: v1, kind: Secret, stringData: {a: 1}}`, want: "stringData.a: not text"},
		"data":       {in: `{apiVersion: v1, kind: Secret, data: {a: hunter2!}}`, want: "data.a: not base64"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := Canonical(payload(t, tc.in))
			if err == nil || err.Error() != tc.want {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}

// TestCanonical_Idempotent draws payloads from the field names the tables know.
func TestCanonical_Idempotent(t *testing.T) {
	field := rapid.SampledFrom([]string{
		"spec", "emptyDir", "selector", "resources", "limits", "requests", "cpu", "env", "name", "ports",
		"containerPort", "port", "containers", "status", "data", "sizeLimit", "labelSelector", "args", "metadata",
	})
	var node func(depth int) *rapid.Generator[any]
	node = func(depth int) *rapid.Generator[any] {
		leaf := []*rapid.Generator[any]{
			rapid.Just[any](nil), rapid.Just[any](""), rapid.Just[any](int64(0)), rapid.Just[any](2.0), rapid.Just[any](false),
			rapid.Map(rapid.SampledFrom([]string{"1000m", "1024Mi", "0.5", "x", "1Gi"}), func(s string) any { return s }),
		}
		if depth == 0 {
			return rapid.OneOf(leaf...)
		}
		return rapid.OneOf(append(leaf,
			rapid.Map(rapid.SliceOfN(rapid.Deferred(func() *rapid.Generator[any] { return node(depth - 1) }), 0, 3), func(s []any) any { return s }),
			rapid.Map(rapid.MapOfN(field, rapid.Deferred(func() *rapid.Generator[any] { return node(depth - 1) }), 0, 4), func(m map[string]any) any { return m }),
		)...)
	}
	rapid.Check(t, func(t *rapid.T) {
		u := &unstructured.Unstructured{Object: rapid.MapOfN(field, node(4), 0, 5).Draw(t, "object")}
		u.Object["kind"] = rapid.SampledFrom([]string{"Service", "Secret", "Deployment"}).Draw(t, "kind")
		u.Object["apiVersion"] = "v1"
		if err := Canonical(u); err != nil {
			t.Skip(err.Error())
		}
		once := encode(t, u)
		if strings.Contains(once, "null") {
			t.Fatalf("null left in %s", once)
		}
		again := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(u.Object)}
		if err := Canonical(again); err != nil {
			t.Fatalf("second pass: %v", err)
		}
		if diff := cmp.Diff(once, encode(t, again)); diff != "" {
			t.Fatal(diff)
		}
	})
}

func encode(t interface{ Fatal(...any) }, u *unstructured.Unstructured) string {
	raw, err := json.Marshal(u.Object)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

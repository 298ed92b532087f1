package pod

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/nova-operator/api/v1alpha1"
)

// asYAML is a value as it goes to the API server.
func asYAML(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err == nil {
		raw, err = yaml.JSONToYAML(raw)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// The blocks of every pod, as they are sent: a zero value would be a field of ours.
func TestBlocks(t *testing.T) {
	for name, tc := range map[string]struct {
		block any
		want  string
	}{
		"security of a pod": {Security(), "fsGroup: 42424\n"},
		"security of a container": {ContainerSecurity(), `allowPrivilegeEscalation: false
capabilities:
  drop:
  - ALL
readOnlyRootFilesystem: true
runAsGroup: 42424
runAsNonRoot: true
runAsUser: 42424
seccompProfile:
  type: RuntimeDefault
`},
		"a variable": {Env("A", "b"), "name: A\nvalue: b\n"},
		"a variable of a Secret": {SecretEnv("A", "secret", "key"), `name: A
valueFrom:
  secretKeyRef:
    key: key
    name: secret
`},
		"a scratch volume":  {EmptyDir("tmp"), "emptyDir: {}\nname: tmp\n"},
		"a mount":           {Mount("tmp", "/tmp"), "mountPath: /tmp\nname: tmp\n"},
		"a read-only mount": {MountReadOnly("config", "/etc/nova"), "mountPath: /etc/nova\nname: config\nreadOnly: true\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, asYAML(t, tc.block)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPullPolicy(t *testing.T) {
	for name, tc := range map[string]struct {
		image           v1alpha1.ImageSpec
		operatorDefault corev1.PullPolicy
		want            corev1.PullPolicy
	}{
		"a tag moves":                {v1alpha1.ImageSpec{Tag: "2026.1"}, "", corev1.PullAlways},
		"a digest does not":          {v1alpha1.ImageSpec{Digest: "sha256:0"}, "", corev1.PullIfNotPresent},
		"a digest beside a tag":      {v1alpha1.ImageSpec{Tag: "2026.1", Digest: "sha256:0"}, "", corev1.PullIfNotPresent},
		"the operator has a default": {v1alpha1.ImageSpec{Digest: "sha256:0"}, corev1.PullNever, corev1.PullNever},
		"the image's own is first":   {v1alpha1.ImageSpec{PullPolicy: corev1.PullAlways}, corev1.PullNever, corev1.PullAlways},
		"the image's own, a digest":  {v1alpha1.ImageSpec{Digest: "sha256:0", PullPolicy: corev1.PullAlways}, "", corev1.PullAlways},
	} {
		t.Run(name, func(t *testing.T) {
			if got := PullPolicy(tc.image, tc.operatorDefault); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}

func TestResources(t *testing.T) {
	list := func(cpu, memory string) corev1.ResourceList {
		out := corev1.ResourceList{}
		for name, text := range map[corev1.ResourceName]string{corev1.ResourceCPU: cpu, corev1.ResourceMemory: memory} {
			if text != "" {
				out[name] = resource.MustParse(text)
			}
		}
		return out
	}
	for name, tc := range map[string]struct {
		block *corev1.ResourceRequirements
		want  string
	}{
		"no block":           {nil, "limits: {memory: 1Gi}\nrequests: {cpu: 100m, memory: 1Gi}"},
		"an empty block":     {&corev1.ResourceRequirements{}, "limits: {memory: 1Gi}\nrequests: {cpu: 100m, memory: 1Gi}"},
		"CPU requested":      {&corev1.ResourceRequirements{Requests: list("2", "")}, "limits: {memory: 1Gi}\nrequests: {cpu: '2', memory: 1Gi}"},
		"CPU limited":        {&corev1.ResourceRequirements{Limits: list("2", "")}, "limits: {cpu: '2', memory: 1Gi}\nrequests: {memory: 1Gi}"},
		"memory requested":   {&corev1.ResourceRequirements{Requests: list("", "2Gi")}, "requests: {cpu: 100m, memory: 2Gi}"},
		"memory limited":     {&corev1.ResourceRequirements{Limits: list("", "2Gi")}, "limits: {memory: 2Gi}\nrequests: {cpu: 100m}"},
		"both as written":    {&corev1.ResourceRequirements{Requests: list("1", "2Gi"), Limits: list("3", "4Gi")}, "limits: {cpu: '3', memory: 4Gi}\nrequests: {cpu: '1', memory: 2Gi}"},
		"others as written":  {&corev1.ResourceRequirements{Limits: corev1.ResourceList{"a/b": resource.MustParse("1")}}, "limits: {a/b: '1', memory: 1Gi}\nrequests: {cpu: 100m, memory: 1Gi}"},
		"claims are carried": {&corev1.ResourceRequirements{Claims: []corev1.ResourceClaim{{Name: "gpu"}}}, "claims: [{name: gpu}]\nlimits: {memory: 1Gi}\nrequests: {cpu: 100m, memory: 1Gi}"},
	} {
		t.Run(name, func(t *testing.T) {
			before := tc.block.DeepCopy()
			got, err := Resources(tc.block, resource.MustParse("100m"), resource.MustParse("1Gi"))
			if err != nil {
				t.Fatal(err)
			}
			var want any
			if err := yaml.Unmarshal([]byte(tc.want), &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(asYAML(t, want), asYAML(t, got)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(before, tc.block); diff != "" {
				t.Errorf("the block is changed:\n%s", diff)
			}
		})
	}
}

func TestMemory(t *testing.T) {
	for name, tc := range map[string]struct {
		processes, threads int32
		want               string
	}{
		"one process":              {1, 1, "368Mi"},
		"a thread more":            {1, 2, "400Mi"},
		"a process more":           {2, 1, "720Mi"},
		"threads of every process": {2, 3, "848Mi"},
		"none is one":              {0, 0, "368Mi"},
		"less than none is one":    {-5, -5, "368Mi"},
		"the most there can be":    {1<<31 - 1, 1, "755914243760Mi"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Memory(tc.processes, tc.threads); got.String() != tc.want {
				t.Errorf("%s, want %s", got.String(), tc.want)
			}
		})
	}
}

func TestPlace(t *testing.T) {
	for name, tc := range map[string]struct {
		placement v1alpha1.NodePlacementSpec
		want      string
	}{
		"anywhere": {v1alpha1.NodePlacementSpec{}, "{}\n"},
		"empty is absent": {
			v1alpha1.NodePlacementSpec{NodeSelector: map[string]string{}, Tolerations: []corev1.Toleration{}}, "{}\n",
		},
		"everything": {
			v1alpha1.NodePlacementSpec{
				NodeSelector: map[string]string{"a": "b"},
				Tolerations:  []corev1.Toleration{{Key: "x", Operator: corev1.TolerationOpExists}, {Key: "y", TolerationSeconds: new(int64(0))}},
				Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
					NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: "In", Values: []string{"n"}}}}},
				}}},
			}, `affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
      - matchFields:
        - key: metadata.name
          operator: In
          values:
          - "n"
nodeSelector:
  a: b
tolerations:
- key: x
  operator: Exists
- key: "y"
  tolerationSeconds: 0
`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			spec := corev1ac.PodSpec()
			if err := Place(spec, tc.placement); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, asYAML(t, spec)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A value of another shape is an error that names the types, not half a value.
func TestConvert_RefusesAnotherShape(t *testing.T) {
	type other struct {
		Name []int `json:"name"`
	}
	if got, err := Convert[corev1ac.EnvVarApplyConfiguration](other{[]int{1}}); got != nil || err == nil || !strings.HasPrefix(err.Error(), "decode *v1.EnvVarApplyConfiguration: ") {
		t.Errorf("%v, error %v", got, err)
	}
	if _, err := Convert[corev1ac.EnvVarApplyConfiguration](make(chan int)); err == nil || !strings.HasPrefix(err.Error(), "encode chan int: ") {
		t.Errorf("error %v", err)
	}
	if _, err := ConvertAll[corev1ac.EnvVarApplyConfiguration]([]other{{}, {[]int{1}}}); err == nil {
		t.Error("a list with one of another shape is converted")
	}
}

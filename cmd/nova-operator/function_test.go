package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/nova-operator/render"
)

// asCommand has the test binary be the command, for tools that execute it.
const asCommand = "NOVA_OPERATOR_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// resourceList is what a function reads and writes.
type resourceList struct {
	APIVersion     string
	Kind           string
	Items          []map[string]any
	FunctionConfig map[string]any
	Results        []struct {
		Message, Severity string
		ResourceRef       struct{ APIVersion, Kind, Namespace, Name string }
		Field             struct{ Path string }
		File              struct {
			Path  string
			Index int
		}
		Tags map[string]string
	}
}

// call runs the function on a list and returns the next.
func call(t *testing.T, list string) (code int, out resourceList, stdout, stderr string) {
	t.Helper()
	code, stdout, stderr = command(t, list, "function")
	if err := yaml.UnmarshalStrict([]byte(stdout), &out); err != nil {
		t.Fatal(err)
	}
	return code, out, stdout, stderr
}

// listed are items as Kind/name, of rendered objects the Deployments only.
func listed(items []map[string]any) []string {
	var out []string
	for _, item := range items {
		u := &unstructured.Unstructured{Object: item}
		switch {
		case u.GetAnnotations()[renderedFrom] == "":
			out = append(out, u.GetKind()+"/"+u.GetName())
		case u.GetKind() == "Deployment" || u.GetKind() == "Secret":
			out = append(out, "rendered "+u.GetKind()+"/"+u.GetName())
		}
	}
	return out
}

func list(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile("testdata/function/list.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestFunction_Items(t *testing.T) {
	given := []string{"Nova/nova", "NovaCompute/pool", "Secret/nova-bus", "ConfigMap/other"}
	deployments := []string{
		"rendered Deployment/nova-conductor", "rendered Deployment/nova-scheduler", "rendered Deployment/nova-metadata",
		"rendered Deployment/nova-novncproxy", "rendered Deployment/nova",
	}
	secrets := []string{
		"rendered Secret/nova-api-db-connection", "rendered Secret/nova-db-connection", "rendered Secret/nova-service-user-env",
		"rendered Secret/nova-metadata-secret-env", "rendered Secret/nova-transport-url", "rendered Secret/nova-compute-config",
	}
	for name, tc := range map[string]struct {
		// change replaces one text of the list by another.
		change [2]string
		want   []string
	}{
		"rendered objects follow the items": {want: slices.Concat(given, deployments)},
		"in the place of the Nova":          {[2]string{"spec:\n    operatorNamespace", "spec:\n    objects: Replace\n    operatorNamespace"}, slices.Concat(given[1:], deployments)},
		"not at all":                        {[2]string{"spec:\n    operatorNamespace", "spec:\n    objects: Omit\n    operatorNamespace"}, given},
		"Secrets with placeholders":         {[2]string{"spec:\n    operatorNamespace", "spec:\n    secrets: Placeholder\n    operatorNamespace"}, slices.Concat(given, secrets, deployments)},
		"configured by a ConfigMap": {
			[2]string{"apiVersion: fn.nova.openstack.c5c3.io/v1alpha1\n  kind: RenderNova\n  metadata: {name: render}\n  spec:", "apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: render}\n  data:\n    objects: Replace"},
			slices.Concat(given[1:], deployments),
		},
		"beside a kustomization without a kind": {
			[2]string{"- apiVersion: v1\n  kind: ConfigMap", "- resources: [nova.yaml]\n- apiVersion: v1\n  kind: ConfigMap"},
			slices.Concat(given[:3], []string{"/"}, given[3:], deployments),
		},
		"without a configuration": {[2]string{"functionConfig:\n  apiVersion: fn.nova.openstack.c5c3.io/v1alpha1\n  kind: RenderNova\n  metadata: {name: render}\n  spec:\n    operatorNamespace: nova-operator\n", ""}, slices.Concat(given, deployments)},
	} {
		t.Run(name, func(t *testing.T) {
			text := list(t)
			if tc.change[0] != "" && !strings.Contains(text, tc.change[0]) {
				t.Fatal("nothing to change")
			}
			code, out, stdout, stderr := call(t, strings.Replace(text, tc.change[0], tc.change[1], 1))
			if code != exitOK {
				t.Fatal(code, stderr)
			}
			if diff := cmp.Diff(tc.want, listed(out.Items)); diff != "" {
				t.Error(diff)
			}
			if strings.Count(stdout, mark) != strings.Count(text, mark) {
				t.Error("a credential is added")
			}
			code, again, second, stderr := call(t, stdout)
			if code != exitOK {
				t.Fatal(code, stderr)
			}
			if len(again.Results) == len(out.Results) && stdout != second {
				t.Error(cmp.Diff(stdout, second))
			}
			if diff := cmp.Diff(out.Items, again.Items); diff != "" {
				t.Errorf("a second run changes the items:\n%s", diff)
			}
		})
	}
}

func TestFunction_SecretsHoldPlaceholders(t *testing.T) {
	_, out, _, _ := call(t, strings.Replace(list(t), "spec:\n    operatorNamespace", "spec:\n    secrets: Placeholder\n    operatorNamespace", 1))
	seen := 0
	for _, item := range out.Items {
		u := &unstructured.Unstructured{Object: item}
		if u.GetKind() != "Secret" || u.GetAnnotations()[renderedFrom] == "" {
			continue
		}
		data, _, _ := unstructured.NestedStringMap(item, "data")
		for key, value := range data {
			seen++
			if value != render.Placeholder {
				t.Errorf("%s/%s is %q", u.GetName(), key, value)
			}
		}
	}
	if seen == 0 {
		t.Error("no Secret is rendered")
	}
}

// TestFunction_RenderedObjectsBelongBesideTheirNova looks at the annotations by which a
// caller writes files.
func TestFunction_RenderedObjectsBelongBesideTheirNova(t *testing.T) {
	_, out, stdout, _ := call(t, list(t))
	if !strings.Contains(stdout, "# the comment of a user stays") {
		t.Error("a comment is lost")
	}
	places := map[string]bool{}
	for _, item := range out.Items {
		annotations := (&unstructured.Unstructured{Object: item}).GetAnnotations()
		if annotations[renderedFrom] == "" {
			continue
		}
		if annotations[renderedFrom] != "openstack/nova" {
			t.Errorf("rendered from %q", annotations[renderedFrom])
		}
		for _, prefix := range []string{"", "internal."} {
			place := annotations[prefix+"config.kubernetes.io/path"] + " " + annotations[prefix+"config.kubernetes.io/index"]
			if !strings.HasPrefix(place, "clouds/one/openstack-nova-rendered.yaml ") || places[prefix+place] {
				t.Errorf("%sconfig.kubernetes.io/path and index are %q", prefix, place)
			}
			places[prefix+place] = true
		}
	}
}

// TestFunction_KeepsTheSpellingOfPlaces gives the place of an item in one spelling only.
func TestFunction_KeepsTheSpellingOfPlaces(t *testing.T) {
	const legacy, internal = "      config.kubernetes.io/", "      internal.config.kubernetes.io/"
	for name, spelling := range map[string]string{"the old one": legacy, "the new one": internal} {
		t.Run(name, func(t *testing.T) {
			var kept []string
			for line := range strings.Lines(list(t)) {
				if strings.HasPrefix(line, spelling) || !strings.HasPrefix(line, legacy) && !strings.HasPrefix(line, internal) {
					kept = append(kept, line)
				}
			}
			_, out, _, _ := call(t, strings.Join(kept, ""))
			if out.Results[0].File.Path != "clouds/one/nova.yaml" {
				t.Errorf("the file of a result is %q", out.Results[0].File.Path)
			}
			for _, item := range out.Items {
				annotations := (&unstructured.Unstructured{Object: item}).GetAnnotations()
				if annotations[renderedFrom] == "" {
					continue
				}
				if got := annotations[strings.TrimSpace(spelling)+"path"]; got != "clouds/one/openstack-nova-rendered.yaml" {
					t.Errorf("the path is %q", got)
				}
			}
		})
	}
}

func TestFunction_Results(t *testing.T) {
	_, out, _, _ := call(t, list(t))
	var got []string
	for _, result := range out.Results {
		got = append(got, result.Severity+" "+result.ResourceRef.Kind+"/"+result.ResourceRef.Name+": "+result.Message)
		if result.ResourceRef.Kind == "Nova" && result.File.Path != "clouds/one/nova.yaml" {
			t.Errorf("the file is %q", result.File.Path)
		}
	}
	want := []string{
		"info Nova/nova: a placeholder stands in for nova-api-db/password",
		"info Nova/nova: a placeholder stands in for nova-api-db/username",
		"info Nova/nova: a placeholder stands in for nova-db/password",
		"info Nova/nova: a placeholder stands in for nova-db/username",
		"info Nova/nova: a placeholder stands in for nova-metadata/shared_secret",
		"info Nova/nova: a placeholder stands in for nova-service-user/password",
		"info Nova/nova: Secret openstack/nova-api-db-connection is left out: its values come from the cluster",
		"info Nova/nova: Secret openstack/nova-db-connection is left out: its values come from the cluster",
		"info Nova/nova: Secret openstack/nova-service-user-env is left out: its values come from the cluster",
		"info Nova/nova: Secret openstack/nova-metadata-secret-env is left out: its values come from the cluster",
		"info Nova/nova: Secret openstack/nova-transport-url is left out: its values come from the cluster",
		"info Nova/nova: Secret openstack/nova-compute-config is left out: its values come from the cluster",
		"info NovaCompute/pool: a NovaCompute is checked but not rendered by this build",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestFunction_Errors(t *testing.T) {
	for name, tc := range map[string]struct {
		old, new string
		// result is the first error, as field: message.
		result string
		// printed is on standard error.
		printed string
	}{
		"a field nobody knows": {
			"    cache:", "    regio: x\n    cache:", `spec.regio: unknown field; did you mean "region"?`,
			`[error] nova.openstack.c5c3.io/v1alpha1/Nova/openstack/nova spec.regio: unknown field; did you mean "region"?`,
		},
		"a Secret that can't be read": {
			"stringData: {transport_url: ", "data: {transport_url: ", "data.transport_url: must be base64; plain text goes under stringData", "v1/Secret/openstack/nova-bus data.transport_url",
		},
		"a Nova that would not turn ready": {
			"@rabbit.example.com:5672/", "@rabbit.example.com/", ": SecretsReady: TransportURLRejected: the transport URL must name an explicit port", "TransportURLRejected",
		},
		"an item of the name of a rendered object": {
			"kind: ConfigMap\n  metadata: {name: other,", "kind: Service\n  metadata: {name: nova-metadata,",
			": renders Service openstack/nova-metadata, which is among the items; rename one of the two", "rename one of the two",
		},
		"a configuration of another kind": {"kind: RenderNova", "kind: Other", ": functionConfig: must be a RenderNova of fn.nova.openstack.c5c3.io/v1alpha1 or a ConfigMap, not Other of fn.nova.openstack.c5c3.io/v1alpha1", "functionConfig"},
		"a configuration with a typo":     {"operatorNamespace:", "operatorNamspace:", `: functionConfig: spec: unknown field "operatorNamspace"`, "operatorNamspace"},
		"a value nobody knows":            {"operatorNamespace: nova-operator", "objects: Drop", ": functionConfig: spec.objects: must be Add, Replace, Omit", "spec.objects"},
	} {
		t.Run(name, func(t *testing.T) {
			text := list(t)
			if !strings.Contains(text, tc.old) {
				t.Fatal("nothing to change")
			}
			text = strings.Replace(text, tc.old, tc.new, 1)
			code, out, stdout, stderr := call(t, text)
			if code != exitError {
				t.Errorf("exit code %d", code)
			}
			var first string
			for _, result := range out.Results {
				if result.Severity == "error" && first == "" {
					first = result.Field.Path + ": " + result.Message
				}
			}
			if !strings.HasPrefix(first, tc.result) {
				t.Errorf("the first error is %q, want %q", first, tc.result)
			}
			if !strings.Contains(stderr, tc.printed) {
				t.Errorf("standard error: %s", stderr)
			}
			var before resourceList
			if err := yaml.Unmarshal([]byte(text), &before); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before.Items, out.Items); diff != "" {
				t.Errorf("the items are changed:\n%s", diff)
			}
			if strings.Contains(stderr, mark) || strings.Count(stdout, mark) != strings.Count(text, mark) {
				t.Errorf("a credential is printed: %s", stderr)
			}
		})
	}
}

func TestFunction_WantsAResourceList(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"plain manifests":       {"apiVersion: v1\nkind: Secret\nstringData: {a: hunter2}\n", "standard input must be one ResourceList of config.kubernetes.io/v1; render and validate read plain manifests"},
		"nothing":               {"", "standard input must be one ResourceList"},
		"an item of text":       {"kind: ResourceList\nitems: [hunter2]\n", "items[0] is no object"},
		"annotations of a list": {"kind: ResourceList\nitems: [{kind: A, metadata: {annotations: [hunter2]}}]\n", "items[0] is no object"},
		"no YAML":               {"kind: ResourceList\nitems:\n- a: *hunter2\n", "standard input does not parse as YAML"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := command(t, tc.text, "function")
			if code != exitError || !strings.Contains(stderr, tc.want) || stdout != "" || strings.Contains(stderr, mark) {
				t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
			}
		})
	}
}

// TestPage_FunctionConfig holds the page against the configuration that is tried here.
func TestPage_FunctionConfig(t *testing.T) {
	page, err := os.ReadFile("../../docs/krm-function.md")
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile("testdata/function/overlay/render.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "```yaml\n"+string(file)+"```") {
		t.Error("the page shows another render.yaml")
	}
}

// TestFunction_InKustomize builds an overlay whose transformer is the function, run by
// kustomize's own library.
func TestFunction_InKustomize(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		// added goes to the end of the kustomization.
		added string
		fails bool
	}{
		"renders":   {"", false},
		"a finding": {"patches: [{target: {kind: Nova}, path: patch.yaml}]\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(asCommand, "1")
			overlay := filepath.Join(project(t), "function", "overlay")
			if err := os.Symlink(self, filepath.Join(overlay, "nova-operator")); err != nil {
				t.Fatal(err)
			}
			t.Setenv("PATH", overlay)
			file := filepath.Join(overlay, "kustomization.yaml")
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, append(raw, tc.added...), 0o600); err != nil {
				t.Fatal(err)
			}
			options := krusty.MakeDefaultOptions()
			options.PluginConfig = types.EnabledPluginConfig(types.BploUseStaticallyLinked)
			options.PluginConfig.FnpLoadingOptions.EnableExec = true
			built, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), overlay)
			if tc.fails {
				if err == nil {
					t.Error("it builds")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var items []map[string]any
			for _, resource := range built.Resources() {
				item, err := resource.Map()
				if err != nil {
					t.Fatal(err)
				}
				items = append(items, item)
				if resource.GetNamespace() != "prod" {
					t.Errorf("%s is in %q", resource.CurId(), resource.GetNamespace())
				}
				for key := range resource.GetAnnotations() {
					if strings.HasPrefix(key, "config.kubernetes.io/") || strings.HasPrefix(key, "internal.config.kubernetes.io/") {
						t.Errorf("%s has the annotation %s", resource.CurId(), key)
					}
				}
			}
			want := []string{
				"Nova/nova", "rendered Deployment/nova-conductor", "rendered Deployment/nova-scheduler",
				"rendered Deployment/nova-metadata", "rendered Deployment/nova-novncproxy", "rendered Deployment/nova",
			}
			if diff := cmp.Diff(want, listed(items)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

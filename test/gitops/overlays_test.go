package gitops_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/nova-operator/test/process"
)

const overlays = root + "/fixtures/overlays"

// binary builds the operator, once.
var binary = sync.OnceValues(func() (string, error) {
	path, err := filepath.Abs(root)
	if err != nil {
		return "", err
	}
	return process.Build(context.Background(), path)
})

// run calls the operator's binary.
func run(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	var out, problems bytes.Buffer
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), problems.String()
}

// rendered are the objects one overlay comes to, as Kind/name.
func rendered(t *testing.T, folder string) map[string]*unstructured.Unstructured {
	t.Helper()
	code, stdout, stderr := run(t, "render", "-k", folder, "-o", "json")
	if code != 0 {
		t.Fatalf("render -k %s: exit code %d: %s", folder, code, stderr)
	}
	var decision struct {
		Desired []struct {
			Object map[string]any `json:"object"`
		} `json:"desired"`
	}
	if err := json.Unmarshal([]byte(stdout), &decision); err != nil {
		t.Fatal(err)
	}
	objects := map[string]*unstructured.Unstructured{}
	for _, d := range decision.Desired {
		u := &unstructured.Unstructured{Object: d.Object}
		name := u.GetKind() + "/" + u.GetName()
		if u.GetKind() == "ConfigMap" {
			name = "ConfigMap" // its name is a digest
		}
		objects[name] = u
	}
	return objects
}

// facts are what one environment is meant to differ in.
type facts struct {
	Images   string // of every pod
	Replicas map[string]string
	Hosts    map[string]string
	// Optional children of this environment.
	Optional []string
	// Options are lines of a configuration file, behind their section.
	Options []string
	Archive string
}

// Each environment is valid without a finding and comes to what a team means by it.
func TestOverlays_ComeToWhatTheyMean(t *testing.T) {
	hosts := func(domain string) map[string]string {
		return map[string]string{"HTTPRoute/nova": "compute." + domain, "HTTPRoute/nova-console": "console." + domain}
	}
	replicas := func(api, metadata, scheduler, conductor, console string) map[string]string {
		return map[string]string{"nova": api, "nova-metadata": metadata, "nova-scheduler": scheduler, "nova-conductor": conductor, "nova-novncproxy": console}
	}
	optional := []string{"HorizontalPodAutoscaler/nova", "NetworkPolicy/nova"}
	common := []string{"[DEFAULT] reserved_host_memory_mb = 1024"}
	for name, want := range map[string]facts{
		"base": {
			Images: "registry.example.com/openstack/nova:2025.2", Replicas: replicas("3", "1", "1", "1", "1"),
			Hosts: hosts("example.com"), Options: common, Archive: "@daily",
		},
		"staging": {
			Images: "registry.example.com/openstack/nova:2026.1", Replicas: replicas("1", "1", "1", "1", "1"), Hosts: hosts("staging.example.com"),
			Options: append([]string{"[scheduler] discover_hosts_in_cells_interval = 60", "[DEFAULT] debug = true"}, common...), Archive: "@daily",
		},
		"production": {
			Images: "registry.example.com/openstack/nova:2025.2", Replicas: replicas("left to the autoscaler", "5", "3", "5", "2"),
			Hosts: hosts("cloud.example.com"), Optional: optional,
			Options: append([]string{"[filter_scheduler] host_subset_size = 5", "[conductor] workers = 8", "[scheduler] workers = 4"}, common...), Archive: "17 3 * * *",
		},
	} {
		t.Run(name, func(t *testing.T) {
			folder := filepath.Join(overlays, name)
			if code, stdout, stderr := run(t, "validate", "-k", folder); code != 0 || stderr != "" {
				t.Errorf("validate: exit code %d: %s%s", code, stdout, stderr)
			}
			objects := rendered(t, folder)
			got := facts{Replicas: map[string]string{}, Hosts: map[string]string{}}
			for key, o := range objects {
				switch o.GetKind() {
				case "Deployment":
					got.Replicas[o.GetName()] = "left to the autoscaler"
					if n, found, _ := unstructured.NestedNumberAsFloat64(o.Object, "spec", "replicas"); found {
						got.Replicas[o.GetName()] = fmt.Sprint(n)
					}
				case "HTTPRoute":
					names, _, _ := unstructured.NestedStringSlice(o.Object, "spec", "hostnames")
					got.Hosts[key] = strings.Join(names, " ")
				case "CronJob":
					got.Archive, _, _ = unstructured.NestedString(o.Object, "spec", "schedule")
				}
				for _, image := range images(o.Object) {
					if got.Images != "" && got.Images != image {
						t.Errorf("%s runs %s, others %s", key, image, got.Images)
					}
					got.Images = image
				}
			}
			for _, key := range optional {
				if objects[key] != nil {
					got.Optional = append(got.Optional, key)
				}
			}
			files, _, _ := unstructured.NestedStringMap(objects["ConfigMap"].Object, "data")
			for _, line := range want.Options {
				if slices.ContainsFunc(slices.Collect(maps.Values(files)), func(conf string) bool { return hasOption(conf, line) }) {
					got.Options = append(got.Options, line)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Production cannot be deleted by mistake, with its namespace or without.
func TestOverlays_ProtectProduction(t *testing.T) {
	objects, err := process.Kustomize(filepath.Join(overlays, "production"))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]any{}
	for _, o := range objects {
		switch o.GetKind() {
		case "Namespace":
			got["label"] = o.GetLabels()["nova.openstack.c5c3.io/protected"]
			got["Flux"] = o.GetAnnotations()["kustomize.toolkit.fluxcd.io/prune"]
			got["Argo CD"] = o.GetAnnotations()["argocd.argoproj.io/sync-options"]
		case "Nova":
			got["field"], _, _ = unstructured.NestedBool(o.Object, "spec", "deletionProtection")
		}
	}
	want := map[string]any{"label": "true", "Flux": "disabled", "Argo CD": "Prune=false,Delete=false", "field": true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// images are those of every container, wherever a kind has its pod template.
func images(value any) []string {
	var out []string
	switch v := value.(type) {
	case map[string]any:
		if containers, ok := v["containers"].([]any); ok {
			for _, c := range containers {
				out = append(out, c.(map[string]any)["image"].(string))
			}
		}
		for _, inner := range v {
			out = append(out, images(inner)...)
		}
	case []any:
		for _, inner := range v {
			out = append(out, images(inner)...)
		}
	}
	return out
}

// hasOption looks for "[section] line" in an INI text.
func hasOption(conf, option string) bool {
	section, line, _ := strings.Cut(option, " ")
	in := ""
	for text := range strings.Lines(conf) {
		text = strings.TrimSpace(text)
		if strings.HasPrefix(text, "[") {
			in = text
		} else if in == section && text == line {
			return true
		}
	}
	return false
}

// Promoting a release is the one line that names its component, and moves release and
// image together.
func TestOverlays_PromoteAReleaseInOneLine(t *testing.T) {
	dir := copyOverlays(t)
	replace(t, filepath.Join(dir, "production", "kustomization.yaml"), "../releases/2025.2", "../releases/2026.1")
	folder := filepath.Join(dir, "production")
	if code, stdout, stderr := run(t, "validate", "-k", folder); code != 0 || stderr != "" {
		t.Errorf("validate: exit code %d: %s%s", code, stdout, stderr)
	}
	objects, err := process.Kustomize(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		if o.GetKind() != "Nova" {
			continue
		}
		release, _, _ := unstructured.NestedString(o.Object, "spec", "openStackRelease")
		tag, _, _ := unstructured.NestedString(o.Object, "spec", "image", "tag")
		if release != "2026.1" || tag != "2026.1" {
			t.Errorf("release %s, image %s", release, tag)
		}
	}
}

package preview

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/test/golden"
)

// sample is a document with every kind of line.
func sample() *Document {
	configMap := func(name, debug string) map[string]any {
		return map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "namespace": "openstack"},
			"data": map[string]any{"nova.conf": "[DEFAULT]\ndebug = " + debug + "\n"},
		}
	}
	deployment := func(image string) map[string]any {
		return map[string]any{
			"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "nova", "namespace": "openstack"},
			"spec": map[string]any{
				"replicas": int64(2), "template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"image": image, "name": "api"}}}},
			},
		}
	}
	changed := Resource{
		Kind: "Nova", Namespace: "openstack", Name: "nova", Action: ActionChange,
		Changes: []Change{
			{Path: "spec.openStackRelease", From: "2025.2", To: "2026.1"},
			{Path: "spec.region", From: nil, To: "north"},
			{Path: "spec.extraConfig.DEFAULT.debug", From: "true", To: nil},
			{Path: "spec.api.resources", From: map[string]any{"cpu": "1"}, To: map[string]any{"cpu": int64(2)}},
		},
		Summary: Summary{
			Create: 2, Change: 3, Recreate: 1, Delete: 1, Held: 3, Unchanged: 9, Refused: 1, Jobs: 1, Rollouts: 2, Deployments: 1, DaemonSets: 1,
			Pods: 5, Started: 1, Stopped: 2,
		},
		Configuration: &Configuration{Name: "nova-config-2", Follows: "nova-config-1", Lines: []ConfigLine{
			{File: "nova.conf", Section: "DEFAULT", Option: "debug", From: []string{"true"}},
			{File: "nova.conf", Section: "DEFAULT", Option: "region", To: []string{"north"}},
			{File: "nova.conf", Section: "pci", Option: "alias", From: []string{"a", ""}, To: []string{"a", "b ``` c"}},
			{File: "nova.conf", Section: "vmware", Option: "host_password", From: []string{"hidden:00000001"}, To: []string{"hidden:00000002"}},
		}},
		Sequence: []Run{
			{Kind: RunPhase, Phase: "Expanding"},
			{Kind: RunJob, Object: "Job/nova-db-expand"},
			{Kind: RunJob, Object: "Job/nova-db-sync", Why: []string{"its pod template changed"}},
			{Kind: RunStart, Object: "Deployment/nova-novncproxy", Pods: 1},
			{Kind: RunRollout, Object: "Deployment/nova", Pods: 2, Why: []string{"image a:2025.2 to a:2026.1", "configuration"}},
			{Kind: RunRollout, Object: "DaemonSet/kvm", Pods: 3, Why: []string{"compute contract"}},
			{Kind: RunScale, Object: "Deployment/nova-scheduler", Why: []string{"replicas 1 to 2"}},
			{Kind: RunStop, Object: "Deployment/nova-metadata", Pods: 2, Why: []string{"spec.metadata is absent"}},
			{Kind: RunPhase, Phase: phaseDone},
			{Kind: RunPhase, Phase: phaseAborted},
		},
		Objects: []Object{
			{
				APIVersion: "v1", Kind: "ConfigMap", Namespace: "openstack", Name: "nova-config-2", Action: ActionCreate,
				Content: configMap("nova-config-2", "true"), after: configMap("nova-config-2", "true"),
			},
			{APIVersion: "v1", Kind: "Secret", Namespace: "openstack", Name: "nova-transport-url", Action: ActionCreate, Keys: []string{"ca.crt", "url"}},
			{
				APIVersion: "apps/v1", Kind: "Deployment", Namespace: "openstack", Name: "nova", Action: ActionChange,
				Changes: []Change{
					{Path: "spec.template.spec.containers[name=api].image", From: "a:2025.2", To: "a:2026.1", Manager: "kubectl-edit"},
					{Path: "spec.template.spec.volumes[name=config].configMap.name", From: "nova-config-1", To: "nova-config-2"},
				},
				before: deployment("a:2025.2"), after: deployment("a:2026.1"),
			},
			{
				APIVersion: "apps/v1", Kind: "Deployment", Namespace: "openstack", Name: "nova-scheduler", Action: ActionChange,
				Changes: []Change{{Path: "spec.template.spec.volumes[name=config].configMap.name", From: "nova-config-1", To: "nova-config-2"}},
			},
			{
				APIVersion: "batch/v1", Kind: "Job", Namespace: "openstack", Name: "nova-db-sync", Action: ActionRecreate, Reason: "its pod template changed",
				Changes: []Change{
					{Path: "metadata.annotations[" + v1alpha1.AnnotationPodSpecHash + "]", From: "1", To: "2"},
					{Path: "spec.template.spec.restartPolicy", From: "Never", To: "On\nFailure\x1b[2J"},
				},
			},
			{APIVersion: "v1", Kind: "Service", Namespace: "openstack", Name: "nova-metadata", Action: ActionDelete, Reason: "spec.metadata is absent", before: configMap("x", "y")},
			{APIVersion: "v1", Kind: "Service", Namespace: "openstack", Name: "nova-novncproxy", Action: ActionWait, Reason: "its predecessor\nis being deleted"},
			{APIVersion: "policy/v1", Kind: "PodDisruptionBudget", Namespace: "openstack", Name: "nova", Action: ActionRefused, Error: "forbidden:\n<b>exceeds</b> quota"},
		},
		Held: []Held{
			{Object: "Deployment/nova-conductor", Gate: "DBSyncInProgress"},
			{Object: "Secret/nova-db", Gate: "data stays"},
			{Object: "Deployment/nova-api", Gate: "DBSyncInProgress"},
		},
		NotReady: []Condition{{Type: "DatabaseReady", Reason: "WaitingForDatabase", Message: "User nova\nis not Ready"}},
		Events:   []Event{{Type: "Normal", Reason: "UpgradeInitiated", Message: "2025.2 to 2026.1"}},
		Notes:    []string{"the Secret nova-db is assumed\nto exist"},
		Errors:   []string{"render metadata/service: no port\nat all"},
	}
	gone := Resource{
		Kind: "Nova", Namespace: "openstack", Name: "old", Action: ActionDelete, Summary: Summary{Delete: 1, Stopped: 1}, Changes: []Change{},
		Sequence: []Run{{Kind: RunStop, Object: "Deployment/old", Pods: 1}},
		Objects:  []Object{{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "openstack", Name: "old", Action: ActionDelete}},
		Held:     []Held{}, NotReady: []Condition{}, Events: []Event{}, Notes: []string{}, Errors: []string{},
	}
	same := Resource{
		Kind: "Nova", Namespace: "openstack", Name: "same", Action: ActionUnchanged, Summary: Summary{Unchanged: 20}, Changes: []Change{},
		Sequence: []Run{}, Objects: []Object{}, Held: []Held{}, NotReady: []Condition{}, Events: []Event{}, Notes: []string{}, Errors: []string{},
	}
	pool := same
	pool.Kind, pool.Name, pool.Notes, pool.Summary = "NovaCompute", "kvm", []string{"its Nova was not given"}, Summary{}
	return New(ModeOffline, "git:main", "`work`", []Resource{changed, gone, same, pool})
}

func TestDocument_Golden(t *testing.T) {
	d := sample()
	for name, form := range map[string]func(io.Writer) error{
		"document.txt":  func(w io.Writer) error { return d.Text(w, TextOptions{}) },
		"document.diff": d.Unified,
		"document.md":   func(w io.Writer) error { return d.Markdown(w, 0) },
		"document.json": d.JSON,
	} {
		t.Run(name, func(t *testing.T) {
			var got bytes.Buffer
			if err := form(&got); err != nil {
				t.Fatal(err)
			}
			golden.Same(t, filepath.Join("testdata", name), got.Bytes())
		})
	}
}

// Colours are around what the text form says, and change none of it.
func TestText_ColoursOnlyMark(t *testing.T) {
	var coloured, plain strings.Builder
	if err := errors.Join(sample().Text(&coloured, TextOptions{Colour: true}), sample().Text(&plain, TextOptions{})); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\x1b[32m  + ConfigMap/nova-config-2: create\x1b[0m\n", "\x1b[33m  ~ Deployment/nova: change\x1b[0m\n",
		"\x1b[31m  - Service/nova-metadata: delete: spec.metadata is absent\x1b[0m\n",
	} {
		if !strings.Contains(coloured.String(), want) {
			t.Errorf("%q is not in it", want)
		}
	}
	if diff := cmp.Diff(plain.String(), regexp.MustCompile(`\x1b\[\d*m`).ReplaceAllString(coloured.String(), "")); diff != "" {
		t.Error(diff)
	}
}

func TestMarkdown_NamesWhatItCuts(t *testing.T) {
	var out strings.Builder
	if err := sample().Markdown(&out, 3600); err != nil {
		t.Fatal(err)
	}
	_, trailer, cut := strings.Cut(out.String(), "**Cut, because a comment ends at 3600 bytes: ")
	if !cut || !strings.Contains(trailer, "openstack PodDisruptionBudget/nova") || strings.Contains(out.String(), "<b>PodDisruptionBudget/nova</b>") {
		t.Errorf("%s", out.String())
	}
}

// broken takes so many writes and no more.
type broken struct{ takes int }

var errBroken = errors.New("broken pipe")

func (b *broken) Write(p []byte) (int, error) {
	if b.takes--; b.takes < 0 {
		return 0, errBroken
	}
	return len(p), nil
}

func TestDocument_TellsThatItCouldNotPrint(t *testing.T) {
	d := sample()
	for name, form := range map[string]func(io.Writer) error{
		"text": func(w io.Writer) error { return d.Text(w, TextOptions{}) }, "markdown": func(w io.Writer) error { return d.Markdown(w, 0) }, "JSON": d.JSON,
		"unified": d.Unified,
	} {
		if err := form(&broken{}); !errors.Is(err, errBroken) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for takes := range 5 {
		if err := d.Unified(&broken{takes}); !errors.Is(err, errBroken) {
			t.Errorf("after %d writes: %v", takes, err)
		}
	}
}

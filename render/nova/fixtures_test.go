package nova

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/facts"
	"github.com/c5c3/nova-operator/render/pipeline"
	"github.com/c5c3/nova-operator/render/stream"
	"github.com/c5c3/nova-operator/test/golden"
)

const fixtures = "../../fixtures/nova"

// fixtureSettings are the operator's in every fixture.
var fixtureSettings = render.Settings{OperatorNamespace: "nova-operator"}

// fixture is one case: a Nova and, where gates matter, an observation.
type fixture struct {
	name string
	in   Input
	// settle is true without an observation.
	settle bool
}

func (f fixture) decide() (pipeline.Decision, []string) {
	if f.settle {
		return Settle(f.in)
	}
	return Decide(f.in), nil
}

// TestDecide_Fixtures compares every case with its want.yaml, byte by byte: the exact
// objects by wave, credentials in the open, then the rest of the decision.
func TestDecide_Fixtures(t *testing.T) {
	for _, f := range loadFixtures(t) {
		t.Run(f.name, func(t *testing.T) {
			result, placeholders := f.decide()
			got := printed(t, result, placeholders)
			again, placeholders := f.decide()
			if diff := cmp.Diff(string(got), string(printed(t, again, placeholders))); diff != "" {
				t.Errorf("a second decision differs:\n%s", diff)
			}
			f.checkHash(t)
			path := filepath.Join(fixtures, f.name, "want.yaml")
			golden.Same(t, path, got)
			if diff := cmp.Diff(desired(result), readBack(t, readFile(t, path))); diff != "" {
				t.Errorf("want.yaml does not read back as the set:\n%s", diff)
			}
		})
	}
}

// TestFixtures_ShowEveryChild fails on a row of the index that no case renders.
func TestFixtures_ShowEveryChild(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range loadFixtures(t) {
		result, _ := f.decide()
		for _, c := range index.Children {
			key := c.Key(f.in.Nova)
			seen[c.ID] = seen[c.ID] || slices.ContainsFunc(result.Set.Desired, func(o render.Object) bool {
				return o.Key() == key || c.ID == childConfig && o.Key().Kind == key.Kind
			})
		}
	}
	for _, c := range index.Children {
		if !seen[c.ID] {
			t.Errorf("%s is desired in no fixture", c.ID)
		}
	}
}

// checkHash fails on an observed Job that proves nothing any more: its hash is that of
// the current template, or says that it is stale.
func (f fixture) checkHash(t *testing.T) {
	t.Helper()
	in := f.in
	in.Observed.Jobs = nil
	settled, _ := Settle(in)
	for name, job := range f.in.Observed.Jobs {
		for _, o := range settled.Set.Desired {
			hash := o.Content.GetAnnotations()[v1alpha1.AnnotationPodSpecHash]
			if o.Key().GroupVersionKind == render.KindJob && o.Content.GetName() == name && job.TemplateHash != hash && job.TemplateHash != "stale" {
				t.Errorf("observed.yaml: jobs.%s.templateHash is neither stale nor %s", name, hash)
			}
		}
	}
}

// loadFixtures reads every case and fails on a file that belongs to none.
func loadFixtures(t testing.TB) []fixture {
	t.Helper()
	folders, err := os.ReadDir(fixtures)
	if err != nil {
		t.Fatal(err)
	}
	var out []fixture
	for _, folder := range folders {
		out = append(out, loadFixture(t, folder.Name()))
	}
	return out
}

func loadFixture(t testing.TB, name string) fixture {
	t.Helper()
	folder := filepath.Join(fixtures, name)
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	f := fixture{name: name, settle: true, in: Input{Nova: &v1alpha1.Nova{}, Settings: fixtureSettings}}
	for _, file := range files {
		raw := readFile(t, filepath.Join(folder, file.Name()))
		switch file.Name() {
		case "nova.yaml":
			if !bytes.HasPrefix(raw, []byte("# ")) {
				t.Errorf("%s/nova.yaml does not begin with what the case shows", name)
			}
			f.manifests(t, raw)
		case "observed.yaml":
			f.settle = false
			decodeStrict(t, raw, &f.in.Observed)
		case "want.yaml":
		default:
			t.Errorf("%s/%s is read by no test", name, file.Name())
		}
	}
	if f.in.Nova.Name == "" {
		t.Fatalf("%s has no nova.yaml", name)
	}
	return f
}

// manifests reads a Nova and the Secrets behind it.
func (f *fixture) manifests(t testing.TB, raw []byte) {
	t.Helper()
	documents := bytes.Split(raw, []byte("\n---\n"))
	decodeStrict(t, documents[0], f.in.Nova)
	for _, document := range documents[1:] {
		var secret corev1.Secret
		decodeStrict(t, document, &secret)
		if f.in.Observed.Secrets == nil {
			f.in.Observed.Secrets = map[string]facts.SecretData{}
		}
		data := facts.SecretData{}
		for key, value := range secret.StringData {
			data[key] = render.Sensitive(value)
		}
		f.in.Observed.Secrets[facts.SecretKey(f.in.Nova.Namespace, secret.Namespace, secret.Name)] = data
	}
}

func decodeStrict(t testing.TB, raw []byte, into any) {
	t.Helper()
	asJSON, err := yaml.YAMLToJSONStrict(raw)
	if err != nil {
		t.Fatal(err)
	}
	strict, err := kjson.UnmarshalStrict(asJSON, into)
	if err != nil || len(strict) > 0 {
		t.Fatal(err, strict)
	}
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// decisionDocument is the last document of a want.yaml.
type decisionDocument struct {
	stream.Outline `json:",inline"`
	Placeholders   []string            `json:"placeholders,omitempty"`
	Records        []recordDocument    `json:"records,omitempty"`
	Status         v1alpha1.NovaStatus `json:"status"`
	Err            string              `json:"error,omitempty"`
}

type recordDocument struct {
	Subject  string         `json:"subject"`
	UID      string         `json:"uid"`
	Result   string         `json:"result,omitempty"`
	Duration string         `json:"duration,omitempty"`
	Events   []stream.Event `json:"events,omitempty"`
}

func printed(t testing.TB, r pipeline.Decision, placeholders []string) []byte {
	t.Helper()
	var out bytes.Buffer
	all := stream.Options{Reveal: func(string) bool { return true }}
	if err := stream.Objects(&out, r.Set, all); err != nil {
		t.Fatal(err)
	}
	document := decisionDocument{Outline: stream.Describe(r), Placeholders: placeholders, Status: statusOf(r)}
	for _, record := range r.Records {
		d := recordDocument{Subject: record.Subject, UID: record.UID, Result: record.Result}
		if record.Counted {
			d.Duration = record.Duration.String()
		}
		for _, e := range record.Events {
			d.Events = append(d.Events, stream.Event(e))
		}
		document.Records = append(document.Records, d)
	}
	if r.Err != nil {
		document.Err = r.Err.Error()
	}
	raw, err := yaml.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	out.WriteString("---\n# decision\n")
	out.Write(raw)
	return out.Bytes()
}

// desired is the set as JSON, by key.
func desired(r pipeline.Decision) map[string]string {
	out := map[string]string{}
	for _, o := range r.Set.Desired {
		raw, _ := json.Marshal(o.Content.Object)
		out[o.Key().String()] = string(raw)
	}
	return out
}

// readBack is what an API server gets from a want.yaml.
func readBack(t testing.TB, want []byte) map[string]string {
	t.Helper()
	out := map[string]string{}
	documents := strings.Split("\n"+string(want), "\n---\n")
	for _, document := range documents[1 : len(documents)-1] {
		u := &unstructured.Unstructured{}
		asJSON, err := yaml.YAMLToJSONStrict([]byte(document))
		if err == nil {
			err = u.UnmarshalJSON(asJSON)
		}
		if err == nil {
			err = render.Canonical(u)
		}
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(u.Object)
		if err != nil {
			t.Fatal(err)
		}
		out[render.KeyOf(u).String()] = string(raw)
	}
	return out
}

package live_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/apply/diff"
	"github.com/c5c3/nova-operator/cmd/internal/live"
	"github.com/c5c3/nova-operator/cmd/internal/offline"
	"github.com/c5c3/nova-operator/controllers/pass"
	"github.com/c5c3/nova-operator/kustomize/crd"
	"github.com/c5c3/nova-operator/preview"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/test/cluster"
)

// chain is a row of edits.
type chain struct {
	Chain string         `json:"chain"`
	Start map[string]any `json:"start"`
	Edits []struct {
		Name  string         `json:"name"`
		Patch map[string]any `json:"patch"`
		// Apart is why a preview without the cluster says something else.
		Apart string `json:"apart"`
	} `json:"edits"`
}

func readChains(t *testing.T) []chain {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "edits.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var chains []chain
	if err := yaml.UnmarshalStrict(raw, &chains); err != nil {
		t.Fatal(err)
	}
	return chains
}

// TestFidelity_WhatWasPrintedHappens makes every edit on a cluster, after a preview of
// it: what then changed on the cluster is what was printed, object by object and field
// by field, and a preview of the same manifest has nothing more to say.
func TestFidelity_WhatWasPrintedHappens(t *testing.T) {
	runOperator(t)
	for _, chain := range readChains(t) {
		t.Run(chain.Chain, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			manifest := w.manifest(chain.Start)
			w.apply(manifest)
			w.settle(manifest)
			for _, edit := range chain.Edits {
				before := manifest
				manifest = patched(t, manifest, edit.Patch)
				w.edit(edit.Name, edit.Apart, before, manifest)
			}
		})
	}
}

// elsewhere are fields no edit can change on a running Nova.
var elsewhere = map[string]string{
	"targetClusterRef":     "immutable; TestStates_APlacedNova",
	"apiDatabase.database": "immutable",
	"database.database":    "immutable",
}

// deep are the fields whose own schema is that of another API: one edit of them counts.
var deep = []string{"affinity", "resources", "strategy", "behavior", "tolerations", "topologySpreadConstraints", "nodeSelector", "ingress", "additionalEgress", "minAllowed", "maxAllowed"}

// Every field of the spec is in an edit.
func TestFidelity_EditsCoverTheSpec(t *testing.T) {
	edited := map[string]bool{}
	count := 0
	for _, chain := range readChains(t) {
		touched(edited, "", chain.Start)
		for _, edit := range chain.Edits {
			touched(edited, "", edit.Patch)
			count++
		}
	}
	if count < 60 {
		t.Errorf("%d edits", count)
	}
	raw, err := crd.Files.ReadFile(v1alpha1.GroupName + "_novas.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var definition apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(raw, &definition); err != nil {
		t.Fatal(err)
	}
	for _, field := range fieldsBelow("", definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]) {
		if excused := elsewhere[field] + elsewhere[strings.TrimSuffix(field, ".name")]; excused != "" == edited[field] {
			t.Errorf("%s: edited %v, excused %q", field, edited[field], excused)
		}
	}
}

// touched collects the paths of a patch, parents included.
func touched(into map[string]bool, path string, v any) {
	into[strings.TrimPrefix(path, ".")] = true
	m, _ := v.(map[string]any)
	for key, below := range m {
		touched(into, path+"."+key, below)
	}
}

// fieldsBelow lists the leaves of a schema.
func fieldsBelow(path string, s apiextensionsv1.JSONSchemaProps) []string {
	name := path[strings.LastIndex(path, ".")+1:]
	if len(s.Properties) == 0 || slices.Contains(deep, name) {
		return []string{strings.TrimPrefix(path, ".")}
	}
	var out []string
	for _, key := range slices.Sorted(maps.Keys(s.Properties)) {
		out = append(out, fieldsBelow(path+"."+key, s.Properties[key])...)
	}
	return out
}

// edit previews, applies and compares one manifest.
func (w *novaWorld) edit(name, apart string, old, manifest *unstructured.Unstructured) {
	w.T.Helper()
	before := w.snapshot()
	printed := w.preview(manifest)
	if len(printed.Errors)+len(printed.NotReady)+printed.Summary.Refused > 0 {
		w.T.Fatalf("%s: errors %v, not ready %v, objects %+v", name, printed.Errors, printed.NotReady, printed.Objects)
	}
	if apart == "" {
		w.agree(name, printed, offline.Pair{Kind: novaKind, Before: w.typed(old), After: w.typed(manifest), BeforeSecrets: known(), AfterSecrets: known()})
	}
	var document bytes.Buffer
	if err := preview.New(preview.ModeLive, "", "", []preview.Resource{printed}).JSON(&document); err != nil {
		w.T.Fatal(err)
	}
	w.keepsSecret(name, document.String())
	w.apply(manifest)
	w.settle(manifest)
	after := w.snapshot()
	for _, problem := range w.compare(printed, before, after) {
		w.T.Errorf("%s: %s", name, problem)
	}
	if reflect.DeepEqual(before, after) && (len(printed.Objects) > 0 || printed.Action == preview.ActionChange) {
		w.T.Errorf("%s: nothing changed", name)
	}
}

// agree compares a preview of the cluster with one of the two manifests alone: what runs,
// and what happens to which object. The history of the configuration is the cluster's own.
func (w *novaWorld) agree(name string, live preview.Resource, pair offline.Pair) {
	w.T.Helper()
	alone := pair.Preview(render.Settings{}, w.mask)
	if diff := cmp.Diff(live.Sequence, alone.Sequence); diff != "" {
		w.T.Errorf("%s: on the cluster (-) and offline (+) something else runs:\n%s", name, diff)
	}
	actions := func(r preview.Resource) map[string]preview.Action {
		out := map[string]preview.Action{}
		for i := range r.Objects {
			if o := &r.Objects[i]; o.Kind != "ConfigMap" {
				out[o.Kind+"/"+o.Name] = o.Action
			}
		}
		return out
	}
	if diff := cmp.Diff(live.Configuration, alone.Configuration); diff != "" {
		w.T.Errorf("%s: on the cluster (-) and offline (+) another configuration follows:\n%s", name, diff)
	}
	if diff := cmp.Diff(actions(live), actions(alone)); diff != "" {
		w.T.Errorf("%s: on the cluster (-) and offline (+) other objects change:\n%s", name, diff)
	}
}

func (w *novaWorld) typed(manifest *unstructured.Unstructured) *v1alpha1.Nova {
	w.T.Helper()
	n := &v1alpha1.Nova{}
	raw, err := json.Marshal(manifest.Object)
	if err == nil {
		err = json.Unmarshal(raw, n)
	}
	if err != nil {
		w.T.Fatal(err)
	}
	return n
}

// object is a live object, and the count of its rollouts.
type object struct {
	uid, revision string
	fields        map[string]any
}

// snapshot is every child and the spec of the Nova, by "Kind/name".
func (w *novaWorld) snapshot() map[string]object {
	w.T.Helper()
	n := w.MustLive()
	out := map[string]object{"Nova/" + n.Name: {uid: string(n.UID), fields: flat("spec", toMap(w.T, n.Spec), w.mask)}}
	w.EachChild(func(u *unstructured.Unstructured) {
		if pass.OwnerOf(novaKind.Kind, n).Owns(u) && u.GetDeletionTimestamp() == nil {
			out[u.GetKind()+"/"+u.GetName()] = objectOf(u, w.mask)
		}
	})
	return out
}

// revisionAnnotation counts the rollouts of a Deployment.
const revisionAnnotation = "deployment.kubernetes.io/revision"

func objectOf(u *unstructured.Unstructured, mask diff.Mask) object {
	o := object{uid: string(u.GetUID()), revision: u.GetAnnotations()[revisionAnnotation], fields: map[string]any{}}
	for key, value := range u.Object {
		switch key {
		case "apiVersion", "kind", "status", "metadata":
		case "data":
			if u.GetKind() == "Secret" {
				for name, secret := range value.(map[string]any) {
					o.fields[member("data", name)] = mask.Digest(secret)
				}
				continue
			}
			maps.Copy(o.fields, flat(key, value, mask))
		default:
			maps.Copy(o.fields, flat(key, value, mask))
		}
	}
	annotations := map[string]any{}
	for key, value := range u.GetAnnotations() {
		if key != revisionAnnotation {
			annotations[key] = value
		}
	}
	labels := map[string]any{}
	for key, value := range u.GetLabels() {
		labels[key] = value
	}
	for name, m := range map[string]map[string]any{"metadata.annotations": annotations, "metadata.labels": labels} {
		if len(m) > 0 {
			maps.Copy(o.fields, flat(name, m, mask))
		}
	}
	return o
}

// compare says where the cluster and the preview disagree.
func (w *novaWorld) compare(printed preview.Resource, before, after map[string]object) []string {
	var problems []string
	problem := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	want := maps.Clone(before)
	self := "Nova/" + printed.Name
	want[self] = changed(want[self], printed.Changes, w.mask)
	if printed.Action == preview.ActionCreate {
		want[self] = after[self]
	}
	for i := range printed.Objects {
		o := &printed.Objects[i]
		key := o.Kind + "/" + o.Name
		switch o.Action {
		case preview.ActionCreate:
			if _, there := before[key]; there {
				problem("%s was there and is printed as created", key)
			}
			want[key] = after[key]
			problems = append(problems, w.created(o, after[key])...)
		case preview.ActionRecreate:
			if before[key].uid == after[key].uid {
				problem("%s is printed as recreated and is the same", key)
			}
			want[key] = after[key]
			problems = append(problems, w.created(o, after[key])...)
		case preview.ActionDelete:
			delete(want, key)
		case preview.ActionChange:
			want[key] = changed(want[key], o.Changes, w.mask)
		default:
			problem("%s is printed as %s", key, o.Action)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(union(want, after))) {
		got, there := after[key]
		expected, printed := want[key]
		switch {
		case there != printed:
			problem("%s: on the cluster %v, printed %v", key, there, printed)
		case got.uid != expected.uid:
			problem("%s was replaced", key)
		default:
			if diff := cmp.Diff(expected.fields, got.fields); diff != "" {
				problem("%s: printed (-), on the cluster (+):\n%s", key, diff)
			}
		}
	}
	return append(problems, w.rollouts(printed, before, after)...)
}

// created compares what the operator owns of a new object with what was printed: the
// rest of it the API server makes up anew.
func (w *novaWorld) created(o *preview.Object, got object) []string {
	printed := objectOf(&unstructured.Unstructured{Object: o.Content}, diff.Mask{})
	var problems []string
	for path, value := range printed.fields {
		live, there := got.fields[path]
		if o.Kind == "Secret" && strings.HasPrefix(path, "data") {
			live, value = there, true // the digest of a digest says nothing
		}
		if serverMade(o.Kind, path) {
			continue
		}
		if !reflect.DeepEqual(fmt.Sprint(live), fmt.Sprint(value)) {
			problems = append(problems, fmt.Sprintf("%s/%s: %s is %v, printed %v", o.Kind, o.Name, path, live, value))
		}
	}
	return problems
}

// serverMade are the fields of a created object that the API server draws each time.
func serverMade(kind, path string) bool {
	return kind == "Service" && (strings.HasPrefix(path, "spec.clusterIP") || strings.Contains(path, "nodePort")) ||
		kind == "Job" && (strings.Contains(path, "controller-uid") || strings.Contains(path, "selector"))
}

// rollouts compares the printed sequence with the revisions of the Deployments and the
// Jobs that ran.
func (w *novaWorld) rollouts(printed preview.Resource, before, after map[string]object) []string {
	want, got := map[string]int{}, map[string]int{}
	for _, step := range printed.Sequence {
		if step.Kind == preview.RunRollout || step.Kind == preview.RunJob {
			want[step.Object]++
		}
	}
	for key, o := range after {
		switch kind, _, _ := strings.Cut(key, "/"); {
		case kind == "Deployment" && before[key].uid == o.uid && before[key].revision != o.revision:
			var from, to int
			_, _ = fmt.Sscan(before[key].revision, &from)
			_, _ = fmt.Sscan(o.revision, &to)
			got[key] = to - from
		case kind == "Job" && before[key].uid != o.uid:
			got[key] = 1
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		return []string{"rollouts and Jobs printed (-), seen (+):\n" + diff}
	}
	return nil
}

// changed makes printed changes to an object.
func changed(o object, changes []preview.Change, mask diff.Mask) object {
	o.fields = maps.Clone(o.fields)
	for _, c := range changes {
		if strings.HasSuffix(c.Path, " (order)") {
			continue
		}
		for path := range o.fields {
			if path == c.Path || strings.HasPrefix(path, c.Path+".") || strings.HasPrefix(path, c.Path+"[") {
				delete(o.fields, path)
			}
		}
		if c.To != nil {
			maps.Copy(o.fields, flat(c.Path, c.To, mask))
		}
	}
	return o
}

// flat lists the leaves of a value by path. Digests of credentials are masked as in a
// preview.
func flat(path string, v any, mask diff.Mask) map[string]any {
	out := map[string]any{}
	switch t := v.(type) {
	case map[string]any:
		for key, below := range t {
			maps.Copy(out, flat(member(path, key), below, mask))
		}
		if len(t) == 0 {
			out[path] = t
		}
	case []any:
		if keyed(path, t) {
			for _, item := range t {
				m := item.(map[string]any)
				maps.Copy(out, flat(path+label(lastName(path), m), m, mask))
			}
			return out
		}
		out[path] = t
	case string:
		if strings.HasSuffix(path, "-hash]") && strings.Contains(path, "annotations[nova.c5c3.io/") && !strings.HasPrefix(t, "hidden:") {
			out[path] = mask.Digest(t)
			return out
		}
		out[path] = t
	default:
		out[path] = v
	}
	return out
}

func member(path, name string) string {
	if strings.ContainsAny(name, "./[") {
		return path + "[" + name + "]"
	}
	return path + "." + name
}

func lastName(path string) string { return path[strings.LastIndexAny(path, ".]")+1:] }

func keyed(path string, items []any) bool {
	for _, item := range items {
		m, ok := item.(map[string]any)
		if !ok {
			return false
		}
		if _, ok := render.ItemKey(lastName(path), m); !ok {
			return false
		}
	}
	return len(items) > 0
}

func label(field string, item map[string]any) string {
	key, _ := render.ItemKey(field, item)
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(key)) {
		parts = append(parts, fmt.Sprintf("%s=%v", name, key[name]))
	}
	return "[" + strings.Join(parts, ",") + "]"
}

func union[V any](a, b map[string]V) map[string]V {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}

func toMap(t *testing.T, v any) map[string]any {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	u := map[string]any{}
	if err := json.Unmarshal(raw, &u); err != nil {
		t.Fatal(err)
	}
	normal(u)
	return u
}

// normal turns whole floats into integers, as objects from the API server hold them.
func normal(v any) any {
	switch t := v.(type) {
	case map[string]any:
		for k, below := range t {
			t[k] = normal(below)
		}
	case []any:
		for i, below := range t {
			t[i] = normal(below)
		}
	case float64:
		if t == float64(int64(t)) {
			return int64(t)
		}
	}
	return v
}

// patched lays a merge patch over the spec of a manifest.
func patched(t *testing.T, manifest *unstructured.Unstructured, patch map[string]any) *unstructured.Unstructured {
	t.Helper()
	if patch == nil {
		return manifest
	}
	spec, err := json.Marshal(manifest.Object["spec"])
	if err != nil {
		t.Fatal(err)
	}
	change, err := json.Marshal(patch)
	if err != nil {
		t.Fatal(err)
	}
	merged, err := jsonpatch.MergePatch(spec, change)
	if err != nil {
		t.Fatal(err)
	}
	out := manifest.DeepCopy()
	var result map[string]any
	if err := json.Unmarshal(merged, &result); err != nil {
		t.Fatal(err)
	}
	normal(result)
	out.Object["spec"] = result
	return out
}

// settle waits until the Nova is ready for what was applied, and a preview of it has
// nothing to say.
func (w *novaWorld) settle(manifest *unstructured.Unstructured) {
	w.T.Helper()
	last, done := "", false
	defer func() {
		if !done {
			w.T.Logf("last seen: %s", last)
		}
	}()
	cluster.Eventually(w.T, "the Nova to be as wanted", func(context.Context) (bool, error) {
		if !w.up() {
			last = fmt.Sprint(w.MustLive().Status.Conditions)
			time.Sleep(200 * time.Millisecond)
			return false, nil
		}
		r := w.preview(manifest)
		d := preview.New(preview.ModeLive, "", "", []preview.Resource{r})
		last = fmt.Sprintf("%+v", r)
		done = !d.Differs() && len(r.NotReady) == 0
		return done, nil
	})
}

// up tells whether the Nova is ready in its live generation and no upgrade is under way.
func (w *novaWorld) up() bool {
	w.T.Helper()
	n := w.MustLive()
	ready := meta.FindStatusCondition(n.Status.Conditions, v1alpha1.ConditionReady)
	return ready != nil && ready.Status == metav1.ConditionTrue && n.Status.ObservedGeneration == n.Generation && n.Status.UpgradePhase == ""
}

// preview asks what applying a manifest would do.
func (w *novaWorld) preview(manifest *unstructured.Unstructured) preview.Resource {
	w.T.Helper()
	r, err := w.live.Preview(w.T.Context(), live.Change{Kind: novaKind, Manifest: manifest}, render.Settings{}, nil)
	if err != nil {
		w.T.Fatal(err)
	}
	return r
}

package live_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/apply"
	"github.com/c5c3/nova-operator/cmd/internal/live"
	"github.com/c5c3/nova-operator/cmd/internal/manifest"
	"github.com/c5c3/nova-operator/explain"
	"github.com/c5c3/nova-operator/preview"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/test/cluster"
	"github.com/c5c3/nova-operator/test/world"
)

// readyWorld is a Nova that came up and is left alone: its operator has stopped.
func readyWorld(t *testing.T) *novaWorld {
	t.Helper()
	stop := runOperator(t)
	w := newWorld(t)
	nova := w.manifest(nil)
	w.apply(nova)
	w.settle(nova)
	stop()
	return w
}

// explain explains the Nova and looks for credentials in it.
func (w *novaWorld) explain() explain.Tree {
	w.T.Helper()
	tree, err := w.live.Explain(w.T.Context(), novaKind, w.Namespace, "nova", render.Settings{}, nil)
	if err != nil {
		w.T.Fatal(err)
	}
	var text, document bytes.Buffer
	if err := tree.Text(&text); err != nil {
		w.T.Fatal(err)
	}
	if err := tree.JSON(&document); err != nil {
		w.T.Fatal(err)
	}
	w.keepsSecret("explain", text.String()+document.String())
	return tree
}

// stateOf is the state of a child, by the end of its name.
func stateOf(tree explain.Tree, kind, name string) explain.Child {
	for _, step := range tree.Steps {
		for _, c := range step.Children {
			if strings.HasPrefix(c.Object, kind) && strings.HasSuffix(c.Object, "/"+name) {
				c.Object = ""
				return c
			}
		}
	}
	return explain.Child{}
}

func TestExplain_SaysWhatHoldsAndWhatIsOdd(t *testing.T) {
	w := readyWorld(t)
	tree := w.explain()
	if !tree.Ready || tree.Blocker != nil || tree.Stale {
		t.Errorf("%+v", tree)
	}
	for _, step := range tree.Steps {
		for _, c := range step.Children {
			if c.State != explain.Current {
				t.Errorf("%s is %s: %s", c.Object, c.State, c.Detail)
			}
		}
	}

	w.scale("nova-scheduler", 7)
	w.Remove(render.KindService, "nova-metadata")
	tree = w.explain()
	for _, tc := range []struct {
		kind, name string
		want       explain.Child
	}{
		{"Deployment", "nova-scheduler", explain.Child{State: explain.Drifted, Detail: "spec.replicas (held by somebody)"}},
		{"Service", "nova-metadata", explain.Child{State: explain.Missing}},
		{"Deployment", "nova-conductor", explain.Child{State: explain.Current}},
	} {
		if diff := cmp.Diff(tc.want, stateOf(tree, tc.kind, tc.name)); diff != "" {
			t.Errorf("%s %s: %s", tc.kind, tc.name, diff)
		}
	}

	printed := w.preview(w.manifest(nil))
	if len(printed.Objects) != 2 || printed.Objects[0].Changes[0].Manager != "somebody" {
		t.Errorf("diff does not tell who holds the field: %+v", printed.Objects)
	}

	w.Remove(render.KindSecret, "nova-db")
	tree = w.explain()
	want := &explain.Blocker{
		Condition: "SecretsReady", Reason: "WaitingForDBCredentials",
		Message: tree.Blocker.Message,
		Next:    "the Secret of the named schema lacks `username` or `password`; see the ExternalSecret of that name",
	}
	if diff := cmp.Diff(want, tree.Blocker); diff != "" {
		t.Error(diff)
	}
	if got := stateOf(tree, "Deployment", "nova-scheduler"); got.State != explain.HeldBack || got.Detail != "WaitingForDBCredentials" {
		t.Errorf("%+v", got)
	}
}

// scale changes a count as somebody.
func (w *novaWorld) scale(name string, replicas int32) {
	w.T.Helper()
	d := &appsv1.Deployment{}
	if err := w.Client.Get(w.T.Context(), client.ObjectKey{Namespace: w.Namespace, Name: name}, d); err != nil {
		w.T.Fatal(err)
	}
	d.Spec.Replicas = &replicas
	if err := w.Client.Update(w.T.Context(), d, client.FieldOwner("somebody")); err != nil {
		w.T.Fatal(err)
	}
}

// What observe prints replays: a decision from the file is the one from the cluster.
func TestObserve_Replays(t *testing.T) {
	w := readyWorld(t)
	n := w.MustLive()
	seen := novaKind.World(n, render.Settings{})
	if err := w.live.Observe(t.Context(), novaKind, seen); err != nil {
		t.Fatal(err)
	}
	want := seen.Decide()
	seen.Mask()
	var printed bytes.Buffer
	if err := manifest.WriteObservation(&printed, "# comment\n", seen.Document(), seen.Secrets()); err != nil {
		t.Fatal(err)
	}
	w.keepsSecret("observe", printed.String())
	file := filepath.Join(t.TempDir(), "observed.yaml")
	if err := os.WriteFile(file, printed.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	replayed := novaKind.World(n, render.Settings{})
	if err := manifest.Observation(file, replayed.Document()); err != nil {
		t.Fatal(err)
	}
	got := replayed.Decide()
	if diff := cmp.Diff(want.Conditions, got.Conditions); diff != "" {
		t.Error(diff)
	}
	if len(want.Set.Desired) != len(got.Set.Desired) {
		t.Errorf("%d objects, replayed %d", len(want.Set.Desired), len(got.Set.Desired))
	}
}

// keepsSecret fails when a text holds a credential, or its base64.
func (w *novaWorld) keepsSecret(what, text string) {
	w.T.Helper()
	for _, leak := range world.Leaks(text) {
		w.T.Errorf("%s prints a credential: %s", what, leak)
	}
}

func TestPreview_OfWhatIsNotThere(t *testing.T) {
	w := newWorld(t)
	w.Namespace = "not-made-yet"
	r, err := w.live.Preview(t.Context(), live.Change{Kind: novaKind, Manifest: w.manifest(nil), Secrets: known()}, render.Settings{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Action != preview.ActionCreate || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "namespace not-made-yet does not exist yet") {
		t.Errorf("%s, notes %v", r.Action, r.Notes)
	}
	if len(r.NotReady) != 1 || r.NotReady[0].Reason != "SecretStoreNotReady" {
		t.Errorf("waits for %+v", r.NotReady)
	}
}

func TestPreview_RefusedByTheAPIServer(t *testing.T) {
	w := newWorld(t)
	r := w.preview(patched(t, w.manifest(nil), map[string]any{"cache": map[string]any{"servers": []any{"a:1"}}}))
	if len(r.Errors) != 1 || !strings.Contains(r.Errors[0], "spec.cache") {
		t.Errorf("%v", r.Errors)
	}
}

// Somebody who may only read gets the differences, and is told what they lack.
func TestPreview_WithoutThePermissionToWrite(t *testing.T) {
	w := readyWorld(t)
	c := cluster.Shared(t)
	for _, o := range []client.Object{
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "reads-all"}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list"}}}},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "reads-all"}, RoleRef: rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "reads-all"},
			Subjects: []rbacv1.Subject{{APIGroup: "rbac.authorization.k8s.io", Kind: "User", Name: "reader"}},
		},
	} {
		w.Create(o)
	}
	config := rest.CopyConfig(c.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "reader"}
	reader, err := live.Of(config, apply.NewMask())
	if err != nil {
		t.Fatal(err)
	}
	manifest := patched(t, w.manifest(nil), map[string]any{"api": map[string]any{"deployment": map[string]any{"terminationGracePeriodSeconds": int64(99)}}})
	r, err := reader.Preview(t.Context(), live.Change{Kind: novaKind, Manifest: manifest}, render.Settings{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []preview.Change{{Path: "spec.template.spec.terminationGracePeriodSeconds", From: int64(185), To: int64(99)}}
	if len(r.Objects) != 1 || cmp.Diff(want, r.Objects[0].Changes) != "" {
		t.Errorf("objects %+v", r.Objects)
	}
	if len(r.Notes) != 2 || !strings.Contains(r.Notes[1], "dry run is not permitted") {
		t.Errorf("notes %v", r.Notes)
	}
}

// An object that is taken over brings kubectl's last-applied annotation along, which can
// hold a whole Secret.
func TestPreview_HidesWhatAnAnnotationHolds(t *testing.T) {
	runOperator(t) // for what it has around it
	w := newWorld(t)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.Namespace, Name: "nova-service-user-env",
			Annotations: map[string]string{
				corev1.LastAppliedConfigAnnotation: `{"data":{"password":"` + world.Mark + `"}}`, apply.AnnotationAdopt: "Nova/nova",
			},
		},
		StringData: map[string]string{"password": world.Mark, "other": world.Mark},
	}
	w.Create(secret)
	var r preview.Resource
	cluster.Eventually(t, "the store and the broker to be ready", func(context.Context) (bool, error) {
		r = w.preview(w.manifest(nil))
		return len(r.NotReady) == 0, nil
	})
	d := preview.New(preview.ModeLive, "", "", []preview.Resource{r})
	for name, form := range map[string]func(*bytes.Buffer) error{
		"text":     func(b *bytes.Buffer) error { return d.Text(b, preview.TextOptions{}) },
		"unified":  func(b *bytes.Buffer) error { return d.Unified(b) },
		"json":     func(b *bytes.Buffer) error { return d.JSON(b) },
		"markdown": func(b *bytes.Buffer) error { return d.Markdown(b, 0) },
	} {
		var b bytes.Buffer
		if err := form(&b); err != nil {
			t.Fatal(err)
		}
		w.keepsSecret(name, b.String())
		if !strings.Contains(b.String(), "nova-service-user-env") {
			t.Errorf("%s does not tell of the Secret", name)
		}
	}
}

package offline

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/apply/diff"
	"github.com/c5c3/nova-operator/cmd/internal/kind"
	"github.com/c5c3/nova-operator/preview"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/facts"
)

// nova is the smallest Nova, changed by edit.
func nova(t *testing.T, edit func(*v1alpha1.Nova)) *v1alpha1.Nova {
	t.Helper()
	raw, err := os.ReadFile("../../../fixtures/nova/minimal/nova.yaml")
	n := &v1alpha1.Nova{}
	if err == nil {
		err = yaml.UnmarshalStrict(raw, n)
	}
	if err != nil {
		t.Fatal(err)
	}
	if edit != nil {
		edit(n)
	}
	return n
}

func debug(n *v1alpha1.Nova) { n.Spec.Logging = &v1alpha1.LoggingSpec{Debug: new(true)} }

// secrets are what one side says about the service user.
func secrets(password string) map[string]facts.SecretData {
	return map[string]facts.SecretData{"nova-service-user": {"password": render.Sensitive(password)}}
}

func of(t *testing.T, p Pair) preview.Resource {
	t.Helper()
	p.Kind = *kind.Named(v1alpha1.KindNova)
	r := p.Preview(render.Settings{OperatorNamespace: "nova-operator"}, diff.Mask{1})
	if len(r.Errors) > 0 {
		t.Fatal(r.Errors)
	}
	return r
}

// told is how many objects of each kind a preview lists, by action.
func told(r preview.Resource) map[string]int {
	out := map[string]int{}
	for i := range r.Objects {
		out[string(r.Objects[i].Action)+" "+r.Objects[i].Kind]++
	}
	return out
}

func TestPair_New(t *testing.T) {
	r := of(t, Pair{After: nova(t, nil)})
	if r.Action != preview.ActionCreate || r.Summary.Create != len(r.Objects) || r.Summary.Started == 0 || r.Summary.Unchanged != 0 || r.Configuration != nil {
		t.Errorf("%s: %+v", r.Action, r.Summary)
	}
	if got := told(r); got["create Deployment"] != 5 || got["create Job"] != 2 || got["create ConfigMap"] != 1 {
		t.Errorf("objects %v", got)
	}
	if len(r.NotReady) != 0 {
		t.Errorf("it is not ready in a world that works: %v", r.NotReady)
	}
}

// To the API server a new name is a new Nova, on the schemas of the one that goes.
func TestPreviews_ARenameIsAnError(t *testing.T) {
	named := func(name string, policy v1alpha1.DatabaseDeletionPolicy) v1alpha1.Resource {
		n := nova(t, nil)
		n.Name, n.Spec.DatabaseDeletionPolicy = name, policy
		return n
	}
	apart := func(name string) v1alpha1.Resource {
		n := named(name, "").(*v1alpha1.Nova)
		n.Spec.APIDatabase.Database, n.Spec.Database.Database = "other_api", "other"
		return n
	}
	for name, tc := range map[string]struct {
		before, after v1alpha1.Resource
		want          string
	}{
		"its Databases stay": {named("old", ""), named("new", ""), "that of Nova old, which goes in this change: its Databases stay and keep it, and this Nova stalls with SchemaInUse"},
		"it is dropped":      {named("old", v1alpha1.DatabaseDelete), named("new", ""), "that of Nova old, which goes in this change: it is dropped with that Nova"},
		"another schema":     {named("old", ""), apart("new"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			pairs := []Pair{{Kind: *kind.Named(v1alpha1.KindNova), Before: tc.before}, {Kind: *kind.Named(v1alpha1.KindNova), After: tc.after}}
			errs := Previews(pairs, render.Settings{OperatorNamespace: "nova-operator"}, diff.Mask{1})[1].Errors
			if (len(errs) == 3) != (tc.want != "") || tc.want != "" && !strings.Contains(errs[0], tc.want) {
				t.Errorf("%q", errs)
			}
		})
	}
}

func TestPair_Gone(t *testing.T) {
	r := of(t, Pair{Before: nova(t, nil)})
	if r.Action != preview.ActionDelete || r.Summary.Delete != len(r.Objects) || r.Summary.Delete == 0 || r.Summary.Stopped == 0 || r.Summary.Create != 0 {
		t.Errorf("%s: %+v", r.Action, r.Summary)
	}
	if len(r.Notes) == 0 {
		t.Error("it says nothing of what a deletion leaves")
	}
}

func TestPair_Changed(t *testing.T) {
	r := of(t, Pair{Before: nova(t, nil), After: nova(t, debug)})
	if want := []preview.Change{{Path: "spec.logging.debug", From: nil, To: true}}; cmp.Diff(want, r.Changes) != "" || r.Action != preview.ActionChange {
		t.Errorf("%s: %+v", r.Action, r.Changes)
	}
	if r.Summary.Deployments != 5 || r.Summary.Create != 1 || r.Summary.Delete != 0 || r.Configuration == nil {
		t.Errorf("%+v, configuration %+v", r.Summary, r.Configuration)
	}
}

// The second side begins where the first one ends: what ran there does not run again, and a
// release is upgraded.
func TestPair_GoesOnWhereTheFirstSideEnds(t *testing.T) {
	old := nova(t, func(n *v1alpha1.Nova) { n.Spec.OpenStackRelease, n.Spec.Image.Tag = "2025.2", "2025.2" })
	var phases []string
	for _, step := range of(t, Pair{Before: old, After: nova(t, nil)}).Sequence {
		if step.Kind == preview.RunPhase {
			phases = append(phases, step.Phase)
		}
	}
	if diff := cmp.Diff([]string{"Expanding", "Migrating", "RollingUpdate", "Contracting", "Done"}, phases); diff != "" {
		t.Error(diff)
	}
}

func TestPair_Unchanged(t *testing.T) {
	warned := func(n *v1alpha1.Nova) {
		n.Spec.ExtraConfig = v1alpha1.ExtraConfig{"DEFAULT": {"use_stderr": v1alpha1.ConfigValue{Values: []string{"false"}}}}
	}
	if len(of(t, Pair{After: nova(t, warned)}).Events) == 0 {
		t.Fatal("an option of the operator warns nobody")
	}
	for name, tc := range map[string]Pair{
		"what was told is not told again": {Before: nova(t, warned), After: nova(t, warned)},
		"the same spec":                   {Before: nova(t, nil), After: nova(t, nil)},
		"the same spec and Secrets":       {Before: nova(t, nil), After: nova(t, nil), BeforeSecrets: secrets("a"), AfterSecrets: secrets("a")},
		"a status is no change":           {Before: nova(t, nil), After: nova(t, func(n *v1alpha1.Nova) { n.Status.InstalledRelease = "2026.1" })},
		"no Secret, said in another way":  {Before: nova(t, nil), After: nova(t, nil), AfterSecrets: map[string]facts.SecretData{}},
	} {
		t.Run(name, func(t *testing.T) {
			r := of(t, tc)
			if r.Action != preview.ActionUnchanged || len(r.Objects)+len(r.Sequence)+len(r.Events) != 0 || r.Summary.Unchanged == 0 {
				t.Errorf("%s: %v, %v", r.Action, told(r), r.Sequence)
			}
		})
	}
}

// A credential that one side alone knows, or that differs, rolls the pods that read it, and
// never shows.
func TestPair_Secrets(t *testing.T) {
	for name, tc := range map[string]Pair{
		"another value":            {Before: nova(t, nil), After: nova(t, nil), BeforeSecrets: secrets("hunter1"), AfterSecrets: secrets("hunter2")},
		"known of the second side": {Before: nova(t, nil), After: nova(t, nil), AfterSecrets: secrets("hunter2")},
		"beside another change":    {Before: nova(t, nil), After: nova(t, debug), BeforeSecrets: secrets("hunter1"), AfterSecrets: secrets("hunter2")},
	} {
		t.Run(name, func(t *testing.T) {
			r := of(t, tc)
			rolls := 0
			for _, step := range r.Sequence {
				if step.Kind == preview.RunRollout && strings.Contains(strings.Join(step.Why, ", "), "password of the service user") {
					rolls++
				}
			}
			if rolls == 0 || rolls > r.Summary.Deployments {
				t.Errorf("%d Deployments roll for it: %+v", rolls, r.Sequence)
			}
			var out strings.Builder
			if err := preview.New(preview.ModeOffline, "", "", []preview.Resource{r}).JSON(&out); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(out.String(), "hunter") {
				t.Error("a credential shows")
			}
		})
	}
}

// Both sides are read only: a caller compares them again.
func TestPair_ChangesNothing(t *testing.T) {
	p := Pair{Before: nova(t, nil), After: nova(t, debug), BeforeSecrets: secrets("a"), AfterSecrets: secrets("b")}
	of(t, p)
	want := Pair{Before: nova(t, nil), After: nova(t, debug), BeforeSecrets: secrets("a"), AfterSecrets: secrets("b")}
	if diff := cmp.Diff(want, p, cmpopts.IgnoreFields(Pair{}, "Kind")); diff != "" {
		t.Error(diff)
	}
}

func TestPreviews_KeepTheirOrder(t *testing.T) {
	var pairs []Pair
	var want []string
	for i := range 7 {
		name := fmt.Sprintf("nova-%d", i)
		want = append(want, name)
		pairs = append(pairs, Pair{Kind: *kind.Named(v1alpha1.KindNova), After: nova(t, func(n *v1alpha1.Nova) { n.Name = name })})
	}
	var got []string
	for _, r := range Previews(pairs, render.Settings{OperatorNamespace: "nova-operator"}, diff.Mask{1}) {
		got = append(got, r.Name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := Previews(nil, render.Settings{}, diff.Mask{}); len(got) != 0 {
		t.Errorf("%d previews of nothing", len(got))
	}
}

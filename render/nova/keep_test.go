package nova

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/facts"
	"github.com/c5c3/nova-operator/render/pipeline"
)

// generation is a facts.ConfigMap of an earlier render.
func generation(name string, day int) facts.ConfigMap {
	return facts.ConfigMap{Name: name, Created: time.Unix(int64(day)*86400, 0), Keys: []string{"nova.conf"}}
}

func TestKeep_History(t *testing.T) {
	old := []facts.ConfigMap{generation("a", 1), generation("b", 2), generation("c", 3), generation("d", 4), generation("e", 5)}
	for name, tc := range map[string]struct {
		change func(*Input)
		want   map[string]string
	}{
		"the three newest stay": {nil, map[string]string{"e": "history", "d": "history", "c": "history"}},
		"the current one does not count": {
			func(in *Input) {
				in.Observed.ConfigMaps = append(in.Observed.ConfigMaps, generation(in.Observed.Deployments["nova"].ConfigMap, 9))
			},
			map[string]string{"e": "history", "d": "history", "c": "history"},
		},
		"of equal age the higher name is newer": {
			func(in *Input) {
				in.Observed.ConfigMaps = []facts.ConfigMap{generation("a", 1), generation("b", 1), generation("c", 1), generation("d", 1)}
			},
			map[string]string{"d": "history", "c": "history", "b": "history"},
		},
		"what a Deployment mounts stays, whatever its age": {
			deploymentOf("nova-scheduler", func(d *facts.Deployment) { d.ConfigMap = "a" }),
			map[string]string{"e": "history", "d": "history", "c": "history", "a": "a live pod or pod template mounts it"},
		},
		"what a pod or an old ReplicaSet mounts stays": {
			func(in *Input) { in.Observed.MountedConfigMaps = []string{"b"} },
			map[string]string{"e": "history", "d": "history", "c": "history", "b": "a live pod or pod template mounts it"},
		},
		"what a Job, the archive or one of its runs mounts stays": {
			func(in *Input) {
				syncJob(func(j *facts.Job) { j.ConfigMap = "a" })(in)
				in.Observed.ArchiveConfigMap = "b"
				in.Observed.ArchiveJobs = []facts.Job{run("x", 1, func(j *facts.Job) { j.ConfigMap = "e" })}
				in.Nova.Annotations[v1alpha1.AnnotationLastJobUID(v1alpha1.JobSubjectDBArchive)] = "uid-x"
			},
			map[string]string{"e": "a live pod or pod template mounts it", "d": "history", "c": "history", "b": "a live pod or pod template mounts it", "a": "a live pod or pod template mounts it"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := readyWorld(t, nil)
			in.Observed.ConfigMaps = old
			if tc.change != nil {
				tc.change(&in)
			}
			r := Decide(in)
			got := map[string]string{}
			for _, h := range r.Set.Held {
				if h.GroupVersionKind == render.KindConfigMap {
					got[h.Name] = h.Gate
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			if len(r.Set.Prunable) != 1 || r.Set.Prunable[0] != render.KindConfigMap {
				t.Errorf("prunable: %v", r.Set.Prunable)
			}
		})
	}
}

// What else mounts a generation is asked for only when one would go: also when the newest
// one is still to be made.
func TestKeep_AsksOnlyWhenAGenerationWouldGo(t *testing.T) {
	three := []facts.ConfigMap{generation("a", 1), generation("b", 2), generation("c", 3)}
	current := func(in *Input) {
		in.Observed.ConfigMaps = append(in.Observed.ConfigMaps, generation(in.Observed.Deployments["nova"].ConfigMap, 9))
	}
	fourth := func(in *Input) { in.Observed.ConfigMaps = append(in.Observed.ConfigMaps, generation("d", 4)) }
	for name, tc := range map[string]struct {
		change func(*Input)
		want   bool
	}{
		"three and the current one":              {current, false},
		"four, before the current one is made":   {fourth, true},
		"four and the current one":               {all(fourth, current), true},
		"the fourth is mounted by a Deployment":  {all(fourth, deploymentOf("nova-scheduler", func(d *facts.Deployment) { d.ConfigMap = "a" })), false},
		"four, and the configuration is no good": {all(fourth, func(in *Input) { in.Nova.Spec.Region = badRegion }), false},
	} {
		in := readyWorld(t, nil)
		in.Observed.ConfigMaps = slices.Clone(three)
		tc.change(&in)
		if got := Outgrown(&in); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// Leftovers go only when a fresh configuration stands.
func TestKeep_NothingGoesWithoutAFreshConfiguration(t *testing.T) {
	for name, change := range map[string]func(*Input){
		"a gate before it is closed":      drop("nova-db"),
		"it is not known what mounts one": func(in *Input) { in.Observed.MountsUnknown = true },
		"an object can't be made":         func(in *Input) { in.Nova.Spec.Database.Database = "nova-cell" },
		"the last good one is used":       all(mounted, func(in *Input) { in.Nova.Spec.Region = badRegion }),
	} {
		t.Run(name, func(t *testing.T) {
			in := readyWorld(t, nil)
			change(&in)
			if r := Decide(in); len(r.Set.Prunable) > 0 {
				t.Errorf("prunable: %v", r.Set.Prunable)
			}
		})
	}
}

// Schemas, users and grants outlive every change of the spec.
func TestKeep_DataStays(t *testing.T) {
	for name, change := range map[string]func(*v1alpha1.Nova){
		"a server somebody else runs": func(n *v1alpha1.Nova) {
			n.Spec.APIDatabase.ClusterRef, n.Spec.APIDatabase.Host = nil, "db"
			n.Spec.Database.ClusterRef, n.Spec.Database.Host = nil, "db"
		},
		"logins of a secrets engine": func(n *v1alpha1.Nova) {
			n.Spec.APIDatabase.CredentialsMode, n.Spec.Database.CredentialsMode = "Dynamic", "Dynamic"
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := readyWorld(t, nil)
			change(in.Nova)
			r := Decide(in)
			for _, a := range r.Set.Absent {
				if a.Group == render.KindMariaDB.Group {
					t.Errorf("%s goes", a.Key)
				}
			}
			for _, kind := range r.Set.Prunable {
				if kind.Group == render.KindMariaDB.Group {
					t.Errorf("%s is prunable", kind)
				}
			}
		})
	}
}

// tearDown runs a teardown to its end in a world that does what it is asked.
func tearDown(t *testing.T, in Input) (passes []pipeline.Teardown) {
	t.Helper()
	for range 5 {
		f := Teardown(in)
		passes = append(passes, f)
		if f.Err != nil || f.Release || len(f.Conditions) > 0 {
			return passes
		}
		for _, o := range f.Set.Desired {
			if err := in.Observed.Absorb(o.Content); err != nil {
				t.Fatal(err)
			}
		}
		for _, a := range f.Set.Absent {
			switch a.Kind {
			case "Database":
				in.Observed.Databases[a.Name] = facts.Database{Readiness: facts.Readiness{Deleting: true}}
			case "User":
				in.Observed.Users[a.Name] = facts.Readiness{Deleting: true}
			case "Grant":
				in.Observed.Grants[a.Name] = facts.Readiness{Deleting: true}
			}
		}
	}
	t.Fatal("the teardown does not end")
	return nil
}

func goes(f pipeline.Teardown) (keys []string) {
	for _, a := range f.Set.Absent {
		keys = append(keys, a.Kind+" "+a.Name)
	}
	return keys
}

func stays(f pipeline.Teardown) (keys []string) {
	for _, o := range f.Set.Desired {
		policy, _, _ := unstructured.NestedString(o.Content.Object, "spec", "cleanupPolicy")
		keys = append(keys, fmt.Sprintf("%s %s unreferenced=%t %s %s", o.Content.GetKind(), o.Content.GetName(), o.Policy.Unreferenced,
			o.Content.GetAnnotations()[v1alpha1.AnnotationSchemaRelease], policy))
	}
	return keys
}

var (
	theLogins    = []string{"User nova-api", "Grant nova-api", "User nova", "Grant nova", "Grant nova-nova-cell0"}
	allOfMariaDB = []string{"Database nova-api", "User nova-api", "Grant nova-api", "Database nova", "Database nova-nova-cell0", "User nova", "Grant nova", "Grant nova-nova-cell0"}
	retainedOnes = []string{"Database nova-api unreferenced=true 2026.1 Skip", "Database nova unreferenced=true 2026.1 Skip", "Database nova-nova-cell0 unreferenced=true 2026.1 Skip"}
)

// By default the logins go, and the Databases stay with all a Nova made anew must know.
func TestTeardown_RetainsTheDatabases(t *testing.T) {
	passes := tearDown(t, readyWorld(t, nil))
	if len(passes) != 2 {
		t.Fatalf("%d passes", len(passes))
	}
	for i, f := range passes {
		if diff := cmp.Diff(retainedOnes, stays(f)); diff != "" {
			t.Errorf("pass %d: %s", i, diff)
		}
	}
	if diff := cmp.Diff(theLogins, goes(passes[0])); diff != "" {
		t.Error(diff)
	}
	if first := passes[0]; first.Requeue != pollDatabase || first.Events[0].Reason != v1alpha1.EventFinalizingDatabase ||
		first.Events[0].Message != "Cleaning up the MariaDB Users and Grants of both schemas before removing Nova; the Databases stay" {
		t.Errorf("first pass: %+v", first)
	}
	if last := passes[1]; len(last.Set.Absent) > 0 || last.Events[0].Reason != v1alpha1.EventDatabaseFinalized ||
		last.Events[0].Message != "MariaDB Users and Grants marked for deletion; the Databases stay; releasing finalizer" {
		t.Errorf("last pass: %+v", last)
	}
	if got := About().Outliving(readyWorld(t, nil).Nova); len(got) != 1 || got[0] != render.KindDatabase {
		t.Errorf("outliving: %v", got)
	}
}

// What was made to be kept is first made to be dropped: whoever finalizes a Database reads
// its policy then.
func TestTeardown_DropsTheDatabases(t *testing.T) {
	for name, skip := range map[string]bool{"always meant to": false, "decided late": true} {
		t.Run(name, func(t *testing.T) {
			in := readyWorld(t, func(n *v1alpha1.Nova) { n.Spec.DatabaseDeletionPolicy = v1alpha1.DatabaseDelete })
			for name, d := range in.Observed.Databases {
				d.Skip = skip
				in.Observed.Databases[name] = d
			}
			passes := tearDown(t, in)
			if skip {
				want := []string{"Database nova-api unreferenced=false 2026.1 ", "Database nova unreferenced=false 2026.1 ", "Database nova-nova-cell0 unreferenced=false 2026.1 "}
				if diff := cmp.Diff(want, stays(passes[0])); diff != "" || passes[0].Requeue != nextPass || passes[0].Release {
					t.Errorf("first pass: %+v %s", passes[0], diff)
				}
				if diff := cmp.Diff(theLogins, goes(passes[0])); diff != "" {
					t.Error(diff)
				}
				passes = passes[1:]
				if diff := cmp.Diff([]string{"Database nova-api", "Database nova", "Database nova-nova-cell0"}, goes(passes[0])); diff != "" {
					t.Error(diff)
				}
			} else if diff := cmp.Diff(allOfMariaDB, goes(passes[0])); diff != "" {
				t.Error(diff)
			}
			if passes[0].Requeue != pollDatabase || len(passes) != 2 || len(passes[1].Set.Absent)+len(passes[1].Set.Desired) > 0 {
				t.Errorf("passes: %+v", passes)
			}
			if got := About().Outliving(in.Nova); len(got) > 0 {
				t.Errorf("outliving: %v", got)
			}
		})
	}
}

// A protected Nova that was deleted all the same keeps everything, and says how to let it
// go; once.
func TestTeardown_AProtectedNovaStays(t *testing.T) {
	in := readyWorld(t, func(n *v1alpha1.Nova) { n.Spec.DeletionProtection = true })
	f := Teardown(in)
	if f.Release || len(f.Set.Absent)+len(f.Set.Desired) > 0 || f.Requeue != 0 || len(f.Events) != 1 || f.Events[0].Reason != v1alpha1.EventDeletionProtected || len(f.Conditions) != 1 {
		t.Fatalf("%+v", f)
	}
	c := f.Conditions[0]
	if c.Type != v1alpha1.ConditionStalled || c.Status != "True" || c.Reason != v1alpha1.ReasonDeletionProtected || c.ObservedGeneration != 3 ||
		!strings.Contains(c.Message, `kubectl -n openstack patch nova nova --type=merge -p '{"spec":{"deletionProtection":false}}'`) {
		t.Errorf("%+v", c)
	}
	in.Nova.Status.Conditions = pipeline.Replace(in.Nova.Status.Conditions, c)
	if again := Teardown(in); len(again.Events) > 0 || len(again.Conditions) != 1 {
		t.Errorf("again: %+v", again)
	}
	in.Nova.Spec.DeletionProtection = false
	if tearDown(t, in); Teardown(in).Conditions != nil {
		t.Error("lifted, it still says so")
	}
}

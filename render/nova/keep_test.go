package nova

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/facts"
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
			map[string]string{"e": "history", "d": "history", "c": "history", "a": "a live pod template mounts it"},
		},
		"what a Job, the archive or one of its runs mounts stays": {
			func(in *Input) {
				syncJob(func(j *facts.Job) { j.ConfigMap = "a" })(in)
				in.Observed.ArchiveConfigMap = "b"
				in.Observed.ArchiveJobs = []facts.Job{run("x", 1, func(j *facts.Job) { j.ConfigMap = "e" })}
				in.Nova.Annotations[v1alpha1.AnnotationLastJobUID(v1alpha1.JobSubjectDBArchive)] = "uid-x"
			},
			map[string]string{"e": "a live pod template mounts it", "d": "history", "c": "history", "b": "a live pod template mounts it", "a": "a live pod template mounts it"},
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

// Leftovers go only when a fresh configuration stands.
func TestKeep_NothingGoesWithoutAFreshConfiguration(t *testing.T) {
	for name, change := range map[string]func(*Input){
		"a gate before it is closed": drop("nova-db"),
		"the last good one is used":  all(mounted, func(in *Input) { in.Nova.Spec.Region = badRegion }),
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

func TestTeardown_MarksInOnePassAndReleasesInTheNext(t *testing.T) {
	in := readyWorld(t, nil)
	first := Teardown(in)
	var want []render.Key
	for _, c := range index.Children {
		if c.Data {
			want = append(want, render.Key{GroupVersionKind: c.Kind, Namespace: "openstack", Name: c.Name(in.Nova)})
		}
	}
	var got []render.Key
	for _, a := range first.Set.Absent {
		got = append(got, a.Key)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if first.Release || first.Requeue != pollDatabase || len(first.Events) != 1 || first.Events[0].Reason != v1alpha1.EventFinalizingDatabase {
		t.Errorf("first pass: %+v", first)
	}
	for _, list := range []map[string]facts.Readiness{in.Observed.Databases, in.Observed.Users, in.Observed.Grants} {
		for name := range list {
			list[name] = facts.Readiness{Deleting: true}
		}
	}
	second := Teardown(in)
	if !second.Release || len(second.Set.Absent) > 0 || len(second.Events) != 1 || second.Events[0].Reason != v1alpha1.EventDatabaseFinalized {
		t.Errorf("second pass: %+v", second)
	}
}

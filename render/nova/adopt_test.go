package nova

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/facts"
)

// unborn is a Nova of which nothing says that it ever ran.
func unborn(in *Input) {
	in.Nova.Status.InstalledRelease = ""
	in.Observed.Jobs = map[string]facts.Job{}
	for name, d := range in.Observed.Databases {
		d.Release = ""
		in.Observed.Databases[name] = d
	}
}

// looked gives the Job that looks at the schemas a report.
func looked(report string) func(*Input) {
	return func(in *Input) {
		jobs := in.Observed.Jobs
		in.Observed.Jobs = nil
		var job facts.Job
		for _, o := range Decide(*in).Set.Desired {
			if o.Content.GetName() == "nova-db-inspect" {
				job = facts.RanThrough(o.Content)
			}
		}
		in.Observed.Jobs = jobs
		job.UID, job.Message = "look-1", report
		in.Observed.Jobs["nova-db-inspect"] = job
	}
}

func says(release string, names ...string) func(*Input) {
	return func(in *Input) {
		for _, name := range names {
			d := in.Observed.Databases[name]
			d.Release = release
			in.Observed.Databases[name] = d
		}
	}
}

const inspecting = "db_inspect job is running: it looks at the schemas before db_sync writes to them"

func unknownRelease(why string) outcome {
	return waitsForDatabase(v1alpha1.ReasonSchemaReleaseUnknown, why+", and their release is not known: set spec.adoptRelease to the release that "+
		"last ran on them; nothing is changed until then. To look again, delete Job nova-db-inspect", "db-sync")
}

func adopts(release, source string) outcome {
	message := "The schemas are at release " + release + " (" + source + "); going on from there"
	return outcome{
		Reason: v1alpha1.ReasonDBSyncInProgress, Message: message, Requeue: atOnce, Last: stepDatabase,
		Events: []string{"Normal " + v1alpha1.EventReleaseAdopted + ": " + message}, Held: []string{"db-inspect", "db-sync"},
	}
}

const byAnnotation = "annotation nova.openstack.c5c3.io/installed-release of its Databases"

var adoptCases = map[string]stepCase{
	"nothing looked yet": {change: unborn, want: waitsForDatabase(v1alpha1.ReasonDBSyncInProgress, inspecting, "db-sync")},
	"a look that runs": {
		change: all(unborn, looked(""), inspectJob(func(j *facts.Job) { j.Complete = false })),
		want:   waitsForDatabase(v1alpha1.ReasonDBSyncInProgress, inspecting, "db-inspect", "db-sync"),
	},
	"a look that failed": {
		change: all(unborn, looked(""), inspectJob(func(j *facts.Job) { j.Complete, j.Failed, j.Failure = false, true, "no route" })),
		want: outcome{
			Reason: v1alpha1.ReasonDBSyncFailed, Message: "db_inspect job failed: no route", Last: stepDatabase,
			Err: "db_inspect job failed: no route", Held: []string{"db-sync"},
		},
	},
	"a look without a report": {
		change: all(unborn, looked("Traceback")),
		want: outcome{
			Reason: v1alpha1.ReasonDBSyncFailed, Message: "db_inspect job reported nothing; delete Job nova-db-inspect to run it again", Last: stepDatabase,
			Err: "db_inspect job reported nothing; delete Job nova-db-inspect to run it again", Held: []string{"db-sync"},
		},
	},
	"half a report": {
		change: all(unborn, looked("api_db=None\n")),
		want: outcome{
			Reason: v1alpha1.ReasonDBSyncFailed, Message: "db_inspect job reported nothing; delete Job nova-db-inspect to run it again", Last: stepDatabase,
			Err: "db_inspect job reported nothing; delete Job nova-db-inspect to run it again", Held: []string{"db-sync"},
		},
	},
	"empty schemas":      {change: all(unborn, looked(emptySchemas)), want: waitsForDatabase(v1alpha1.ReasonDBSyncInProgress, "db_sync job is running")},
	"tables in one":      {change: all(unborn, looked("api_db=None\ndb=960aac0e09ea\n")), want: unknownRelease("the schemas hold tables (db at revision 960aac0e09ea)")},
	"tables in both":     {change: all(unborn, looked("noise\napi_db=b30f573d3377\ndb=960aac0e09ea\n")), want: unknownRelease("the schemas hold tables (api_db at revision b30f573d3377, db at revision 960aac0e09ea)")},
	"a person knows":     {change: all(unborn, looked("api_db=a\ndb=b\n"), func(in *Input) { in.Nova.Spec.AdoptRelease = "2025.2" }), want: adopts("2025.2", "spec.adoptRelease")},
	"a Database knows":   {change: all(unborn, says("2025.2", "nova-api")), want: adopts("2025.2", byAnnotation)},
	"all Databases know": {change: all(unborn, says("2025.2", "nova-api", "nova", "nova-nova-cell0")), want: adopts("2025.2", byAnnotation)},
	"a person outvotes the Databases": {
		change: all(unborn, says("2025.2", "nova-api"), func(in *Input) { in.Nova.Spec.AdoptRelease = "2026.1" }), want: adopts("2026.1", "spec.adoptRelease"),
	},
	"the Databases disagree": {
		change: all(unborn, says("2025.2", "nova-api"), says("2026.1", "nova")), want: unknownRelease("the Databases say releases 2025.2 and 2026.1"),
	},
	"a db-sync that began was let": {
		change: all(syncJob(func(j *facts.Job) { j.Complete = false }), func(in *Input) {
			in.Nova.Status.InstalledRelease = ""
			says("", "nova-api", "nova", "nova-nova-cell0")(in)
		}),
		want: waitsForDatabase(v1alpha1.ReasonDBSyncInProgress, "db_sync job is running", "db-sync"),
	},
}

func inspectJob(change func(*facts.Job)) func(*Input) {
	return func(in *Input) {
		job := in.Observed.Jobs["nova-db-inspect"]
		change(&job)
		in.Observed.Jobs["nova-db-inspect"] = job
	}
}

func TestDatabase_Adopt(t *testing.T) { runCases(t, v1alpha1.ConditionDatabaseReady, adoptCases) }

// What was empty once stays known so while db-sync tries: its tables are nobody else's,
// whatever becomes of image and configuration.
func TestDatabase_OwnTablesAreNoFind(t *testing.T) {
	in := readyWorld(t, nil)
	all(unborn, looked(emptySchemas))(&in)
	r := Decide(in)
	if len(r.Records) != 1 || r.Records[0].Subject != v1alpha1.JobSubjectDBInspect || r.Records[0].UID != "look-1" {
		t.Fatalf("recorded %+v", r.Records)
	}
	in.Nova.Annotations[v1alpha1.AnnotationLastJobUID(v1alpha1.JobSubjectDBInspect)] = "look-1"
	in.Nova.Spec.Image.Tag = "2026.1-p1"
	inspectJob(func(j *facts.Job) { j.Message = "api_db=a\ndb=b\n" })(&in)
	r = Decide(in)
	if !slices.ContainsFunc(r.Set.Desired, func(o render.Object) bool { return o.Content.GetName() == "nova-db-sync" }) {
		t.Errorf("db-sync is not made: %+v", r.Conditions)
	}
}

// A Nova goes on from the release it was told of by the rules of every upgrade.
func TestDatabase_AdoptedReleaseIsUpgraded(t *testing.T) {
	for release, reason := range map[string]string{
		"2026.1": v1alpha1.ReasonDBSyncInProgress, "2025.2": v1alpha1.ReasonExpandInProgress,
		"2025.1": v1alpha1.ReasonUpgradePathInvalid, "2026.2": v1alpha1.ReasonDowngradeNotSupported,
	} {
		in := readyWorld(t, nil)
		unborn(&in)
		in.Nova.Spec.AdoptRelease = release
		first := Decide(in)
		in.Assume(first, nil)
		if got := in.Nova.Status.InstalledRelease; got != release {
			t.Fatalf("adopted %q", got)
		}
		for _, c := range Decide(in).Conditions {
			if c.Type == v1alpha1.ConditionDatabaseReady && c.Reason != reason {
				t.Errorf("from %s: %s, want %s", release, c.Reason, reason)
			}
		}
	}
}

// The Databases say what is installed, from the pass on that installs it, and keep saying
// so to a Nova that does not know yet.
func TestDatabase_SaysItsRelease(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Input)
		want   string
	}{
		"installed":             {nil, "2026.1"},
		"just synced":           {func(in *Input) { in.Nova.Status.InstalledRelease = "" }, "2026.1"},
		"new":                   {unborn, ""},
		"not taken over yet":    {all(unborn, says("2025.2", "nova-api", "nova", "nova-nova-cell0"), drop("nova-db")), "2025.2"},
		"an upgrade under way":  {func(in *Input) { in.Nova.Spec.OpenStackRelease, in.Nova.Spec.Image.Tag = "2026.2", "2026.2" }, "2026.1"},
		"dropped with the Nova": {func(in *Input) { in.Nova.Spec.DatabaseDeletionPolicy = v1alpha1.DatabaseDelete }, "2026.1"},
	} {
		in := readyWorld(t, nil)
		if tc.change != nil {
			tc.change(&in)
		}
		for _, o := range Decide(in).Set.Desired {
			if o.Content.GetKind() != "Database" {
				continue
			}
			if got := o.Content.GetAnnotations()[v1alpha1.AnnotationSchemaRelease]; got != tc.want {
				t.Errorf("%s: %s says %q, want %q", name, o.Content.GetName(), got, tc.want)
			}
			policy, _ := o.Content.Object["spec"].(map[string]any)["cleanupPolicy"].(string)
			if delete := in.Nova.Spec.DatabaseDeletionPolicy == v1alpha1.DatabaseDelete; o.Policy.Unreferenced == delete || (policy == "") != delete {
				t.Errorf("%s: cleanup policy %q, unreferenced %t", name, policy, o.Policy.Unreferenced)
			}
		}
	}
}

func TestDatabase_Revisions(t *testing.T) {
	for report, want := range map[string][]string{
		emptySchemas: nil, "api_db=x\ndb=None": {"api_db at revision x"}, "warning\n api_db=None\ndb=y\n": {"db at revision y"},
	} {
		got, ok := revisions(report)
		if diff := cmp.Diff(want, got); diff != "" || !ok {
			t.Errorf("%q: %s", report, diff)
		}
	}
	for _, report := range []string{"", "api_db=None", "db=None", "api_db=\ndb=\n", "api_db=None;db=None"} {
		if _, ok := revisions(report); ok {
			t.Errorf("%q passes for a report", report)
		}
	}
}

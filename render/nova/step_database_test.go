package nova

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/facts"
	"github.com/c5c3/nova-operator/render/pipeline"
)

func waitsForDatabase(reason, message string, held ...string) outcome {
	return outcome{Reason: reason, Message: message, Requeue: pollDatabase, Last: stepDatabase, Held: held}
}

// allDatabase are the children of the step in order.
var allDatabase = []string{"api/database", "api/user", "api/grant", "cell/database", "cell0/database", "cell/user", "cell/grant", "cell0/grant", "db-sync"}

const loginWait = "MariaDB User or Grant CR is not ready"

func unreadyIn(pick func(*Observed) map[string]facts.Readiness, name string, r facts.Readiness) func(*Input) {
	return func(in *Input) { pick(&in.Observed)[name] = r }
}

func mariadbs(o *Observed) map[string]facts.Readiness { return o.MariaDBs }
func users(o *Observed) map[string]facts.Readiness    { return o.Users }
func grants(o *Observed) map[string]facts.Readiness   { return o.Grants }

func unreadyDatabase(name string, r facts.Readiness) func(*Input) {
	return func(in *Input) { in.Observed.Databases[name] = facts.Database{Readiness: r} }
}

func twoServers(n *v1alpha1.Nova) { n.Spec.Database.ClusterRef.Name = "mariadb-cell" }

var provisionCases = map[string]stepCase{
	"the server of the API schema is not ready": {
		nova: twoServers, change: unreadyIn(mariadbs, "mariadb", facts.Readiness{}),
		want: waitsForDatabase(v1alpha1.ReasonClusterNotReady, `MariaDB cluster "mariadb" is not ready`, allDatabase...),
	},
	"the API schema": {
		change: unreadyDatabase("nova-api", facts.Readiness{}),
		want:   waitsForDatabase(v1alpha1.ReasonWaitingForDatabase, "MariaDB Database CR is not ready", allDatabase[1:]...),
	},
	"an API schema that is being deleted is not ready": {
		change: unreadyDatabase("nova-api", facts.Readiness{Ready: true, Deleting: true}),
		want:   waitsForDatabase(v1alpha1.ReasonWaitingForDatabase, "MariaDB Database CR is not ready", allDatabase[1:]...),
	},
	"the user of the API schema": {
		change: unreadyIn(users, "nova-api", facts.Readiness{}),
		want:   waitsForDatabase(v1alpha1.ReasonWaitingForDatabase, loginWait, allDatabase[2:]...),
	},
	"the grant of the API schema": {
		change: unreadyIn(grants, "nova-api", facts.Readiness{}),
		want:   waitsForDatabase(v1alpha1.ReasonWaitingForDatabase, loginWait, allDatabase[3:]...),
	},
	"the server of the cell schema": {
		nova: twoServers, change: unreadyIn(mariadbs, "mariadb-cell", facts.Readiness{}),
		want: waitsForDatabase(v1alpha1.ReasonClusterNotReady, `MariaDB cluster "mariadb-cell" is not ready`, allDatabase[3:]...),
	},
	"the cell schema": {
		change: unreadyDatabase("nova", facts.Readiness{}),
		want:   waitsForDatabase(v1alpha1.ReasonWaitingForDatabase, "MariaDB Database CR is not ready", allDatabase[4:]...),
	},
	"the schema of cell0": {
		change: unreadyDatabase("nova-nova-cell0", facts.Readiness{}),
		want:   waitsForDatabase(v1alpha1.ReasonWaitingForDatabase, `MariaDB Database CR for schema "nova_cell0" is not ready`, allDatabase[5:]...),
	},
	"the user of the cell schema": {
		change: unreadyIn(users, "nova", facts.Readiness{}),
		want:   waitsForDatabase(v1alpha1.ReasonWaitingForDatabase, loginWait, allDatabase[6:]...),
	},
	"the grant of the cell schema": {
		change: unreadyIn(grants, "nova", facts.Readiness{}),
		want:   waitsForDatabase(v1alpha1.ReasonWaitingForDatabase, loginWait, allDatabase[7:]...),
	},
	"the grant of cell0": {
		change: unreadyIn(grants, "nova-nova-cell0", facts.Readiness{}),
		want:   waitsForDatabase(v1alpha1.ReasonWaitingForDatabase, `MariaDB Grant CR for schema "nova_cell0" is not ready`, "db-sync"),
	},
	"a brownfield database waits for nothing": {
		nova: func(n *v1alpha1.Nova) {
			n.Spec.APIDatabase.ClusterRef, n.Spec.APIDatabase.Host = nil, "db"
			n.Spec.Database.ClusterRef, n.Spec.Database.Host = nil, "db"
		},
		change: func(in *Input) {
			in.Observed.MariaDBs, in.Observed.Databases, in.Observed.Users, in.Observed.Grants = nil, nil, nil, nil
		},
		want: synced(),
	},
	"a login of the secrets engine has no user to wait for": {
		nova: func(n *v1alpha1.Nova) {
			n.Spec.APIDatabase.CredentialsMode, n.Spec.Database.CredentialsMode = "Dynamic", "Dynamic"
		},
		change: func(in *Input) { in.Observed.Users, in.Observed.Grants = nil, nil },
		want:   synced(),
	},
	"no configuration was ever rendered": {
		change: func(in *Input) { in.Nova.Spec.Region, in.Observed.ConfigMaps = badRegion, nil },
		want:   waitsForDatabase(v1alpha1.ReasonWaitingForConfig, "Waiting for the rendered config before provisioning the database schema", "compute-config", "remote-compute-config", "db-sync"),
	},
}

func TestDatabase_Provisioning(t *testing.T) {
	runCases(t, v1alpha1.ConditionDatabaseReady, provisionCases)
}

// Admission refuses these; an error keeps everything as it is when it was bypassed.
func TestDatabase_RefusesTheSchemaOfCell0(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*v1alpha1.Nova)
		want   string
	}{
		"it is the API's": {
			func(n *v1alpha1.Nova) { n.Spec.APIDatabase.Database = "nova_cell0" },
			"spec.apiDatabase.database must not name the cell0 schema derived from spec.database.database",
		},
		"it is no name": {
			func(n *v1alpha1.Nova) { n.Spec.Database.Database = "no`va" },
			"spec.database.database: derived schema \"no`va_cell0\" must match ^[A-Za-z0-9_]{1,64}$",
		},
		"it is too long": {
			func(n *v1alpha1.Nova) {
				n.Spec.Database.Database = "abcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghi"
			},
			"spec.database.database: derived schema \"abcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghi_cell0\" must match ^[A-Za-z0-9_]{1,64}$",
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := readyWorld(t, nil)
			tc.change(in.Nova)
			r := Decide(in)
			if r.Err == nil || r.Err.Error() != tc.want {
				t.Errorf("got %v, want %s", r.Err, tc.want)
			}
			for _, o := range r.Set.Desired {
				if o.Stage != render.StageConfig {
					t.Errorf("%s is applied", o.Key())
				}
			}
		})
	}
}

// A newer build may have left a phase this one does not know; going on would roll the
// new image out over a schema in the middle of something.
func TestDatabase_RefusesAPhaseItDoesNotKnow(t *testing.T) {
	in := readyWorld(t, nil)
	in.Nova.Spec.OpenStackRelease, in.Nova.Spec.Image.Tag = "2026.2", "2026.2"
	in.Nova.Status.UpgradePhase, in.Nova.Status.TargetRelease = "Verifying", "2026.2"
	r := Decide(in)
	if r.Err == nil || r.Err.Error() != `status.upgradePhase "Verifying" is not known to this build` {
		t.Errorf("error %v", r.Err)
	}
	if held := heldIDs(in, r); !held["api/deployment"] || !held["db-sync"] || statusOf(r).UpgradePhase != "Verifying" {
		t.Errorf("held %v, phase %q", r.Set.Held, statusOf(r).UpgradePhase)
	}
}

func synced() outcome {
	return outcome{Ready: true, Reason: v1alpha1.ReasonDatabaseSynced, Message: "Database schema is up to date (revision verified)"}
}

func toRelease(release, tag, installed string) func(*Input) {
	return func(in *Input) {
		in.Nova.Spec.OpenStackRelease, in.Nova.Spec.Image.Tag = release, tag
		in.Nova.Status.InstalledRelease = installed
	}
}

// refused is a release that can't be reached: the message of the condition, and the
// event that says it once.
func refused(reason, message, event string) outcome {
	return outcome{
		Reason: reason, Message: message, Last: stepDatabase, Held: []string{"db-sync"}, Err: message,
		Events: []string{"Warning " + reason + ": " + event},
	}
}

var releaseCases = map[string]stepCase{
	"the tag names another release": {
		change: toRelease("2026.1", "2025.2", "2026.1"),
		want: waitsForDatabase(v1alpha1.ReasonImageReleaseMismatch,
			`spec.image.tag "2025.2" names OpenStack release 2025.2 but spec.openStackRelease is "2026.1"; bump spec.image in lockstep with spec.openStackRelease`, "db-sync"),
	},
	"the tag of a first install names another release": {
		change: toRelease("2026.1", "2025.2-p1", ""),
		want: waitsForDatabase(v1alpha1.ReasonImageReleaseMismatch,
			`spec.image.tag "2025.2-p1" names OpenStack release 2025.2 but spec.openStackRelease is "2026.1"; bump spec.image in lockstep with spec.openStackRelease`, "db-sync"),
	},
	"an older release": {
		change: toRelease("2025.2", "2025.2", "2026.1"),
		want: refused(v1alpha1.ReasonDowngradeNotSupported, "downgrade from 2026.1 to 2025.2 is not supported",
			"Downgrade from 2026.1 to 2025.2 is not supported"),
	},
	"a release two steps away": {
		change: toRelease("2026.1", "2026.1", "2025.1"),
		want: refused(v1alpha1.ReasonUpgradePathInvalid,
			"upgrade from 2025.1 to 2026.1 is not sequential; only sequential upgrades are supported",
			"Upgrade from 2025.1 to 2026.1 is not sequential"),
	},
	"an installed release that does not parse": {
		change: toRelease("2026.1", "2026.1", "liberty"),
		want: refused(v1alpha1.ReasonVersionParseError,
			`failed to parse installed release "liberty": "liberty": not an OpenStack release of the form YYYY.N with N 1 or 2`,
			`Failed to parse installed release "liberty": "liberty": not an OpenStack release of the form YYYY.N with N 1 or 2`),
	},
	"a wanted release that does not parse": {
		change: toRelease("2026.3", "main", "2026.1"),
		want: refused(v1alpha1.ReasonVersionParseError,
			`failed to parse target release "2026.3": "2026.3": not an OpenStack release of the form YYYY.N with N 1 or 2`,
			`Failed to parse target release "2026.3": "2026.3": not an OpenStack release of the form YYYY.N with N 1 or 2`),
	},
}

func TestDatabase_Release(t *testing.T) {
	runCases(t, v1alpha1.ConditionDatabaseReady, releaseCases)
}

// The event of a refused release is sent once, not on every pass.
func TestDatabase_ARefusalIsToldOnce(t *testing.T) {
	in := readyWorld(t, nil)
	toRelease("2025.2", "2025.2", "2026.1")(&in)
	in.Nova.Status.Conditions = Decide(in).Conditions
	if events := Decide(in).Events; len(events) > 0 {
		t.Errorf("told again: %v", events)
	}
}

func syncJob(change func(*facts.Job)) func(*Input) {
	return func(in *Input) {
		job := in.Observed.Jobs["nova-db-sync"]
		change(&job)
		in.Observed.Jobs["nova-db-sync"] = job
	}
}

func failedSync(j *facts.Job) {
	j.Complete, j.Failed, j.UID, j.Failure = false, true, "sync-2", "BackoffLimitExceeded: Job has reached the specified backoff limit"
	j.Created, j.Finished = time.Unix(1000, 0), time.Unix(1090, 0)
}

const syncFailure = "db_sync job failed: BackoffLimitExceeded: Job has reached the specified backoff limit"

var syncCases = map[string]stepCase{
	"no Job yet": {
		change: func(in *Input) { in.Observed.Jobs = nil },
		want:   waitsForDatabase(v1alpha1.ReasonDBSyncInProgress, "db_sync job is running"),
	},
	"a running Job is left alone": {
		change: syncJob(func(j *facts.Job) { j.Complete = false }),
		want:   waitsForDatabase(v1alpha1.ReasonDBSyncInProgress, "db_sync job is running", "db-sync"),
	},
	"a running Job of another template is left alone": {
		change: syncJob(func(j *facts.Job) { j.Complete, j.TemplateHash = false, "other" }),
		want:   waitsForDatabase(v1alpha1.ReasonDBSyncInProgress, "db_sync job is running", "db-sync"),
	},
	"a Job that is being deleted is waited for": {
		change: syncJob(func(j *facts.Job) { j.Deleting, j.TemplateHash = true, "other" }),
		want:   waitsForDatabase(v1alpha1.ReasonDBSyncInProgress, "db_sync job is running", "db-sync"),
	},
	"a complete Job of another template goes": {
		change: syncJob(func(j *facts.Job) { j.TemplateHash = "other" }),
		want:   gone(waitsForDatabase(v1alpha1.ReasonDBSyncInProgress, "db_sync job is running")),
	},
	"a failed Job of another template goes": {
		change: syncJob(func(j *facts.Job) { failedSync(j); j.TemplateHash = "other" }),
		want:   gone(waitsForDatabase(v1alpha1.ReasonDBSyncInProgress, "db_sync job is running")),
	},
	"a failed Job is told once": {
		change: syncJob(failedSync),
		want: outcome{
			Reason: v1alpha1.ReasonDBSyncFailed, Message: syncFailure, Last: stepDatabase, Err: syncFailure,
			Events: []string{"Warning DBSyncFailed: " + syncFailure},
		},
	},
	"failed wins over complete": {
		change: syncJob(func(j *facts.Job) { failedSync(j); j.Complete = true }),
		want: outcome{
			Reason: v1alpha1.ReasonDBSyncFailed, Message: syncFailure, Last: stepDatabase, Err: syncFailure,
			Events: []string{"Warning DBSyncFailed: " + syncFailure},
		},
	},
	"a failed Job that was told already": {
		change: all(syncJob(failedSync), func(in *Input) {
			in.Nova.Annotations[v1alpha1.AnnotationLastJobUID(v1alpha1.JobSubjectDBSync)] = "sync-2"
		}),
		want: outcome{Reason: v1alpha1.ReasonDBSyncFailed, Message: syncFailure, Last: stepDatabase, Err: syncFailure},
	},
	"a complete Job is told once": {
		change: syncJob(func(j *facts.Job) { j.UID = "sync-2" }),
		want:   with(synced(), "Normal DatabaseSynced: Database schema is up to date"),
	},
	"a complete Job without a readable report": {
		change: syncJob(func(j *facts.Job) { j.UID, j.Message = "sync-2", "Traceback" }),
		want: with(synced(), "Normal DatabaseSynced: Database schema is up to date",
			"Normal CellsReportUnavailable: the db-sync Job reported no cell map; status.cells is left unchanged"),
	},
	"a complete Job that was told already": {want: synced()},
	"a complete Job for this very Database": {
		change: all(incarnation("nova-api", "1"), syncJob(func(j *facts.Job) { j.Databases = map[string]string{"nova-api": "1", "gone": "7"} })),
		want:   synced(),
	},
	"a complete Job for a Database that was made anew": {
		change: all(incarnation("nova-api", "2"), syncJob(func(j *facts.Job) { j.Databases = map[string]string{"nova-api": "1"} })),
		want:   gone(anew("nova-api")),
	},
	"a failed Job for a Database that was made anew": {
		change: all(incarnation("nova-nova-cell0", "2"), syncJob(func(j *facts.Job) { failedSync(j); j.Databases = map[string]string{"nova-nova-cell0": "1"} })),
		want:   gone(anew("nova-nova-cell0")),
	},
	"a running Job for a Database that was made anew is left alone": {
		change: all(incarnation("nova-api", "2"), syncJob(func(j *facts.Job) { j.Complete, j.Databases = false, map[string]string{"nova-api": "1"} })),
		want:   waitsForDatabase(v1alpha1.ReasonDBSyncInProgress, "db_sync job is running", "db-sync"),
	},
}

// incarnation gives a Database a UID.
func incarnation(name, uid string) func(*Input) {
	return func(in *Input) {
		d := in.Observed.Databases[name]
		d.UID = uid
		in.Observed.Databases[name] = d
	}
}

func anew(name string) outcome {
	return outcome{
		Reason: v1alpha1.ReasonDBSyncInProgress, Requeue: nextPass, Last: stepDatabase,
		Message: fmt.Sprintf("Database %q was made anew since db_sync ran: its schema is empty, and db_sync runs again", name),
	}
}

func gone(o outcome) outcome {
	o.Gone = []string{"db-sync"}
	return o
}

func with(o outcome, events ...string) outcome {
	o.Events = events
	return o
}

func TestDatabase_Sync(t *testing.T) { runCases(t, v1alpha1.ConditionDatabaseReady, syncCases) }

func TestDatabase_RecordsAJobOnce(t *testing.T) {
	in := readyWorld(t, nil)
	syncJob(failedSync)(&in)
	want := []pipeline.Record{{
		Subject: "db-sync", UID: "sync-2", Counted: true, Result: "failed", Duration: 90 * time.Second,
		Events: Decide(in).Records[0].Events, Deferred: v1alpha1.EventDBSyncMetricEmissionDeferred,
	}}
	if diff := cmp.Diff(want, Decide(in).Records); diff != "" {
		t.Error(diff)
	}
}

func TestDatabase_PromotesTheReleaseOnlyWhenSynced(t *testing.T) {
	in := readyWorld(t, nil)
	in.Nova.Status.InstalledRelease = ""
	says("", "nova-api", "nova", "nova-nova-cell0")(&in)
	if got := statusOf(Decide(in)).InstalledRelease; got != "2026.1" {
		t.Errorf("after a sync: %q", got)
	}
	syncJob(func(j *facts.Job) { j.Complete = false })(&in)
	if got := statusOf(Decide(in)).InstalledRelease; got != "" {
		t.Errorf("before it: %q", got)
	}
}

func TestDatabase_Cells(t *testing.T) {
	known := []v1alpha1.CellStatus{{Name: "cell1", UUID: "11111111-1111-1111-1111-111111111111"}}
	reported := cells(cellReport)
	for name, tc := range map[string]struct {
		report string
		seen   bool
		before []v1alpha1.CellStatus
		want   []v1alpha1.CellStatus
	}{
		"a new report replaces the map":                {cellReport, false, known, reported},
		"cell0 comes first":                            {"cell1=5f0d7bd2-6a2f-4d3e-9a53-7f8d6b1a2c3d\ncell0=00000000-0000-0000-0000-000000000000", false, nil, reported},
		"lines that are no cell are dropped":           {"warning: x\n" + cellReport + "cell2=none\n", false, known, reported},
		"an unreadable report keeps the map":           {"Traceback", false, known, known},
		"a report that was read is not read again":     {cellReport, true, known, known},
		"an empty map is filled from a report on file": {cellReport, true, nil, reported},
	} {
		t.Run(name, func(t *testing.T) {
			in := readyWorld(t, nil)
			in.Nova.Status.Cells = tc.before
			syncJob(func(j *facts.Job) { j.Message = tc.report })(&in)
			if !tc.seen {
				in.Nova.Annotations = nil
			}
			if diff := cmp.Diff(tc.want, statusOf(Decide(in)).Cells); diff != "" {
				t.Error(diff)
			}
		})
	}
}

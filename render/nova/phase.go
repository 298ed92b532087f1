package nova

import (
	"errors"
	"fmt"
	"regexp"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/c5c3/nova-operator/api/catalog"
	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/facts"
	"github.com/c5c3/nova-operator/render/pipeline"
	"github.com/c5c3/nova-operator/render/workload"
)

// atOnce asks for the next pass without a pause: a phase has just turned.
const atOnce = time.Millisecond

// idle and anyPhase are the ends of a transition besides the phases of the API.
const (
	idle     = v1alpha1.UpgradePhase("")
	anyPhase = v1alpha1.UpgradePhase("any phase")
)

// release is where a Nova is between two releases.
func release(n *v1alpha1.Nova) pipeline.Release {
	s := n.Status
	return pipeline.Release{Installed: s.InstalledRelease, Target: s.TargetRelease, Phase: string(s.UpgradePhase)}
}

// transition is one row of the release state machine. The first row of the step that
// holds decides. Nothing is remembered but the phase and the target in the status, so
// a lost status write repeats the transition from the same finished Job.
type transition struct {
	// step evaluates the row: the flip to Contracting waits for the roles.
	step string
	from v1alpha1.UpgradePhase
	// when words the condition for the docs, holds tests it.
	when  string
	holds func(*upgrade) bool
	// to is the phase afterwards.
	to v1alpha1.UpgradePhase
	// does words the action for the docs, run takes it.
	does string
	run  func(*upgrade)
}

// upgrade is what the rows decide on.
type upgrade struct {
	*pass
	// installed is where the schemas are, wanted what the spec says, target what the
	// running upgrade goes to; all as written. from and to are the parsed ends of an
	// upgrade that is asked for, with the errors of parsing.
	installed, wanted, target string
	from, to                  catalog.Release
	fromErr, toErr            error
	// job and state are those of the current phase.
	job   facts.Job
	state workload.JobState
}

// transitions is the state machine, in the order of evaluation.
var transitions = []transition{
	{stepDatabase, idle, "the image tag names another release", (*upgrade).mismatch, idle, "ImageReleaseMismatch, look again in 30 s", (*upgrade).refuseImage},
	{stepDatabase, idle, "nothing is installed, the release of the schemas is known", (*upgrade).adoptable, idle, "installed := that release, event ReleaseAdopted", (*upgrade).adopt},
	{stepDatabase, idle, "nothing is installed, what the schemas hold is not known", (*upgrade).unlooked, idle, "db-inspect; goes on from empty ones", (*upgrade).look},
	{stepDatabase, idle, "nothing is installed, or the release is the installed one", (*upgrade).steady, idle, "db-sync; promotes the first release", func(u *upgrade) { u.syncSchema() }},
	{stepDatabase, idle, "a release does not parse", (*upgrade).unparsable, idle, "VersionParseError", (*upgrade).refuseParse},
	{stepDatabase, idle, "only a patch suffix differs", (*upgrade).sameRelease, idle, "db-sync", func(u *upgrade) { u.syncSchema() }},
	{stepDatabase, idle, "the release is older", (*upgrade).downgrade, idle, "DowngradeNotSupported", (*upgrade).refuseDowngrade},
	{stepDatabase, idle, "the release is not the next one", (*upgrade).skips, idle, "UpgradePathInvalid", (*upgrade).refusePath},
	{stepDatabase, idle, "the release is the next one", always, v1alpha1.UpgradePhaseExpanding, "target := release, event UpgradeInitiated", (*upgrade).begin},

	{stepDatabase, anyPhase, "the release is the installed one, phase Jobs are left", (*upgrade).revertedWithJobs, anyPhase, "delete the phase Jobs", (*upgrade).dropJobs},
	{stepDatabase, anyPhase, "the release is the installed one", (*upgrade).reverted, idle, "event UpgradeAborted", (*upgrade).abort},
	{stepDatabase, anyPhase, "the image tag names another release", (*upgrade).mismatch, anyPhase, "ImageReleaseMismatch, look again in 30 s", (*upgrade).refuseImage},
	{stepDatabase, anyPhase, "the release is a third one", (*upgrade).thirdRelease, anyPhase, "UpgradeTargetChanged", (*upgrade).refuseTarget},

	{stepDatabase, anyPhase, "a Database was made anew", (*upgrade).lostSchema, anyPhase, "the phase failed: its schema is empty", (*upgrade).refuseSchema},

	{stepDatabase, v1alpha1.UpgradePhaseExpanding, "the expand Job runs", (*upgrade).running, v1alpha1.UpgradePhaseExpanding, "ExpandInProgress", (*upgrade).inProgress},
	{stepDatabase, v1alpha1.UpgradePhaseExpanding, "the expand Job failed for good", (*upgrade).failed, v1alpha1.UpgradePhaseExpanding, "ExpandFailed", (*upgrade).phaseFailed},
	{stepDatabase, v1alpha1.UpgradePhaseExpanding, "the expand Job is complete", always, v1alpha1.UpgradePhaseMigrating, "event ExpandComplete", (*upgrade).expanded},
	{stepDatabase, v1alpha1.UpgradePhaseMigrating, "the migrate Job runs", (*upgrade).running, v1alpha1.UpgradePhaseMigrating, "MigrateInProgress", (*upgrade).inProgress},
	{stepDatabase, v1alpha1.UpgradePhaseMigrating, "the migrate Job failed for good", (*upgrade).failed, v1alpha1.UpgradePhaseMigrating, "MigrateFailed", (*upgrade).phaseFailed},
	{stepDatabase, v1alpha1.UpgradePhaseMigrating, "the migrate Job is complete", always, v1alpha1.UpgradePhaseRollingUpdate, "event MigrateComplete", (*upgrade).migrated},
	{stepDatabase, v1alpha1.UpgradePhaseRollingUpdate, "the roles roll, one after the other", always, v1alpha1.UpgradePhaseRollingUpdate, "UpgradeRollingUpdate; the pass goes on", (*upgrade).rolling},
	{stepDatabase, v1alpha1.UpgradePhaseContracting, "the contract Job runs", (*upgrade).running, v1alpha1.UpgradePhaseContracting, "ContractInProgress", (*upgrade).inProgress},
	{stepDatabase, v1alpha1.UpgradePhaseContracting, "the contract Job failed for good", (*upgrade).failed, v1alpha1.UpgradePhaseContracting, "ContractFailed", (*upgrade).phaseFailed},
	{stepDatabase, v1alpha1.UpgradePhaseContracting, "the contract Job is complete", always, idle, "installed := target, event UpgradeComplete; the pass goes on", (*upgrade).complete},

	{stepDeployment, v1alpha1.UpgradePhaseRollingUpdate, "every role runs the new image", (*upgrade).converged, v1alpha1.UpgradePhaseContracting, "event DeploymentRolloutComplete", (*upgrade).contract},
}

// phases holds what the Job of a phase is called.
var phases = map[v1alpha1.UpgradePhase]struct {
	child, subject, word, running string
	inProgress, failed, event     string
}{
	v1alpha1.UpgradePhaseExpanding: {
		childDBExpand, v1alpha1.JobSubjectDBExpand, "Expand", "Expand phase running: %s to %s",
		v1alpha1.ReasonExpandInProgress, v1alpha1.ReasonExpandFailed, v1alpha1.EventExpandFailed,
	},
	v1alpha1.UpgradePhaseMigrating: {
		childDBMigrate, v1alpha1.JobSubjectDBMigrate, "Migrate", "Migrate phase running: %s to %s",
		v1alpha1.ReasonMigrateInProgress, v1alpha1.ReasonMigrateFailed, v1alpha1.EventMigrateFailed,
	},
	v1alpha1.UpgradePhaseContracting: {
		childDBContract, v1alpha1.JobSubjectDBContract, "Contract", "Contract phase running: %s to %s",
		v1alpha1.ReasonContractInProgress, v1alpha1.ReasonContractFailed, v1alpha1.EventContractFailed,
	},
}

// phaseJobs are the children that only an upgrade runs.
var phaseJobs = []string{childDBExpand, childDBMigrate, childDBContract}

// advance evaluates the rows of a step and takes the first that holds. It reports
// whether one did.
func (p *pass) advance(step string) bool {
	u := p.newUpgrade()
	for _, row := range transitions {
		if row.step != step || row.from != u.phase() && (row.from != anyPhase || u.phase() == idle) || !row.holds(u) {
			continue
		}
		row.run(u)
		if row.to != anyPhase {
			p.status.UpgradePhase = row.to
		}
		return true
	}
	return false
}

func (p *pass) newUpgrade() *upgrade {
	u := &upgrade{
		pass: p, installed: p.nova.Status.InstalledRelease, wanted: p.nova.Spec.OpenStackRelease, target: p.nova.Status.TargetRelease,
	}
	u.from, u.fromErr = catalog.ParseRelease(u.installed)
	u.to, u.toErr = catalog.ParseRelease(u.wanted)
	return u
}

func (u *upgrade) phase() v1alpha1.UpgradePhase { return u.nova.Status.UpgradePhase }

func always(*upgrade) bool { return true }

func (u *upgrade) steady() bool      { return u.installed == "" || u.installed == u.wanted }
func (u *upgrade) unparsable() bool  { return u.fromErr != nil || u.toErr != nil }
func (u *upgrade) sameRelease() bool { return u.from == u.to }
func (u *upgrade) downgrade() bool   { return u.to.Compare(u.from) < 0 }
func (u *upgrade) skips() bool       { return u.to != u.from.Next() }
func (u *upgrade) reverted() bool    { return u.wanted == u.installed }

func (u *upgrade) thirdRelease() bool { return u.wanted != u.target }

// revertedWithJobs holds while the Jobs of an aborted upgrade exist: left behind, they
// would satisfy the next one.
func (u *upgrade) revertedWithJobs() bool {
	if !u.reverted() {
		return false
	}
	for _, id := range phaseJobs {
		if _, live := u.seen.Jobs[u.nova.Name+migrations[id].suffix]; live {
			return true
		}
	}
	return false
}

// mismatch refuses a tag that names another release than the spec: a release bump
// with an old image would migrate nothing and report success. A digest, or a tag that
// names no release, is trusted.
func (u *upgrade) mismatch() bool {
	image, err := catalog.ParseRelease(u.nova.Spec.Image.Tag)
	return err == nil && u.nova.Spec.Image.Digest == "" && u.toErr == nil && image != u.to
}

func (u *upgrade) refuseImage() {
	image, _ := catalog.ParseRelease(u.nova.Spec.Image.Tag)
	u.Wait(v1alpha1.ReasonImageReleaseMismatch,
		fmt.Sprintf("spec.image.tag %q names OpenStack release %s but spec.openStackRelease is %q; bump spec.image in lockstep with spec.openStackRelease",
			u.nova.Spec.Image.Tag, image, u.wanted), pollDatabase)
	u.HoldAfter(lastProvision, v1alpha1.ReasonImageReleaseMismatch)
}

func (u *upgrade) refuseParse() {
	what, text, err := "target", u.wanted, u.toErr
	if u.fromErr != nil {
		what, text, err = "installed", u.installed, u.fromErr
	}
	u.refuseRelease(v1alpha1.ReasonVersionParseError, v1alpha1.EventVersionParseError,
		fmt.Sprintf("failed to parse %s release %q: %v", what, text, err),
		fmt.Sprintf("Failed to parse %s release %q: %v", what, text, err))
}

func (u *upgrade) refuseDowngrade() {
	u.refuseRelease(v1alpha1.ReasonDowngradeNotSupported, v1alpha1.EventDowngradeNotSupported,
		fmt.Sprintf("downgrade from %s to %s is not supported", u.installed, u.wanted),
		fmt.Sprintf("Downgrade from %s to %s is not supported", u.installed, u.wanted))
}

func (u *upgrade) refusePath() {
	u.refuseRelease(v1alpha1.ReasonUpgradePathInvalid, v1alpha1.EventUpgradePathInvalid,
		fmt.Sprintf("upgrade from %s to %s is not sequential; only sequential upgrades are supported", u.installed, u.wanted),
		fmt.Sprintf("Upgrade from %s to %s is not sequential", u.installed, u.wanted))
}

func (u *upgrade) refuseTarget() {
	u.refuseRelease(v1alpha1.ReasonUpgradeTargetChanged, v1alpha1.EventUpgradeTargetChanged,
		fmt.Sprintf("Spec release changed to %s during active upgrade %s to %s; complete or roll back the current upgrade first", u.wanted, u.installed, u.target),
		fmt.Sprintf("Spec release changed to %s during active upgrade %s to %s", u.wanted, u.installed, u.target))
}

// refuseRelease ends the pass on a release that can't be reached. Nothing changes:
// the old image keeps running. The event is sent when the message changes.
func (u *upgrade) refuseRelease(reason, event, message, eventMessage string) {
	last := u.Last(v1alpha1.ConditionDatabaseReady)
	if last == nil || last.Message != message {
		u.Warn(event, eventMessage)
	}
	u.Fail(reason, errors.New(message))
	u.HoldAfter(lastProvision, reason)
}

// lostSchema holds when a Database is another one than any schema Job was made for. An
// upgrade of an empty schema would end well, with nothing in it.
func (u *upgrade) lostSchema() bool { return u.lost() != "" }

func (u *upgrade) lost() string {
	for _, id := range append([]string{childDBSync}, phaseJobs...) {
		if name := u.madeAnew(u.seen.Jobs[u.nova.Name+migrations[id].suffix]); name != "" {
			return name
		}
	}
	return ""
}

func (u *upgrade) refuseSchema() {
	ph := phases[u.phase()]
	reason := ph.failed
	if reason == "" { // the roles roll
		reason = v1alpha1.ReasonMigrateFailed
	}
	u.Fail(reason, fmt.Errorf("the Database %q was made anew during the upgrade %s to %s: its schema is empty; "+
		"take the upgrade back (spec.openStackRelease and image of %s), restore the schema, and begin again",
		u.lost(), u.installed, u.target, u.installed))
	u.HoldAfter(lastProvision, reason)
}

// turn ends the pass on a new phase, to begin it at once.
func (u *upgrade) turn(reason, message string) {
	u.Wait(reason, message, atOnce)
	u.HoldAfter(lastProvision, reason)
}

func (u *upgrade) begin() {
	u.status.TargetRelease = u.wanted
	u.Event(corev1.EventTypeNormal, v1alpha1.EventUpgradeInitiated, fmt.Sprintf("Upgrade initiated: %s to %s", u.installed, u.wanted))
	u.turn(v1alpha1.ReasonExpandInProgress, fmt.Sprintf("Upgrade detected: %s to %s (phase: Expanding)", u.installed, u.wanted))
}

func (u *upgrade) dropJobs() {
	for _, id := range phaseJobs {
		u.Remove(id, render.Absent{Reason: "the upgrade was aborted"})
	}
	u.Wait(v1alpha1.ReasonUpgradeAborting, fmt.Sprintf("Aborting the upgrade %s to %s: deleting its Jobs", u.installed, u.target), nextPass)
	u.Hold(childDBSync, v1alpha1.ReasonUpgradeAborting)
}

func (u *upgrade) abort() {
	u.status.TargetRelease = ""
	message := fmt.Sprintf("Upgrade %s to %s aborted: spec release reverted to installed release %s", u.installed, u.target, u.installed)
	u.Event(corev1.EventTypeNormal, v1alpha1.EventUpgradeAborted, message)
	u.turn(v1alpha1.ReasonUpgradeAborting, message)
}

// running looks at the Job of the phase. Of the rows of a phase it is the first, so the
// others find job and state.
func (u *upgrade) running() bool {
	u.job, u.state = u.runOnce(phases[u.phase()].child)
	return u.state == workload.JobRunning
}

func (u *upgrade) failed() bool { return u.state == workload.JobFailed }

func (u *upgrade) inProgress() {
	ph := phases[u.phase()]
	u.Wait(ph.inProgress, fmt.Sprintf(ph.running, u.installed, u.target), pollDatabase)
	u.holdOthers(ph.child, ph.inProgress)
}

func (u *upgrade) phaseFailed() {
	ph := phases[u.phase()]
	message := fmt.Sprintf("%s job %s failed: %s", ph.word, u.job.Name, u.job.Failure)
	u.recordJob(ph.subject, u.job, failureEvent(ph.event, message))
	u.recordCheck()
	u.Fail(ph.failed, errors.New(message))
	u.holdOthers(ph.child, ph.failed)
}

// holdOthers leaves every Job but that of the phase alone.
func (u *upgrade) holdOthers(child, gate string) {
	for _, id := range append([]string{childDBSync}, phaseJobs...) {
		if id != child {
			u.Hold(id, gate)
		}
	}
}

func (u *upgrade) expanded() {
	u.recordJob(v1alpha1.JobSubjectDBExpand, u.job)
	u.recordCheck()
	u.Event(corev1.EventTypeNormal, v1alpha1.EventExpandComplete, fmt.Sprintf("Expand phase complete: %s to %s", u.installed, u.target))
	u.turn(v1alpha1.ReasonMigrateInProgress, fmt.Sprintf("Expand complete, starting migrate: %s to %s", u.installed, u.target))
}

func (u *upgrade) migrated() {
	u.recordJob(v1alpha1.JobSubjectDBMigrate, u.job)
	u.Event(corev1.EventTypeNormal, v1alpha1.EventMigrateComplete, fmt.Sprintf("Migrate phase complete: %s to %s", u.installed, u.target))
	u.turn(v1alpha1.ReasonUpgradeRollingUpdate, fmt.Sprintf("Migrate complete, waiting for Deployment rollout: %s to %s", u.installed, u.target))
}

// rolling lets the pass go on to the roles, which roll behind one another.
func (u *upgrade) rolling() {
	u.Unready(v1alpha1.ReasonUpgradeRollingUpdate, fmt.Sprintf("Waiting for Deployment rollout: %s to %s", u.installed, u.target))
	u.HoldAfter(lastProvision, v1alpha1.ReasonUpgradeRollingUpdate)
}

// converged holds when every rendered role is strictly rolled out on the new image,
// and the API serves.
func (u *upgrade) converged() bool {
	for _, r := range roles {
		if r.deployment(u.nova) != nil && !u.rolledOut(r) {
			return false
		}
	}
	return u.roleAvailable(&api)
}

func (u *upgrade) contract() {
	u.Event(corev1.EventTypeNormal, v1alpha1.EventDeploymentRolloutComplete, fmt.Sprintf("Deployment rollout complete during upgrade %s to %s", u.installed, u.target))
	u.Ready(v1alpha1.ReasonDeploymentReady, "Nova API deployment is available")
	u.Again(nextPass)
	u.Stop(v1alpha1.ReasonContractInProgress)
}

func (u *upgrade) complete() {
	u.recordJob(v1alpha1.JobSubjectDBContract, u.job)
	u.Event(corev1.EventTypeNormal, v1alpha1.EventUpgradeComplete, fmt.Sprintf("Upgrade complete: %s to %s", u.installed, u.target))
	u.status.InstalledRelease, u.status.TargetRelease = u.target, ""
	u.Ready(v1alpha1.ReasonDatabaseSynced, fmt.Sprintf("Database schema is up to date (upgraded %s to %s)", u.installed, u.target))
	u.HoldAfter(lastProvision, v1alpha1.ReasonDatabaseSynced)
}

// checkLine is the first line of the expand Job's report.
var checkLine = regexp.MustCompile(`^nova-status upgrade check exit (\d+)`)

// recordCheck tells once how the upgrade check of an expand Job ended.
func (u *upgrade) recordCheck() {
	if u.phase() != v1alpha1.UpgradePhaseExpanding || u.recorded(v1alpha1.JobSubjectDBExpandCheck, u.job) {
		return
	}
	event := render.Event{Type: corev1.EventTypeNormal, Reason: v1alpha1.EventUpgradeCheckCompleted, Message: "nova-status upgrade check exit code unavailable"}
	if m := checkLine.FindStringSubmatch(u.job.Message); m != nil {
		event.Message = "nova-status upgrade check exit " + m[1]
		if m[1] != "0" {
			event.Type, event.Reason = corev1.EventTypeWarning, v1alpha1.EventUpgradeCheckWarnings
		}
	}
	u.Records = append(u.Records, pipeline.Record{
		Subject: v1alpha1.JobSubjectDBExpandCheck, UID: u.job.UID, Events: []render.Event{event},
		Deferred: deferred[v1alpha1.JobSubjectDBExpandCheck],
	})
}

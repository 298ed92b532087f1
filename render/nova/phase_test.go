package nova

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/facts"
	"github.com/c5c3/nova-operator/render/pipeline"
)

// fataler is what testing and rapid have in common here.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// simulation is a cluster that carries decisions out and lets time pass in steps: Jobs
// end, Deployments roll, status writes get lost.
type simulation struct {
	nova   *v1alpha1.Nova
	seen   Observed
	uid    int
	events []string
	// recorded are the events that go out once for a Job.
	recorded []string
	// incarnation is the UID of every Database.
	incarnation string
	// reasons are those DatabaseReady went through.
	reasons []string
}

func newSimulation(t testing.TB) *simulation {
	t.Helper()
	installOnce.Do(func() { installed = install(t) })
	return &simulation{nova: installed.nova.DeepCopy(), seen: installed.seen.clone(), uid: installed.uid}
}

// installed is a simulation that is Ready, which every test starts from.
var (
	installOnce sync.Once
	installed   *simulation
)

func install(t testing.TB) *simulation {
	s := &simulation{nova: parse(t, minimalYAML)}
	s.nova.Generation = 1
	in := Input{Nova: s.nova}
	in.Observed = in.Observed.clone()
	in.assumeInputs()
	s.seen = in.Observed
	for range 40 {
		s.pass(t)
		s.jobs(func(*facts.Job) {}, true)
		s.roll(true)
		s.provision()
	}
	if s.nova.Status.InstalledRelease != "2026.1" || s.condition(v1alpha1.ConditionReady).Status != "True" {
		t.Fatalf("the simulated install is not Ready: %+v", s.nova.Status)
	}
	s.events = nil
	return s
}

// pass decides once and carries the decision out.
func (s *simulation) pass(t fataler) pipeline.Decision {
	before := s.seen
	r := Decide(Input{Nova: s.nova, Observed: s.seen, forms: known})
	s.check(t, r, before)
	for _, gone := range r.Set.Absent {
		if gone.Kind == "Job" {
			delete(s.seen.Jobs, gone.Name)
		}
	}
	for _, o := range r.Set.Desired {
		s.carryOut(o.Content)
	}
	status := statusOf(r)
	status.Conditions = s.nova.Status.Conditions
	for _, c := range r.Conditions {
		status.Conditions = pipeline.Replace(slices.Clone(status.Conditions), c)
	}
	s.nova.Status = status
	for _, e := range r.Events {
		s.events = append(s.events, e.Reason)
	}
	if reason := s.condition(v1alpha1.ConditionDatabaseReady).Reason; len(s.reasons) == 0 || s.reasons[len(s.reasons)-1] != reason {
		s.reasons = append(s.reasons, reason)
	}
	for _, rec := range r.Records {
		for _, e := range rec.Events {
			s.recorded = append(s.recorded, e.Reason)
		}
		if s.nova.Annotations == nil {
			s.nova.Annotations = map[string]string{}
		}
		s.nova.Annotations[v1alpha1.AnnotationLastJobUID(rec.Subject)] = rec.UID
	}
	return r
}

func (s *simulation) carryOut(u *unstructured.Unstructured) {
	name := u.GetName()
	switch u.GetKind() {
	case "Job":
		if _, exists := s.seen.Jobs[name]; !exists {
			s.uid++
			job := facts.RanThrough(u)
			job.UID, job.Complete = fmt.Sprint(s.uid), false
			s.seen.Jobs[name] = job
		}
	case "Deployment":
		live := s.seen.Deployments[name]
		image := imageOf(u)
		release, _, _ := unstructured.NestedString(u.Object, "spec", "template", "metadata", "annotations", v1alpha1.AnnotationInstalledRelease)
		if image+release != live.Image+live.ConfigMap {
			live.Generation++
			live.Image, live.ConfigMap, live.Replicas = image, release, new(int32(1))
			live.UpdatedReplicas = 0
		}
		s.seen.Deployments[name] = live
	}
}

func imageOf(u *unstructured.Unstructured) string {
	containers, _, _ := unstructured.NestedSlice(u.Object, "spec", "template", "spec", "containers")
	image, _, _ := unstructured.NestedString(containers[0].(map[string]any), "image")
	return image
}

// check holds what must be true of every decision.
func (s *simulation) check(t fataler, r pipeline.Decision, before Observed) {
	t.Helper()
	image := s.nova.Spec.Image.Reference()
	phase := s.nova.Status.UpgradePhase
	for _, o := range r.Set.Desired {
		name := o.Content.GetName()
		if o.Content.GetKind() == "Deployment" {
			live, exists := before.Deployments[name]
			if !exists || live.Image == image || imageOf(o.Content) == live.Image {
				continue
			}
			synced := before.Jobs["nova-db-sync"]
			inRoll := phase == v1alpha1.UpgradePhaseRollingUpdate
			afterContract := phase == v1alpha1.UpgradePhaseContracting && before.Jobs["nova-db-contract"].Complete
			if !inRoll && !afterContract && (phase != "" || !synced.Complete) {
				t.Fatalf("%s gets image %s in phase %q before its gate (db-sync %+v)", name, image, phase, synced)
			}
			if inRoll {
				s.inOrder(t, name, before)
			}
		}
	}
	if phase != v1alpha1.UpgradePhaseContracting && statusOf(r).UpgradePhase == v1alpha1.UpgradePhaseContracting {
		for _, role := range roles {
			if d := before.Deployments[role.name(s.nova)]; d.Image != image || d.UpdatedReplicas != 1 || d.ObservedGeneration != d.Generation {
				t.Fatalf("the schema contracts while %s is %+v", role.component, d)
			}
		}
	}
}

// inOrder holds that a role takes the new image only behind those before it.
func (s *simulation) inOrder(t fataler, name string, before Observed) {
	for _, role := range roles {
		if role.name(s.nova) == name {
			return
		}
		d := before.Deployments[role.name(s.nova)]
		if d.Image != s.nova.Spec.Image.Reference() || d.UpdatedReplicas != 1 {
			t.Fatalf("%s rolls before %s is through", name, role.component)
		}
	}
}

// jobs ends every running Job, as complete or as changed by f.
func (s *simulation) jobs(f func(*facts.Job), complete bool) {
	for name, j := range s.seen.Jobs {
		if !j.Ended() {
			j.Complete = complete
			if name == "nova-db-inspect" {
				j.Message = emptySchemas
			}
			f(&j)
			s.seen.Jobs[name] = j
		}
	}
}

// roll lets every Deployment, or the first that waits, converge.
func (s *simulation) roll(all bool) {
	for _, role := range roles {
		name := role.name(s.nova)
		d, ok := s.seen.Deployments[name]
		if !ok || d.UpdatedReplicas == 1 && d.ObservedGeneration == d.Generation {
			continue
		}
		d.ObservedGeneration = d.Generation
		d.UpdatedReplicas, d.ReadyReplicas, d.TotalReplicas, d.AvailableReplicas, d.Available = 1, 1, 1, 1, true
		s.seen.Deployments[name] = d
		if !all {
			return
		}
	}
}

func (s *simulation) provision() {
	for _, c := range index.Children {
		switch c.Kind {
		case render.KindDatabase:
			s.seen.Databases[c.Name(s.nova)] = facts.Database{Readiness: facts.Readiness{Ready: true}, UID: cmp.Or(s.incarnation, "1")}
		case render.KindUser:
			s.seen.Users[c.Name(s.nova)] = facts.Readiness{Ready: true}
		case render.KindGrant:
			s.seen.Grants[c.Name(s.nova)] = facts.Readiness{Ready: true}
		}
	}
}

func (s *simulation) condition(name string) (out struct{ Status, Reason string }) {
	for _, c := range s.nova.Status.Conditions {
		if c.Type == name {
			out.Status, out.Reason = string(c.Status), c.Reason
		}
	}
	return out
}

// to edits release and image in one.
func (s *simulation) to(release, tag string) {
	s.nova.Spec.OpenStackRelease, s.nova.Spec.Image.Tag = release, tag
	s.nova.Generation++
}

// reach runs a helpful world up to a phase.
func (s *simulation) reach(t fataler, phase v1alpha1.UpgradePhase) {
	for range 40 {
		if s.nova.Status.UpgradePhase == phase {
			return
		}
		s.pass(t)
		s.jobs(func(*facts.Job) {}, true)
		s.roll(true)
	}
	t.Fatalf("phase %q was not reached", phase)
}

// settle runs a helpful world until nothing moves.
func (s *simulation) settle(t fataler) {
	quiet := 0
	for range 60 {
		r := s.pass(t)
		s.jobs(func(*facts.Job) {}, true)
		s.roll(true)
		if r.Err == nil && s.nova.Status.UpgradePhase == "" && s.condition(v1alpha1.ConditionReady).Status == "True" {
			quiet++
		}
		if quiet == 3 {
			return
		}
	}
}

func TestUpgrade_RunsItsPhasesInOrder(t *testing.T) {
	s := newSimulation(t)
	s.to("2026.2", "2026.2")
	var seen []string
	for range 60 {
		s.pass(t)
		if phase := string(s.nova.Status.UpgradePhase); len(seen) == 0 || seen[len(seen)-1] != phase {
			seen = append(seen, phase)
		}
		s.jobs(func(j *facts.Job) {
			if j.Name == "nova-db-expand" {
				j.Message = "nova-status upgrade check exit 1\n"
			}
		}, true)
		s.roll(false)
	}
	if want := []string{"Expanding", "Migrating", "RollingUpdate", "Contracting", ""}; !slices.Equal(seen, want) {
		t.Errorf("phases %q, want %q", seen, want)
	}
	if s.nova.Status.InstalledRelease != "2026.2" || s.nova.Status.TargetRelease != "" || s.condition(v1alpha1.ConditionReady).Status != "True" {
		t.Errorf("status %+v", s.nova.Status)
	}
	if want := []string{
		v1alpha1.EventUpgradeInitiated, v1alpha1.EventExpandComplete, v1alpha1.EventMigrateComplete,
		v1alpha1.EventDeploymentRolloutComplete, v1alpha1.EventUpgradeComplete,
	}; !slices.Equal(s.events, want) {
		t.Errorf("events %q, want %q", s.events, want)
	}
	if want := []string{
		v1alpha1.ReasonExpandInProgress, v1alpha1.ReasonMigrateInProgress, v1alpha1.ReasonUpgradeRollingUpdate, v1alpha1.ReasonContractInProgress,
		v1alpha1.ReasonDatabaseSynced, v1alpha1.ReasonDBSyncInProgress, v1alpha1.ReasonDatabaseSynced,
	}; !slices.Equal(s.reasons, want) {
		t.Errorf("DatabaseReady said %q, want %q", s.reasons, want)
	}
	if want := []string{v1alpha1.EventUpgradeCheckWarnings, v1alpha1.EventDatabaseSynced, v1alpha1.EventCellsReportUnavailable}; !slices.Equal(s.recorded, want) {
		t.Errorf("recorded %q, want %q", s.recorded, want)
	}
}

// An old pod that lingers, not ready and not gone, still reads what the contract phase
// drops: the upgrade waits for it.
func TestUpgrade_WaitsForAnOldPodThatLingers(t *testing.T) {
	for _, role := range roles {
		t.Run(role.component, func(t *testing.T) {
			s := newSimulation(t)
			name := role.name(s.nova)
			pods := func(total int32) {
				d := s.seen.Deployments[name]
				d.TotalReplicas = total
				s.seen.Deployments[name] = d
			}
			s.to("2026.2", "2026.2")
			for range 20 {
				s.pass(t)
				s.jobs(func(*facts.Job) {}, true)
				s.roll(true)
				pods(2)
			}
			if got := s.nova.Status.UpgradePhase; got != v1alpha1.UpgradePhaseRollingUpdate {
				t.Fatalf("phase %q", got)
			}
			if d := s.seen.Deployments[name]; d.Image != s.nova.Spec.Image.Reference() || d.UpdatedReplicas != 1 || !d.Serves() {
				t.Fatalf("%+v is held by something else", d)
			}
			pods(1)
			s.settle(t)
			if got := s.nova.Status.InstalledRelease; got != "2026.2" {
				t.Errorf("without the pod it ends at %s", got)
			}
		})
	}
}

func TestUpgrade_TellsHowItsCheckEnded(t *testing.T) {
	for report, want := range map[string]struct{ event, message string }{
		"nova-status upgrade check exit 0\n":               {v1alpha1.EventUpgradeCheckCompleted, "nova-status upgrade check exit 0"},
		"nova-status upgrade check exit 1\n":               {v1alpha1.EventUpgradeCheckWarnings, "nova-status upgrade check exit 1"},
		"nova-status upgrade check exit 255\nit crashed\n": {v1alpha1.EventUpgradeCheckWarnings, "nova-status upgrade check exit 255"},
		"Traceback (most recent call last)":                {v1alpha1.EventUpgradeCheckCompleted, "nova-status upgrade check exit code unavailable"},
	} {
		s := newSimulation(t)
		s.to("2026.2", "2026.2")
		s.pass(t)
		s.pass(t)
		s.jobs(func(j *facts.Job) { j.Message = report }, true)
		r := s.pass(t)
		i := slices.IndexFunc(r.Records, func(rec pipeline.Record) bool { return rec.Subject == v1alpha1.JobSubjectDBExpandCheck })
		if i < 0 {
			t.Errorf("%q: nothing recorded", report)
			continue
		}
		rec := r.Records[i]
		if rec.Counted || rec.Events[0].Reason != want.event || rec.Events[0].Message != want.message || rec.Deferred != v1alpha1.EventUpgradeCheckEventEmissionDeferred {
			t.Errorf("%q: recorded %+v", report, rec)
		}
	}
}

func TestUpgrade_AbortsFromEveryPhase(t *testing.T) {
	for _, phase := range []v1alpha1.UpgradePhase{v1alpha1.UpgradePhaseExpanding, v1alpha1.UpgradePhaseMigrating, v1alpha1.UpgradePhaseRollingUpdate, v1alpha1.UpgradePhaseContracting} {
		t.Run(string(phase), func(t *testing.T) {
			s := newSimulation(t)
			s.to("2026.2", "2026.2")
			s.reach(t, phase)
			s.to("2026.1", "2026.1")
			s.settle(t)
			if s.nova.Status.UpgradePhase != "" || s.nova.Status.TargetRelease != "" || s.nova.Status.InstalledRelease != "2026.1" {
				t.Errorf("status %+v", s.nova.Status)
			}
			if !slices.Contains(s.reasons, v1alpha1.ReasonUpgradeAborting) {
				t.Errorf("DatabaseReady said %q", s.reasons)
			}
			if !slices.Contains(s.events, v1alpha1.EventUpgradeAborted) || s.condition(v1alpha1.ConditionReady).Status != "True" {
				t.Errorf("events %q, Ready %v", s.events, s.condition(v1alpha1.ConditionReady))
			}
			for _, name := range []string{"nova-db-expand", "nova-db-migrate", "nova-db-contract"} {
				if _, live := s.seen.Jobs[name]; live {
					t.Errorf("%s would satisfy the next upgrade", name)
				}
			}
		})
	}
}

func TestUpgrade_RefusalsAndTheirWayOut(t *testing.T) {
	cases := map[string]struct {
		release, tag string
		reason       string
		// event is sent once, however often the release is refused.
		event string
	}{
		"an older release":           {"2025.2", "2025.2", v1alpha1.ReasonDowngradeNotSupported, v1alpha1.EventDowngradeNotSupported},
		"a release after the next":   {"2027.1", "2027.1", v1alpha1.ReasonUpgradePathInvalid, v1alpha1.EventUpgradePathInvalid},
		"a release that is none":     {"next", "latest", v1alpha1.ReasonVersionParseError, v1alpha1.EventVersionParseError},
		"a tag of another release":   {"2026.2", "2026.1", v1alpha1.ReasonImageReleaseMismatch, ""},
		"a tag with a patch is fine": {"2026.2", "2026.2-p1", v1alpha1.ReasonExpandInProgress, v1alpha1.EventUpgradeInitiated},
		"a tag without a release":    {"2026.2", "latest", v1alpha1.ReasonExpandInProgress, v1alpha1.EventUpgradeInitiated},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newSimulation(t)
			s.to(tc.release, tc.tag)
			s.pass(t)
			s.pass(t)
			if got := s.condition(v1alpha1.ConditionDatabaseReady).Reason; got != tc.reason {
				t.Errorf("reason %s, want %s", got, tc.reason)
			}
			if got := strings.Join(s.events, ","); got != tc.event {
				t.Errorf("events %q, want %q", got, tc.event)
			}
			s.to("2026.1", "2026.1")
			s.settle(t)
			if s.condition(v1alpha1.ConditionReady).Status != "True" {
				t.Errorf("not Ready after the revert: %+v", s.condition(v1alpha1.ConditionDatabaseReady))
			}
		})
	}
}

// A Database that comes back empty ends no upgrade well. Taken back, db-sync fills it.
func TestUpgrade_AnEmptySchemaIsNeverUpgraded(t *testing.T) {
	for phase, reason := range map[v1alpha1.UpgradePhase]string{
		v1alpha1.UpgradePhaseExpanding:     v1alpha1.ReasonExpandFailed,
		v1alpha1.UpgradePhaseMigrating:     v1alpha1.ReasonMigrateFailed,
		v1alpha1.UpgradePhaseRollingUpdate: v1alpha1.ReasonMigrateFailed,
		v1alpha1.UpgradePhaseContracting:   v1alpha1.ReasonContractFailed,
	} {
		t.Run(string(phase), func(t *testing.T) {
			s := newSimulation(t)
			s.to("2026.2", "2026.2")
			s.reach(t, phase)
			s.incarnation = "2"
			s.provision()
			synced := s.seen.Jobs["nova-db-sync"].UID
			s.settle(t)
			if got := s.condition(v1alpha1.ConditionDatabaseReady).Reason; got != reason || s.nova.Status.InstalledRelease != "2026.1" {
				t.Errorf("reason %s, installed %s", got, s.nova.Status.InstalledRelease)
			}
			s.to("2026.1", "2026.1")
			s.settle(t)
			if s.condition(v1alpha1.ConditionReady).Status != "True" || s.seen.Jobs["nova-db-sync"].UID == synced {
				t.Errorf("not Ready after the revert, or db-sync did not run: %+v", s.condition(v1alpha1.ConditionDatabaseReady))
			}
		})
	}
}

func TestUpgrade_FailedPhaseIsRepairedByItsTemplate(t *testing.T) {
	for child, want := range map[string]struct{ reason, event string }{
		"nova-db-expand":   {v1alpha1.ReasonExpandFailed, v1alpha1.EventExpandFailed},
		"nova-db-migrate":  {v1alpha1.ReasonMigrateFailed, v1alpha1.EventMigrateFailed},
		"nova-db-contract": {v1alpha1.ReasonContractFailed, v1alpha1.EventContractFailed},
	} {
		t.Run(child, func(t *testing.T) {
			s := newSimulation(t)
			s.to("2026.2", "2026.2")
			for range 40 {
				s.pass(t)
				s.jobs(func(j *facts.Job) {
					j.Failed, j.Complete, j.Failure = j.Name == child, j.Name != child, "BackoffLimitExceeded: no"
				}, true)
				s.roll(true)
			}
			if got := s.condition(v1alpha1.ConditionDatabaseReady).Reason; got != want.reason {
				t.Fatalf("reason %s, want %s", got, want.reason)
			}
			if !slices.Contains(s.recorded, want.event) {
				t.Errorf("recorded %q, want %s", s.recorded, want.event)
			}
			s.to("2026.2", "2026.2-p2")
			s.settle(t)
			if s.nova.Status.InstalledRelease != "2026.2" || s.condition(v1alpha1.ConditionReady).Status != "True" {
				t.Errorf("status %+v", s.nova.Status)
			}
		})
	}
}

func TestUpgrade_ThirdReleaseNeitherAdvancesNorRestarts(t *testing.T) {
	s := newSimulation(t)
	s.to("2026.2", "2026.2")
	s.pass(t)
	s.to("2027.1", "2027.1")
	for range 5 {
		s.pass(t)
	}
	if s.nova.Status.UpgradePhase != v1alpha1.UpgradePhaseExpanding || s.nova.Status.TargetRelease != "2026.2" {
		t.Errorf("status %+v", s.nova.Status)
	}
	if got := s.condition(v1alpha1.ConditionDatabaseReady).Reason; got != v1alpha1.ReasonUpgradeTargetChanged {
		t.Errorf("reason %s", got)
	}
	if n := len(slices.DeleteFunc(s.events, func(e string) bool { return e != v1alpha1.EventUpgradeTargetChanged })); n != 1 {
		t.Errorf("%d events for one change", n)
	}
	s.to("2026.2", "2026.2")
	s.settle(t)
	if s.nova.Status.InstalledRelease != "2026.2" {
		t.Errorf("status %+v", s.nova.Status)
	}
}

// Whatever happens on the way, no gate is passed early (see check), and every state
// has a way out: with the release put right and a helpful world it ends Ready.
func TestUpgrade_EveryReachableStateHasAWayOut(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := newSimulation(t)
		releases := []string{"2026.1", "2026.2", "2027.1", "2025.2"}
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			switch rapid.SampledFrom([]string{"pass", "pass", "pass", "complete", "fail", "roll", "edit", "tag", "lost"}).Draw(rt, "step") {
			case "pass":
				s.pass(rt)
			case "complete":
				s.jobs(func(*facts.Job) {}, true)
			case "fail":
				s.jobs(func(j *facts.Job) { j.Failed, j.Complete, j.Failure = true, false, "x" }, false)
			case "roll":
				s.roll(false)
			case "edit":
				r := rapid.SampledFrom(releases).Draw(rt, "release")
				s.to(r, r)
			case "tag":
				s.to(s.nova.Spec.OpenStackRelease, rapid.SampledFrom([]string{"2026.1", "2026.2", "2026.2-p1", "latest"}).Draw(rt, "tag"))
			case "lost":
				before := s.nova.Status
				s.pass(rt)
				s.nova.Status = before
			}
		}
		// A person puts the release right, with an image nobody tried before.
		release := s.nova.Status.InstalledRelease
		if s.nova.Status.UpgradePhase != "" && rapid.Bool().Draw(rt, "forward") {
			release = s.nova.Status.TargetRelease
		}
		s.to(release, release+"-fixed")
		s.settle(rt)
		if s.condition(v1alpha1.ConditionReady).Status != "True" || s.nova.Status.UpgradePhase != "" {
			rt.Fatalf("stuck: %+v, database %+v", s.nova.Status, s.condition(v1alpha1.ConditionDatabaseReady))
		}
	})
}

package nova

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render/pipeline"
	"github.com/c5c3/nova-operator/render/workload"
)

// A Nova without an installed release is new, made anew, or restored without its status. It
// may meet schemas with the servers of a cloud in them, and goes on only from a release
// that somebody knows: a person, in spec.adoptRelease, or the Nova before it, in an
// annotation of the Databases. Where neither says so, a Job looks at the schemas before
// anything writes to them.

// knownRelease is the release the schemas of a Nova without one are at, with who says so;
// empty when nobody does, or not with one voice.
func (p *pass) knownRelease() (release, source string) {
	if p.nova.Spec.AdoptRelease != "" {
		return p.nova.Spec.AdoptRelease, "spec.adoptRelease"
	}
	if said := p.annotated(); len(said) == 1 {
		return said[0], "annotation " + v1alpha1.AnnotationSchemaRelease + " of its Databases"
	}
	return "", ""
}

// annotated are the releases the Databases say, each once.
func (p *pass) annotated() []string {
	said := map[string]bool{}
	for _, d := range p.seen.Databases {
		said[d.Release] = true
	}
	delete(said, "")
	return slices.Sorted(maps.Keys(said))
}

// adoptable holds while nothing is installed and the release of the schemas is known.
func (u *upgrade) adoptable() bool {
	release, _ := u.knownRelease()
	return u.installed == "" && release != ""
}

// adopt takes the release over, once.
func (u *upgrade) adopt() {
	release, source := u.knownRelease()
	u.status.InstalledRelease = release
	message := fmt.Sprintf("The schemas are at release %s (%s); going on from there", release, source)
	u.Event(corev1.EventTypeNormal, v1alpha1.EventReleaseAdopted, message)
	u.turn(v1alpha1.ReasonDBSyncInProgress, message)
}

// unlooked holds until it is known what the schemas of a new Nova hold. A db-sync that is
// there has begun to write, and was let.
func (u *upgrade) unlooked() bool {
	if u.installed != "" {
		return false
	}
	if _, begun := u.seen.Jobs[u.nova.Name+suffixDBSync]; begun {
		return false
	}
	job, there := u.seen.Jobs[u.nova.Name+suffixDBInspect]
	return !there || !u.recorded(v1alpha1.JobSubjectDBInspect, job)
}

// look runs the Job that looks, and judges what it found. Empty schemas are recorded, for
// db-sync leaves tables from its first moment on.
func (u *upgrade) look() {
	said := u.annotated()
	job, state := u.runOnce(childDBInspect)
	switch {
	case len(said) > 1:
		u.refuseUnknown("the Databases say releases " + strings.Join(said, " and "))
		return
	case state == workload.JobRunning:
		u.Wait(v1alpha1.ReasonDBSyncInProgress, "db_inspect job is running: it looks at the schemas before db_sync writes to them", pollDatabase)
	case state == workload.JobFailed:
		u.Fail(v1alpha1.ReasonDBSyncFailed, errors.New("db_inspect job failed: "+job.Failure))
	default:
		found, ok := revisions(job.Message)
		switch {
		case !ok:
			u.Fail(v1alpha1.ReasonDBSyncFailed, fmt.Errorf("db_inspect job reported nothing; delete Job %s to run it again", job.Name))
		case len(found) > 0:
			u.refuseUnknown("the schemas hold tables (" + strings.Join(found, ", ") + ")")
		default:
			u.Records = append(u.Records, pipeline.Record{
				Subject: v1alpha1.JobSubjectDBInspect, UID: job.UID, Deferred: deferred[v1alpha1.JobSubjectDBInspect],
			})
			u.syncSchema()
			return
		}
	}
	u.Hold(childDBSync, "the schemas are not known yet")
}

// refuseUnknown ends the pass before anything is written to schemas of an unknown release.
func (u *upgrade) refuseUnknown(why string) {
	u.Wait(v1alpha1.ReasonSchemaReleaseUnknown, fmt.Sprintf(
		"%s, and their release is not known: set spec.adoptRelease to the release that last ran on them; nothing is changed until then. "+
			"To look again, delete Job %s", why, u.nova.Name+suffixDBInspect), pollDatabase)
	u.Hold(childDBSync, v1alpha1.ReasonSchemaReleaseUnknown)
}

// revisionLine is one line of the report.
var revisionLine = regexp.MustCompile(`^(api_db|db)=([0-9A-Za-z]+)$`)

// emptySchemas is the report about schemas without tables.
const emptySchemas = "api_db=None\ndb=None\n"

// revisions reads a report: which schemas are at a revision. ok is false unless it speaks
// of both.
func revisions(report string) (found []string, ok bool) {
	lines := 0
	for line := range strings.Lines(report) {
		m := revisionLine.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		lines++
		if m[2] != "None" {
			found = append(found, m[1]+" at revision "+m[2])
		}
	}
	return found, lines == 2
}

// noInspection reports a Job this decision says nothing about: that looks at the schemas
// only while nothing is installed, and before the first db-sync. A finished one stays as
// the record of what was found.
func noInspection(p *pass) bool {
	_, begun := p.seen.Jobs[p.nova.Name+suffixDBSync]
	return p.nova.Status.InstalledRelease != "" || begun
}

package nova

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/facts"
	"github.com/c5c3/nova-operator/render/workload"
)

// databaseStep provisions both schemas, API first, then brings them to the release.
func databaseStep(p *pass) {
	if err := checkCell0(p.nova); err != nil {
		p.Refuse(err)
		p.HoldAfter("", "error")
		return
	}
	if !p.unclaimed() || !p.provisioned(provisioning(p)) {
		return
	}
	if p.config.name == "" {
		p.Wait(v1alpha1.ReasonWaitingForConfig, "Waiting for the rendered config before provisioning the database schema", pollDatabase)
		p.HoldAfter(lastProvision, v1alpha1.ReasonWaitingForConfig)
		return
	}
	if !p.advance(stepDatabase) {
		p.Refuse(fmt.Errorf("status.upgradePhase %q is not known to this build", p.nova.Status.UpgradePhase))
		p.HoldAfter(lastProvision, "error")
	}
}

// lastProvision is the last child of the step that is no Job.
const lastProvision = "cell0/grant"

var schemaName = regexp.MustCompile(`^[A-Za-z0-9_]{1,64}$`)

// checkCell0 proves the derived schema before anything is applied, in both modes.
func checkCell0(n *v1alpha1.Nova) error {
	schema := cell0Schema(n)
	switch {
	case !schemaName.MatchString(schema):
		return fmt.Errorf("spec.database.database: derived schema %q must match %s", schema, schemaName)
	case schema == n.Spec.APIDatabase.Database:
		return errors.New("spec.apiDatabase.database must not name the cell0 schema derived from spec.database.database")
	default:
		return nil
	}
}

// provision is one MariaDB object the pass waits for before it makes the next.
type provision struct {
	// child is its id in the index, "" for the server itself.
	child string
	// wanted is false in a mode that does not have it.
	wanted bool
	ready  bool
	reason string
	// message of the wait.
	message string
}

// provisioning lists the waits of both blocks in order.
func provisioning(p *pass) []provision {
	n, seen := p.nova, p.seen
	api, cell := apiBlock(n), cellBlock(n)
	server := func(b dbBlock) provision {
		if !b.spec.Managed() {
			return provision{}
		}
		return provision{
			wanted: true, ready: ready(seen.MariaDBs, b.spec.ClusterRef.Name), reason: v1alpha1.ReasonClusterNotReady,
			message: fmt.Sprintf("MariaDB cluster %q is not ready", b.spec.ClusterRef.Name),
		}
	}
	object := func(child string, wanted bool, list map[string]facts.Readiness, name, message string) provision {
		return provision{child: child, wanted: wanted, ready: ready(list, name), reason: v1alpha1.ReasonWaitingForDatabase, message: message}
	}
	schema := func(child string, wanted bool, name, message string) provision {
		d := seen.Databases[name]
		return provision{child: child, wanted: wanted, ready: d.Ready && !d.Deleting, reason: v1alpha1.ReasonWaitingForDatabase, message: message}
	}
	login := "MariaDB User or Grant CR is not ready"
	return []provision{
		server(api),
		schema("api/database", api.spec.Managed(), api.instance, "MariaDB Database CR is not ready"),
		object("api/user", api.static(), seen.Users, api.instance, login),
		object("api/grant", api.static(), seen.Grants, api.instance, login),
		server(cell),
		schema("cell/database", cell.spec.Managed(), cell.instance, "MariaDB Database CR is not ready"),
		schema("cell0/database", cell.spec.Managed(), cell0Name(n),
			fmt.Sprintf("MariaDB Database CR for schema %q is not ready", cell0Schema(n))),
		object("cell/user", cell.static(), seen.Users, cell.instance, login),
		object("cell/grant", cell.static(), seen.Grants, cell.instance, login),
		object("cell0/grant", cell.static(), seen.Grants, cell0Name(n),
			fmt.Sprintf("MariaDB Grant CR for schema %q is not ready", cell0Schema(n))),
	}
}

func ready(list map[string]facts.Readiness, name string) bool {
	r, ok := list[name]
	return ok && r.Ready && !r.Deleting
}

// provisioned waits at the first object that is not ready and leaves everything
// behind it alone.
func (p *pass) provisioned(order []provision) bool {
	last := ""
	for _, o := range order {
		if o.child != "" {
			last = o.child
		}
		if o.wanted && !o.ready {
			p.Wait(o.reason, o.message, pollDatabase)
			p.HoldAfter(last, o.reason)
			return false
		}
	}
	return true
}

// syncSchema runs db-sync for the current template and promotes the first release.
func (p *pass) syncSchema() {
	job, state := p.runOnce(childDBSync)
	if anew := p.madeAnew(job); anew != "" && state != workload.JobRunning {
		p.Remove(childDBSync, render.Absent{UID: job.UID, Reason: fmt.Sprintf("Database %s was made anew since it ran; the next pass runs it again", anew)})
		p.Wait(v1alpha1.ReasonDBSyncInProgress, fmt.Sprintf("Database %q was made anew since db_sync ran: its schema is empty, and db_sync runs again", anew), nextPass)
		return
	}
	switch state {
	case workload.JobRunning:
		p.Wait(v1alpha1.ReasonDBSyncInProgress, "db_sync job is running", pollDatabase)
	case workload.JobFailed:
		p.recordJob(v1alpha1.JobSubjectDBSync, job, failureEvent(v1alpha1.EventDBSyncFailed, "db_sync job failed: "+job.Failure))
		p.Fail(v1alpha1.ReasonDBSyncFailed, errors.New("db_sync job failed: "+job.Failure))
	case workload.JobDone:
		p.recordSync(job)
		if p.status.InstalledRelease == "" {
			p.status.InstalledRelease = p.nova.Spec.OpenStackRelease
		}
		p.Ready(v1alpha1.ReasonDatabaseSynced, "Database schema is up to date (revision verified)")
	}
}

// cellLine is one line of the db-sync report.
var cellLine = regexp.MustCompile(`^([A-Za-z0-9_-]+)=([0-9a-f-]{36})$`)

// cells parses a db-sync report, cell0 first. Lines that are no cell are dropped.
// Source: nova-manage cell_v2 list_cells.
func cells(report string) []v1alpha1.CellStatus {
	var first, rest []v1alpha1.CellStatus
	for line := range strings.Lines(report) {
		m := cellLine.FindStringSubmatch(strings.TrimSpace(line))
		switch {
		case m == nil:
		case m[1] == "cell0":
			first = append(first, v1alpha1.CellStatus{Name: m[1], UUID: m[2]})
		default:
			rest = append(rest, v1alpha1.CellStatus{Name: m[1], UUID: m[2]})
		}
	}
	return append(first, rest...)
}

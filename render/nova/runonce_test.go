package nova

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render/facts"
)

// Every fact that is recorded once has the event that tells of a record put off.
func TestRecords_TellWhenTheyArePutOff(t *testing.T) {
	want := map[string]string{
		v1alpha1.JobSubjectDBSync:        v1alpha1.EventDBSyncMetricEmissionDeferred,
		v1alpha1.JobSubjectDBInspect:     v1alpha1.EventDBSyncMetricEmissionDeferred,
		v1alpha1.JobSubjectDBExpand:      v1alpha1.EventDBSyncMetricEmissionDeferred,
		v1alpha1.JobSubjectDBMigrate:     v1alpha1.EventDBSyncMetricEmissionDeferred,
		v1alpha1.JobSubjectDBContract:    v1alpha1.EventDBSyncMetricEmissionDeferred,
		v1alpha1.JobSubjectDBSyncCells:   v1alpha1.EventCellsReportEmissionDeferred,
		v1alpha1.JobSubjectDBExpandCheck: v1alpha1.EventUpgradeCheckEventEmissionDeferred,
		v1alpha1.JobSubjectDBArchive:     v1alpha1.EventDBArchiveMetricEmissionDeferred,
	}
	if diff := cmp.Diff(want, deferred); diff != "" {
		t.Error(diff)
	}
}

// A failed archive run is told once, with the Job to look at.
func TestRecords_TellOfAFailedArchiveRun(t *testing.T) {
	in := Input{Nova: parse(t, minimalYAML)}
	in.Observed.ArchiveJobs = []facts.Job{{Name: "nova-db-archive-1", UID: "1", Failed: true}}
	r, _ := Settle(in)
	for _, rec := range r.Records {
		if rec.Subject == v1alpha1.JobSubjectDBArchive {
			if rec.Result != "failed" || len(rec.Events) != 1 || rec.Events[0].Reason != v1alpha1.EventDBArchiveJobFailed {
				t.Errorf("recorded %+v", rec)
			}
			return
		}
	}
	t.Error("the run is not recorded")
}

// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"strings"

	"github.com/robfig/cron/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func validateDBArchive(nova *Nova, spec *field.Path) field.ErrorList {
	archive, path := nova.Spec.DBArchive, spec.Child("dbArchive")
	if archive == nil {
		return nil
	}
	errs := validateSchedule(archive.Schedule, path.Child("schedule"))
	errs = append(errs, atLeast(path.Child("maxRows"), archive.MaxRows, 1, "maxRows must be at least 1")...)
	errs = append(errs, atLeast(path.Child("sleep"), archive.Sleep, 0, "sleep must be non-negative")...)
	return append(errs, atLeast(path.Child("retentionDays"), archive.RetentionDays, 1, "retentionDays must be at least 1")...)
}

// validateSchedule reads a schedule as the CronJob controller does. A time zone in it is
// refused first: a CronJob does not take one, and the parser panics on some.
func validateSchedule(schedule string, path *field.Path) field.ErrorList {
	if schedule == "" {
		return nil
	}
	if strings.Contains(schedule, "TZ") {
		return field.ErrorList{field.Invalid(path, schedule, "invalid cron expression: TZ and CRON_TZ are not supported")}
	}
	if _, err := cron.ParseStandard(schedule); err != nil {
		return field.ErrorList{field.Invalid(path, schedule, "invalid cron expression: "+err.Error())}
	}
	return nil
}

// retentionWarnings tell what the next archive run takes along once a window shrinks.
func retentionWarnings(archive, old *DBArchiveSpec) []string {
	before, after := old.retention(), archive.retention()
	switch {
	case before == 0 || after >= before:
		return nil
	case after == 0:
		return []string{fmt.Sprintf(
			"spec.dbArchive.retentionDays removed (was %d): the next archive run moves every soft-deleted row into the shadow tables, including the ones deleted today", before)}
	default:
		return []string{fmt.Sprintf(
			"spec.dbArchive.retentionDays reduced %d to %d: the next archive run also moves the rows soft-deleted between %d and %d days ago", before, after, after, before)}
	}
}

// retention is the window in days, 0 without one.
func (a *DBArchiveSpec) retention() int32 {
	if a == nil || a.RetentionDays == nil {
		return 0
	}
	return *a.RetentionDays
}

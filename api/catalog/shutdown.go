// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/c5c3/nova-operator/api/catalog/option"
)

// The options that say how long a stopping process may take, both in [DEFAULT].
const (
	gracefulKey = "graceful_shutdown_timeout"
	managerKey  = "manager_shutdown_timeout"
)

// ShutdownTimeout is how long a stopping nova process waits for its work, in seconds:
// graceful_shutdown_timeout as extraConfig gives it, else the default of the release (60
// up to 2025.2, 180 from 2026.1). Zero and a negative value, which wait for ever, and a
// value that is no plain number yield the default, because a pod is killed at some point.
func ShutdownTimeout(release string, extra map[string]map[string]Value) int {
	if seconds, set := seconds(extra, gracefulKey); set && seconds > 0 {
		return seconds
	}
	return factsOf(release).gracefulShutdown
}

// checkShutdown refuses timeouts that let a process die while its manager still waits
// for the work in progress.
func checkShutdown(release string, extra map[string]map[string]Value) []Finding {
	facts := factsOf(release)
	graceful, gracefulSet := seconds(extra, gracefulKey)
	manager, managerSet := seconds(extra, managerKey)
	if facts.managerShutdown == 0 || (!gracefulSet && !managerSet) {
		return nil
	}
	key := gracefulKey
	if !gracefulSet {
		key, graceful = managerKey, facts.gracefulShutdown
	}
	if !managerSet {
		manager = facts.managerShutdown
	}
	if graceful <= 0 || manager < graceful {
		return nil
	}
	return []Finding{{Section: defaultSection, Key: key, Kind: KindValue, Message: fmt.Sprintf(
		"%s (%d) must be less than %s (%d): a process would be killed in the middle of its shutdown",
		managerKey, manager, gracefulKey, graceful)}}
}

// seconds reads a whole number from [DEFAULT]; false when it is absent or not a number.
func seconds(extra map[string]map[string]Value, key string) (int, bool) {
	value, found := extra[defaultSection][key]
	if !found || value.List || len(value.Values) != 1 {
		return 0, false
	}
	number, err := strconv.Atoi(strings.TrimSpace(option.FileText(value.Values[0])))
	return number, err == nil
}

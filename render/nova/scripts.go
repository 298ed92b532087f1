package nova

import _ "embed"

// The shell of the Jobs. Each is run by /bin/sh -eu -c with its own name as $0.
var (
	//go:embed scripts/db-inspect.sh
	dbInspectScript string
	//go:embed scripts/db-sync.sh
	dbSyncScript string
	//go:embed scripts/db-expand.sh
	dbExpandScript string
	//go:embed scripts/db-contract.sh
	dbContractScript string
	//go:embed scripts/db-archive.sh
	dbArchiveScript string
)

// shell is the argv that runs a script with positional arguments.
func shell(name, script string, args ...string) []string {
	return append([]string{"/bin/sh", "-eu", "-c", script, name}, args...)
}

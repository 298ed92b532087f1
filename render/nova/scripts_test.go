package nova

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/nova-operator/render/ini/initest"
)

// stub stands in for nova-manage and nova-status: it keeps the cell map in a file,
// prints it as nova does, refuses calls that nova refuses, and records every call.
// $STATE/exit.<command> holds one exit code per call, the last one repeating.
const stub = `#!/bin/sh
set -u
printf '%s|%s\n' "${0##*/} $*" "${OS_DATABASE__CONNECTION:-}" >>"$STATE/calls"
case "$1 $2" in
"--config-dir /etc/nova/nova.conf.d") shift 2 ;;
*) exit 64 ;;
esac
key=$(printf '%s' "$1-$2" | tr ' /' '__')
rc=0
if [ -f "$STATE/exit.$key" ]; then
	rc=$(head -n 1 "$STATE/exit.$key")
	[ "$(wc -l <"$STATE/exit.$key")" -le 1 ] || sed -i 1d "$STATE/exit.$key"
fi
rule='+-------+--------------------------------------+-----+-----+----------+'
case "$1 $2" in
"api_db sync" | "db sync")
	[ "$rc" -ne 9 ] || { echo "Error: Can't locate revision identified by 'ab450ba04102'"; rc=1; }
	;;
"api_db version" | "db version")
	echo 'a warning of a library'
	[ "$rc" -ne 9 ] || { echo 960aac0e09ea; exit 0; }
	[ "$rc" -ne 0 ] || echo None
	;;
"upgrade check" | "db online_data_migrations" | "db archive_deleted_rows") ;;
"cell_v2 map_cell0")
	[ "$3" = --database_connection ] || exit 64
	grep -q '^cell0|' "$STATE/cells" || echo "cell0|00000000-0000-0000-0000-000000000000|none:///|mysql+pymysql://nova:****@db:3306/nova_cell0?charset=utf8" >>"$STATE/cells"
	;;
"cell_v2 list_cells")
	[ "$rc" -eq 0 ] || { echo 'Traceback (most recent call last):'; exit "$rc"; }
	echo "$rule"
	echo '|  Name |                 UUID                 | Transport URL | Database Connection | Disabled |'
	echo "$rule"
	while IFS='|' read -r name uuid url connection; do
		echo "| $name | $uuid | $url | $connection |  False   |"
	done <"$STATE/cells"
	echo "$rule"
	;;
"cell_v2 create_cell")
	echo "$4|11111111-2222-3333-4444-555555555555|rabbit://nova:****@mq:5672/|mysql+pymysql://nova:****@db:3306/nova?charset=utf8" >>"$STATE/cells"
	;;
*) exit 64 ;;
esac
exit "$rc"
`

// clock is date, except that with CLOCK_STEP each reading of the seconds is that
// much later than the one before.
const clock = `#!/bin/sh
if [ "$*" = +%s ] && [ -n "${CLOCK_STEP:-}" ]; then
	n=$(cat "$STATE/now" 2>/dev/null || echo 0)
	echo $((n + CLOCK_STEP)) >"$STATE/now"
	echo "$n"
else
	exec /usr/bin/date "$@"
fi
`

type scriptRun struct {
	exit        int
	calls       []string
	connections []string
	report      string
}

// runScript runs one script the way the pod does, against the stub.
func runScript(t *testing.T, name, script string, args []string, cells string, exits map[string]string, env ...string) scriptRun {
	t.Helper()
	dir := t.TempDir()
	for _, tool := range []string{"nova-manage", "nova-status"} {
		write(t, filepath.Join(dir, tool), stub, 0o755)
	}
	// The real pause and clock would make the test wait for them.
	write(t, filepath.Join(dir, "sleep"), "#!/bin/sh\necho \"sleep $*|\" >>\"$STATE/calls\"\n", 0o755)
	write(t, filepath.Join(dir, "date"), clock, 0o755)
	write(t, filepath.Join(dir, "cells"), cells, 0o600)
	write(t, filepath.Join(dir, "calls"), "", 0o600)
	for key, codes := range exits {
		write(t, filepath.Join(dir, "exit."+key), codes, 0o600)
	}
	report := filepath.Join(dir, "termination-log")
	argv := shell(name, strings.ReplaceAll(script, "/dev/termination-log", report), args...)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append([]string{"PATH=" + dir + ":/usr/bin:/bin", "STATE=" + dir}, env...)
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	run := scriptRun{}
	if err != nil {
		run.exit = cmd.ProcessState.ExitCode()
	}
	for line := range strings.Lines(read(t, filepath.Join(dir, "calls"))) {
		call, connection, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "|")
		run.calls = append(run.calls, strings.ReplaceAll(call, " --config-dir /etc/nova/nova.conf.d", ""))
		run.connections = append(run.connections, connection)
	}
	if raw, err := os.ReadFile(report); err == nil {
		run.report = string(raw)
	}
	return run
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

const (
	cell0Row = "cell0|00000000-0000-0000-0000-000000000000|none:///|mysql+pymysql://nova:****@db:3306/nova_cell0?charset=utf8\n"
	cell1Row = "cell1|aaaaaaaa-2222-3333-4444-555555555555|rabbit://nova:****@mq:5672/|mysql+pymysql://nova:****@db:3306/other\n"

	mapCell0   = "nova-manage cell_v2 map_cell0 --database_connection {scheme}://{username}:{password}@{hostname}:{port}/nova_cell0?{query}"
	createCell = "nova-manage cell_v2 create_cell --name cell1 --transport-url {scheme}://{username}:{password}@{hostname}:{port}/{path}?{query} --database_connection {scheme}://{username}:{password}@{hostname}:{port}/nova?{query}"
	listCells  = "nova-manage cell_v2 list_cells"
)

func TestDBSync_MapsTheCellOnce(t *testing.T) {
	withCreate := []string{"nova-manage api_db sync", mapCell0, listCells, createCell, "nova-manage db sync", listCells}
	without := []string{"nova-manage api_db sync", mapCell0, listCells, "nova-manage db sync", listCells}
	newCell := "cell1=11111111-2222-3333-4444-555555555555\n"
	zero := "cell0=00000000-0000-0000-0000-000000000000\n"
	cases := map[string]struct {
		cells string
		calls []string
		want  string
	}{
		"an empty database gets both cells":       {"", withCreate, zero + newCell},
		"a second run maps no second cell":        {cell0Row + cell1Row, without, zero + "cell1=aaaaaaaa-2222-3333-4444-555555555555\n"},
		"another name on the schema is the cell":  {cell0Row + "main|bbbbbbbb-2222-3333-4444-555555555555|rabbit://x|mysql+pymysql://nova:****@db:3306/nova?ssl_ca=/a/b\n", without, zero + "main=bbbbbbbb-2222-3333-4444-555555555555\n"},
		"cell0's schema is not the cell's":        {cell0Row, withCreate, zero + newCell},
		"a schema that only ends alike is not it": {cell0Row + "x|bbbbbbbb-2222-3333-4444-555555555555|rabbit://x|mysql+pymysql://u:****@db/supernova\n", withCreate, zero + "x=bbbbbbbb-2222-3333-4444-555555555555\n" + newCell},
		"cell1 in a URL is not the name":          {cell0Row + "x|bbbbbbbb-2222-3333-4444-555555555555|rabbit://cell1:****@cell1:5672/cell1|mysql+pymysql://cell1:****@cell1/other\n", withCreate, zero + "x=bbbbbbbb-2222-3333-4444-555555555555\n" + newCell},
		"a schema named in the query is not it":   {cell0Row + "x|bbbbbbbb-2222-3333-4444-555555555555|rabbit://x|mysql+pymysql://u:****@db/other?ssl_ca=/nova\n", withCreate, zero + "x=bbbbbbbb-2222-3333-4444-555555555555\n" + newCell},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			run := runScript(t, "db-sync", dbSyncScript, []string{"nova"}, tc.cells, nil)
			if diff := cmp.Diff(tc.calls, run.calls); diff != "" {
				t.Error(diff)
			}
			if run.exit != 0 || run.report != tc.want {
				t.Errorf("exit %d, report %q, want %q", run.exit, run.report, tc.want)
			}
		})
	}
}

// The stub's code 9 stands for a schema with tables.
func TestDBInspect_LooksAndWritesNothing(t *testing.T) {
	both := []string{"nova-manage api_db version", "nova-manage db version"}
	for name, tc := range map[string]struct {
		exits  map[string]string
		exit   int
		calls  []string
		report string
	}{
		"empty schemas":    {nil, 0, both, emptySchemas},
		"tables in one":    {map[string]string{"db-version": "9\n"}, 0, both, "api_db=None\ndb=960aac0e09ea\n"},
		"tables in both":   {map[string]string{"api_db-version": "9\n", "db-version": "9\n"}, 0, both, "api_db=960aac0e09ea\ndb=960aac0e09ea\n"},
		"no API database":  {map[string]string{"api_db-version": "1\n"}, 1, both[:1], ""},
		"no cell database": {map[string]string{"db-version": "255\n"}, 255, both, "api_db=None\n"},
	} {
		t.Run(name, func(t *testing.T) {
			run := runScript(t, "db-inspect", dbInspectScript, nil, "", tc.exits)
			if diff := cmp.Diff(tc.calls, run.calls); diff != "" || run.exit != tc.exit || run.report != tc.report {
				t.Errorf("exit %d, report %q %s", run.exit, run.report, diff)
			}
		})
	}
}

func TestDBSync_StopsAtTheFirstFailure(t *testing.T) {
	cases := map[string]struct {
		exits map[string]string
		exit  int
		last  string
	}{
		"the API schema":         {map[string]string{"api_db-sync": "255\n"}, 255, "nova-manage api_db sync"},
		"a failed listing":       {map[string]string{"cell_v2-list_cells": "255\n"}, 255, listCells},
		"a failed create":        {map[string]string{"cell_v2-create_cell": "1\n"}, 1, createCell},
		"the cell schemas":       {map[string]string{"db-sync": "3\n"}, 3, "nova-manage db sync"},
		"the listing at the end": {map[string]string{"cell_v2-list_cells": "0\n7\n"}, 7, listCells},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			run := runScript(t, "db-sync", dbSyncScript, []string{"nova"}, "", tc.exits)
			if run.exit != tc.exit || run.calls[len(run.calls)-1] != tc.last || run.report != "" {
				t.Errorf("exit %d after %q, report %q", run.exit, run.calls[len(run.calls)-1], run.report)
			}
		})
	}
}

// An upgrade that was taken back leaves schemas that the older image doesn't know. The
// stub's code 9 stands for nova-manage's answer to that.
func TestDBSync_LeavesASchemaThatIsAhead(t *testing.T) {
	cases := map[string]map[string]string{
		"the API schema":   {"api_db-sync": "9\n"},
		"the cell schemas": {"db-sync": "9\n"},
		"all":              {"api_db-sync": "9\n", "db-sync": "9\n"},
	}
	for name, exits := range cases {
		t.Run(name, func(t *testing.T) {
			run := runScript(t, "db-sync", dbSyncScript, []string{"nova"}, cell0Row+cell1Row, exits)
			want := []string{"nova-manage api_db sync", mapCell0, listCells, "nova-manage db sync", listCells}
			if diff := cmp.Diff(want, run.calls); diff != "" {
				t.Error(diff)
			}
			if run.exit != 0 || !strings.Contains(run.report, "cell1=") {
				t.Errorf("exit %d, report %q", run.exit, run.report)
			}
		})
	}
}

func TestDBExpand_ReportsTheCheckBeforeActing(t *testing.T) {
	migrations := []string{"nova-manage api_db sync", "nova-manage db sync"}
	cases := map[string]struct {
		code   string
		exit   int
		calls  []string
		report string
	}{
		"passed":   {"0\n", 0, migrations, "nova-status upgrade check exit 0\n"},
		"warnings": {"1\n", 0, migrations, "nova-status upgrade check exit 1\n"},
		"failed":   {"2\n", 2, nil, "nova-status upgrade check exit 2\na check failed; its table is in the log of this pod\n"},
		"crashed":  {"255\n", 255, nil, "nova-status upgrade check exit 255\nthe check crashed before it could judge the deployment; its traceback is in the log of this pod\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			run := runScript(t, "db-expand", dbExpandScript, nil, "", map[string]string{"upgrade-check": tc.code})
			want := append([]string{"nova-status upgrade check"}, tc.calls...)
			if diff := cmp.Diff(want, run.calls); diff != "" {
				t.Error(diff)
			}
			if run.exit != tc.exit || run.report != tc.report {
				t.Errorf("exit %d, report %q", run.exit, run.report)
			}
		})
	}
}

func TestDBContract_LoopsThenRepeatsOnCell0(t *testing.T) {
	batch := "nova-manage db online_data_migrations --max-count 1000"
	cases := map[string]struct {
		codes, connection string
		exit              int
		connections       []string
	}{
		"nothing to do":           {"0\n", "mysql://h/nova?a=b", 0, []string{"mysql://h/nova?a=b", "mysql://h/nova_cell0?a=b"}},
		"no query":                {"0\n", "mysql://h/nova", 0, []string{"mysql://h/nova", "mysql://h/nova_cell0"}},
		"the query keeps slashes": {"0\n", "mysql://h/nova?ssl_ca=/a/b?c", 0, []string{"mysql://h/nova?ssl_ca=/a/b?c", "mysql://h/nova_cell0?ssl_ca=/a/b?c"}},
		"progress, then done":     {"1\n1\n0\n", "c", 0, []string{"c", "c", "c", "c_cell0"}},
		"an error stops it":       {"2\n", "c", 2, []string{"c"}},
		"bad input stops it":      {"1\n127\n", "c", 127, []string{"c", "c"}},
		"an error on cell0":       {"0\n2\n", "c", 2, []string{"c", "c_cell0"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			run := runScript(t, "db-contract", dbContractScript, nil, "", map[string]string{"db-online_data_migrations": tc.codes}, "OS_DATABASE__CONNECTION="+tc.connection)
			if diff := cmp.Diff(tc.connections, run.connections); diff != "" || run.exit != tc.exit {
				t.Errorf("exit %d\n%s", run.exit, diff)
			}
			for _, call := range run.calls {
				if call != batch {
					t.Errorf("unexpected call %q", call)
				}
			}
		})
	}
}

func TestDBArchive_ExitCodesAndWindow(t *testing.T) {
	batch := "nova-manage db archive_deleted_rows --all-cells --max_rows 1000"
	pause := "sleep 7"
	cases := map[string]struct {
		codes, days string
		exit        int
		calls       []string
	}{
		"nothing to archive":                      {"0\n", "", 0, []string{batch}},
		"rows, then nothing":                      {"1\n1\n0\n", "", 0, []string{batch, pause, batch, pause, batch}},
		"an invalid cap fails":                    {"2\n", "", 2, []string{batch}},
		"no API database fails":                   {"1\n3\n", "", 3, []string{batch, pause, batch}},
		"an unparsable date fails":                {"4\n", "", 4, []string{batch}},
		"a crash fails":                           {"255\n", "", 255, []string{batch}},
		"a window adds the date and the task log": {"0\n", "30", 0, []string{batch + " --before DATE --task-log"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			env := []string{"MAX_ROWS=1000", "SLEEP=7"}
			if tc.days != "" {
				env = append(env, "RETENTION_DAYS="+tc.days)
				out, err := exec.Command("date", "-u", "-d", "-"+tc.days+" days", "+%Y-%m-%d").Output()
				if err != nil {
					t.Fatal(err)
				}
				tc.calls[0] = strings.ReplaceAll(tc.calls[0], "DATE", strings.TrimSpace(string(out)))
			}
			run := runScript(t, "db-archive", dbArchiveScript, nil, "", map[string]string{"db-archive_deleted_rows": tc.codes}, env...)
			if diff := cmp.Diff(tc.calls, run.calls); diff != "" || run.exit != tc.exit {
				t.Errorf("exit %d\n%s", run.exit, diff)
			}
		})
	}
}

// An endless backlog ends the run within its budget, as a success: batches start at
// seconds 1000 and 2000 of a clock that jumps; second 3000 is the end.
func TestDBArchive_StopsAtItsBudget(t *testing.T) {
	run := runScript(t, "db-archive", dbArchiveScript, nil, "", map[string]string{"db-archive_deleted_rows": "1\n"},
		"MAX_ROWS=1", "SLEEP=0", "CLOCK_STEP=1000")
	if run.exit != 0 || len(run.calls) != 4 {
		t.Errorf("exit %d after %q, want 0 after two batches and their pauses", run.exit, run.calls)
	}
}

func TestScripts_AreClean(t *testing.T) {
	if _, err := exec.LookPath("shellcheck"); err != nil {
		initest.Missing(t, "shellcheck")
	}
	out, err := exec.Command("shellcheck", "scripts/db-sync.sh", "scripts/db-expand.sh", "scripts/db-contract.sh", "scripts/db-archive.sh").CombinedOutput()
	if err != nil {
		t.Errorf("%s", out)
	}
}

package ini

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var errNoSuchOption = errors.New("no such option")

// reference is string.Template's pattern as oslo.config sets it: `$$`, `$name`,
// `${name}`; a dollar before anything else stays.
var reference = regexp.MustCompile(`\$(\$|[_a-zA-Z][_a-zA-Z0-9.]*|\{[_a-zA-Z][_a-zA-Z0-9.]*\})`)

// decodeEnv is oslo.config's interpolation: `\$` is first read as `$$`, then the
// template is filled. Only my_ip is a known option here.
func decodeEnv(s string) (string, error) {
	if !strings.Contains(s, "$") {
		return s, nil
	}
	var failed error
	out := reference.ReplaceAllStringFunc(strings.ReplaceAll(s, `\$`, "$$"), func(m string) string {
		switch name := strings.Trim(m[1:], "{}"); name {
		case "$":
			return "$"
		case "my_ip":
			return "192.0.2.1"
		default:
			failed = fmt.Errorf("%w: %s", errNoSuchOption, name)
			return ""
		}
	})
	return out, failed
}

// decodeFile adds what the file reader does to a value before interpolation.
func decodeFile(s string) (string, error) {
	s = strings.TrimFunc(s, isPythonSpace)
	if s != "" && s[0] == s[len(s)-1] && strings.HasPrefix(strings.ReplaceAll(s, "'", `"`), `"`) {
		s = s[1:max(1, len(s)-1)]
	}
	return decodeEnv(s)
}

func option(i int) string { return fmt.Sprintf("o%d", i) }

// osloScript registers the options, reads both channels and prints what it got.
const osloScript = `
import json, sys
from oslo_config import cfg
n = int(sys.argv[2])
conf = cfg.ConfigOpts()
conf.register_opts([cfg.StrOpt('my_ip', default='192.0.2.1')] + [cfg.StrOpt('o%d' % i) for i in range(n)])
conf.register_opts([cfg.StrOpt('o%d' % i) for i in range(n)], group='g')
conf(['--config-file', sys.argv[1]], project='x')
print(json.dumps({'file': [conf['o%d' % i] for i in range(n)], 'env': [conf.g['o%d' % i] for i in range(n)]}))
`

type osloRead struct{ File, Env []string }

func runOslo(t *testing.T, python, file string, env []string, n int) osloRead {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.conf")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, "-c", osloScript, path, fmt.Sprint(n))
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("python3: %v", err)
	}
	var got osloRead
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	return got
}

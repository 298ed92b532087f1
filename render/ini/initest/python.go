package initest

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Debian's own interpreter: the packages of `make test-tools` are installed for it.
const python = "/usr/bin/python3"

// Option names one option.
type Option struct{ Group, Name string }

const osloScript = `
import json, sys
from oslo_config import cfg
want = json.load(sys.stdin)
conf = cfg.ConfigOpts()
conf.register_opt(cfg.StrOpt('my_ip', default='192.0.2.1'))
for group, name in want:
    conf.register_opt(cfg.StrOpt(name), group=None if group == 'DEFAULT' else group)
conf(sys.argv[1:], project='x')
print(json.dumps([conf[name] if group == 'DEFAULT' else conf[group][name] for group, name in want]))
`

// Oslo reads options as a nova process does, from the text of a file and from
// variables (NAME=value). An oslo.config that is not installed is Missing.
func Oslo(t testing.TB, file string, env []string, options []Option) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.conf")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	want := make([][2]string, len(options))
	for i, o := range options {
		want[i] = [2]string{o.Group, o.Name}
	}
	var got []string
	Python(t, "oslo_config", osloScript, env, want, &got, "--config-file", path)
	return got
}

// Missing skips a test that compares with a tool of `make test-tools` where that is
// not installed. In CI, which installs it, a missing one fails.
func Missing(t testing.TB, what string) {
	t.Helper()
	const message = "%s is not installed; make test-tools installs it"
	if os.Getenv("CI") != "" {
		t.Fatalf(message, what)
	}
	t.Skipf(message, what)
}

// Python runs a script that reads JSON on standard input and prints JSON. A module
// that is not installed is Missing.
func Python(t testing.TB, module, script string, env []string, in, out any, args ...string) {
	t.Helper()
	if err := exec.Command(python, "-c", "import "+module).Run(); err != nil {
		Missing(t, "Python's "+module)
	}
	stdin, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, append([]string{"-c", script}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin = bytes.NewReader(stdin)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.Output()
	if err != nil {
		t.Fatalf("python3: %v", err)
	}
	if err := json.Unmarshal(stdout, out); err != nil {
		t.Fatal(err)
	}
}

// Package initest reads values the way oslo.config does, for tests: in Go, pinned by
// measured vectors, and by the real library where it is installed.
//
// It shares no code with the encoder it is there to check.
package initest

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// ErrNoSuchOption is what a reference to an unknown option ends a nova process with.
var ErrNoSuchOption = errors.New("no such option")

// MyIP is the value of my_ip, the one option the decoder knows.
const MyIP = "192.0.2.1"

// reference is string.Template's pattern as oslo.config sets it: `$$`, `$name`,
// `${name}`; a dollar before anything else stays.
var reference = regexp.MustCompile(`\$(\$|[_a-zA-Z][_a-zA-Z0-9.]*|\{[_a-zA-Z][_a-zA-Z0-9.]*\})`)

// Env is oslo.config's interpolation of a variable: `\$` is first read as `$$`, then
// the template is filled.
func Env(s string) (string, error) {
	if !strings.Contains(s, "$") {
		return s, nil
	}
	var failed error
	out := reference.ReplaceAllStringFunc(strings.ReplaceAll(s, `\$`, "$$"), func(m string) string {
		switch name := strings.Trim(m[1:], "{}"); name {
		case "$":
			return "$"
		case "my_ip":
			return MyIP
		default:
			failed = fmt.Errorf("%w: %s", ErrNoSuchOption, name)
			return ""
		}
	})
	return out, failed
}

// File adds what the file reader does to a value before interpolation.
func File(s string) (string, error) {
	s = strings.TrimFunc(s, isPythonSpace)
	if s != "" && s[0] == s[len(s)-1] && strings.HasPrefix(strings.ReplaceAll(s, "'", `"`), `"`) {
		s = s[1:max(1, len(s)-1)]
	}
	return Env(s)
}

// isPythonSpace is what str.strip removes.
func isPythonSpace(r rune) bool { return unicode.IsSpace(r) || (r >= 0x1c && r <= 0x1f) }

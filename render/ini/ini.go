// Package ini is the one encoder of values that oslo.config reads, from a file or
// from an OS_<GROUP>__<OPTION> variable, and the one writer of its files.
//
// Input: sections of options. Output: text that oslo.config reads back as the same
// values. It never interprets a value and never logs one.
package ini

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// File is a configuration file: section → option → one value per line. An option
// with several values is written once per value (oslo.config's MultiStrOpt). Values
// are in file form already: Literal made them, or a user wrote them with
// interpolation in mind.
type File map[string]map[string][]string

// Set gives one option its only value, which is encoded so that oslo.config reads
// exactly these bytes back.
func (f File) Set(section, option, value string) {
	f.SetRaw(section, option, Literal(value))
}

// SetRaw gives one option its values in file form: `$name` interpolates.
func (f File) SetRaw(section, option string, values ...string) {
	if f[section] == nil {
		f[section] = map[string][]string{}
	}
	f[section][option] = values
}

// Clone returns an independent copy.
func (f File) Clone() File {
	out := make(File, len(f))
	for section, options := range f {
		out[section] = maps.Clone(options)
	}
	return out
}

// String renders the file: sections sorted, options sorted, `option = value`, one
// blank line between sections.
func (f File) String() string {
	var b strings.Builder
	for i, section := range slices.Sorted(maps.Keys(f)) {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "[%s]\n", section)
		for _, option := range slices.Sorted(maps.Keys(f[section])) {
			for _, value := range f[section][option] {
				b.WriteString(strings.TrimRight(option+" = "+value, " "))
				b.WriteByte('\n')
			}
		}
	}
	return b.String()
}

// Parse reads what String wrote. Lines that are neither a section nor an option are
// dropped, as oslo.config drops comments; options before any section stand under "".
func Parse(text string) File {
	f := File{}
	section := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if name, ok := strings.CutPrefix(line, "["); ok && strings.HasSuffix(name, "]") {
			section = strings.TrimSuffix(name, "]")
			continue
		}
		option, value, ok := strings.Cut(line, "=")
		if option = strings.TrimSpace(option); !ok || option == "" || strings.HasPrefix(option, "#") {
			continue
		}
		if f[section] == nil {
			f[section] = map[string][]string{}
		}
		f[section][option] = append(f[section][option], strings.TrimPrefix(value, " "))
	}
	return f
}

// ControlCharacterError names the first section whose text would break out of its
// line.
type ControlCharacterError struct{ Section string }

// Error never quotes the value: it may be a credential.
func (e *ControlCharacterError) Error() string {
	return fmt.Sprintf("section %q holds a control character in its name, an option or a value", e.Section)
}

// Check looks for line breaks and other control characters, section by section in
// name order. It returns a *ControlCharacterError for the first bad section.
func (f File) Check() error {
	for _, section := range slices.Sorted(maps.Keys(f)) {
		if hasControl(section) {
			return &ControlCharacterError{Section: section}
		}
		for option, values := range f[section] {
			if hasControl(option) || slices.ContainsFunc(values, hasControl) {
				return &ControlCharacterError{Section: section}
			}
		}
	}
	return nil
}

// Env encodes a value for an OS_<GROUP>__<OPTION> variable: a dollar would
// interpolate, everything else is kept.
func Env(value string) string { return strings.ReplaceAll(value, "$", `\$`) }

// Literal encodes a value for a file. Beyond Env, the file reader strips blanks at
// both ends and one level of quotes, so such a value is wrapped in quotes.
func Literal(value string) string {
	encoded := Env(value)
	if encoded == "" {
		return encoded
	}
	first, last := rune(encoded[0]), rune(encoded[len(encoded)-1])
	quoted := (first == '"' || first == '\'') && first == last
	if quoted || strings.TrimFunc(encoded, isPythonSpace) != encoded {
		return `"` + encoded + `"`
	}
	return encoded
}

// isPythonSpace is what str.strip removes: Unicode white space and the four
// information separators.
func isPythonSpace(r rune) bool { return unicode.IsSpace(r) || (r >= 0x1c && r <= 0x1f) }

// hasControl reports any character that ends or corrupts a line of the file.
func hasControl(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) && r != '\t' })
}

package ini

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/c5c3/nova-operator/render/ini/initest"
)

func TestEncode_Vectors(t *testing.T) {
	cases := map[string]struct{ raw, env, file string }{
		"a dollar name":              {`a$b`, `a\$b`, `a\$b`},
		"a dollar that is an option": {`a$my_ip`, `a\$my_ip`, `a\$my_ip`},
		"two dollars":                {`a$$b`, `a\$\$b`, `a\$\$b`},
		"a dollar before a digit":    {`a$1`, `a\$1`, `a\$1`},
		"a trailing dollar":          {`a$`, `a\$`, `a\$`},
		"a braced name":              {`${my_ip}`, `\${my_ip}`, `\${my_ip}`},
		"a backslash before it":      {`x\$y`, `x\\$y`, `x\\$y`},
		"a leading blank":            {` lead`, ` lead`, `" lead"`},
		"a trailing blank":           {`trail `, `trail `, `"trail "`},
		"double quotes":              {`"q"`, `"q"`, `""q""`},
		"single quotes":              {`'q'`, `'q'`, `"'q'"`},
		"a lone quote":               {`"`, `"`, `"""`},
		"percent stays":              {`a%b`, `a%b`, `a%b`},
		"no inline comments":         {`a#b ; c`, `a#b ; c`, `a#b ; c`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Env(tc.raw); got != tc.env {
				t.Errorf("Env(%q) = %q, want %q", tc.raw, got, tc.env)
			}
			if got := Literal(tc.raw); got != tc.file {
				t.Errorf("Literal(%q) = %q, want %q", tc.raw, got, tc.file)
			}
			if got, err := initest.Env(tc.env); err != nil || got != tc.raw {
				t.Errorf("decoding %q = %q, %v, want %q", tc.env, got, err, tc.raw)
			}
			if got, err := initest.File(tc.file); err != nil || got != tc.raw {
				t.Errorf("decoding %q = %q, %v, want %q", tc.file, got, err, tc.raw)
			}
		})
	}
}

// The decoder must fail where oslo.config fails, or the property below proves
// nothing.
func TestDecoder_RefusesWhatOsloConfigRefuses(t *testing.T) {
	cases := map[string]struct{ in, want string }{
		"an unknown option exits":             {`a$b`, ""},
		"two dollars lose one":                {`a$$b`, `a$b`},
		"a known option is its value":         {`a$my_ip`, "a192.0.2.1"},
		"a naive backslash is lost":           {`x\$y`, `x$y`},
		"a dollar before a digit is a dollar": {`a$1`, `a$1`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := initest.Env(tc.in)
			if tc.want == "" {
				if err == nil {
					t.Fatalf("decoding %q = %q, want an error", tc.in, got)
				}
				return
			}
			if err != nil || got != tc.want {
				t.Errorf("decoding %q = %q, %v, want %q", tc.in, got, err, tc.want)
			}
		})
	}
}

var awkward = rapid.StringOfN(rapid.SampledFrom([]rune(`ab$\{}_.1 "'#;=:%@`)), 1, 9, -1)

func TestEncode_RoundTripsAnyCredential(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := rapid.OneOf(awkward, rapid.StringMatching(`[\x20-\x7e\x{a0}-\x{2fff}]{0,40}`)).Draw(t, "raw")
		if got, err := initest.Env(Env(raw)); err != nil || got != raw {
			t.Fatalf("variable: %q came back as %q, %v", raw, got, err)
		}
		if got, err := initest.File(Literal(raw)); err != nil || got != raw {
			t.Fatalf("file: %q came back as %q, %v", raw, got, err)
		}
	})
}

func TestFile_RendersSortedWithRepeatedKeys(t *testing.T) {
	f := File{}
	f.Set("vnc", "enabled", "true")
	f.Set("DEFAULT", "host", "a$b")
	f.SetRaw("pci", "alias", `{"name":"a"}`, `{"name":"b"}`)
	f.Set("api_database", "connection", "")
	want := "[DEFAULT]\nhost = a\\$b\n\n[api_database]\nconnection =\n\n[pci]\nalias = {\"name\":\"a\"}\nalias = {\"name\":\"b\"}\n\n[vnc]\nenabled = true\n"
	if diff := cmp.Diff(want, f.String()); diff != "" {
		t.Error(diff)
	}
}

func TestCheck_NamesTheFirstBadSection(t *testing.T) {
	f := File{"b": {"k": {"v\n[x]"}}, "c": {"k\r": {"v"}}, "a": {"k": {"v"}}}
	var bad *ControlCharacterError
	if err := f.Check(); !errors.As(err, &bad) || bad.Section != "b" {
		t.Errorf("Check() = %v, want section b", err)
	}
	if err := (File{"a": {"k": {"v"}}}).Check(); err != nil {
		t.Errorf("Check() = %v on a clean file", err)
	}
}

// The encoder is for oslo.config, so the real one has the last word where Debian's
// package is installed.
func TestEncode_RealOsloConfigReadsTheSameBytes(t *testing.T) {
	values := rapid.SliceOfN(awkward, 300, 300).Example(7)
	values = append(values, `a$b`, `${my_ip}`, `x\$y`, ` lead`, `trail `, `"q"`, `'q'`, `"`, `a$$b`, `%`, `p,q`, `é$ü`)
	var file strings.Builder
	file.WriteString("[DEFAULT]\n")
	var env []string
	var options []initest.Option
	for i, v := range values {
		name := fmt.Sprintf("o%d", i)
		file.WriteString(name + " = " + Literal(v) + "\n")
		env = append(env, "OS_G__"+strings.ToUpper(name)+"="+Env(v))
		options = append(options, initest.Option{Group: "DEFAULT", Name: name}, initest.Option{Group: "g", Name: name})
	}
	got := initest.Oslo(t, file.String(), env, options)
	for i, v := range values {
		if got[2*i] != v {
			t.Errorf("file: %q came back as %q", v, got[2*i])
		}
		if got[2*i+1] != v {
			t.Errorf("variable: %q came back as %q", v, got[2*i+1])
		}
	}
}

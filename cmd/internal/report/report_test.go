package report

import (
	"bytes"
	"encoding/json"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"github.com/c5c3/nova-operator/cmd/internal/check"
)

// some are findings with what can go wrong in each format.
func some(base string) []Finding {
	return []Finding{
		{
			Severity: Error, Rule: check.RuleSchema, File: filepath.Join(base, "a b,c:d%.yaml"), Line: 3, Column: 5, Document: 1,
			Kind: "Nova", Namespace: "ns", Name: "nova", Path: "spec.region", Message: "100% wrong:\n::error::x, y", Suggestion: "try z",
		},
		{Severity: Warning, Rule: check.RuleCatalog, File: "git:main:deploy/nova.yaml", Document: 2, Message: "hm"},
		{Severity: Error, Rule: check.RuleParse, File: "-", Line: 7, Document: 1, Message: "does not parse"},
		{Severity: Error, Rule: check.RuleParse, File: "-", Line: 9, Document: 2, Message: "does not parse"},
		{Severity: Error, Rule: check.RuleCEL, File: "/elsewhere/x.yaml", Document: 1, Message: "far away", Kustomization: "/elsewhere"},
	}
}

func write(t *testing.T, format, base string, findings []Finding) string {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, format, Report{Findings: findings}, base); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestWrite_GitHubCommandsStayOnTheirLine(t *testing.T) {
	base := t.TempDir()
	want := strings.Join([]string{
		"::error file=a b%2Cc%3Ad%25.yaml,line=3,col=5,title=nova-operator schema::Nova/nova: spec.region: 100%25 wrong: ::error::x, y; try z",
		"::warning file=deploy/nova.yaml,title=nova-operator catalog::hm",
		"::error line=7,title=nova-operator parse::does not parse",
		"::error line=9,title=nova-operator parse::does not parse",
		"::error file=/elsewhere/x.yaml,title=nova-operator cel::far away (built by /elsewhere)",
		"",
	}, "\n")
	if diff := cmp.Diff(want, write(t, "github", base, some(base))); diff != "" {
		t.Error(diff)
	}
}

// TestWrite_SARIFIsWhatCodeHostsTake holds the output against what GitHub documents for
// an upload: the version, unique rules, each result with rule, level, text, a relative
// URI and a start line.
func TestWrite_SARIFIsWhatCodeHostsTake(t *testing.T) {
	base := t.TempDir()
	var log map[string]any
	if err := json.Unmarshal([]byte(write(t, "sarif", base, some(base))), &log); err != nil {
		t.Fatal(err)
	}
	if log["version"] != "2.1.0" || !strings.HasSuffix(log["$schema"].(string), "sarif-2.1.0.json") {
		t.Errorf("version %v, schema %v", log["version"], log["$schema"])
	}
	runs := log["runs"].([]any)
	if len(runs) != 1 {
		t.Fatalf("%d runs", len(runs))
	}
	run := runs[0].(map[string]any)
	driver := run["tool"].(map[string]any)["driver"].(map[string]any)
	rules := map[string]int{}
	for i, rule := range driver["rules"].([]any) {
		id := rule.(map[string]any)["id"].(string)
		if _, twice := rules[id]; twice || id == "" || len(id) > 255 {
			t.Errorf("rule %d has the id %q, or it is there twice", i, id)
		}
		rules[id] = i
		for _, name := range []string{"shortDescription", "help"} {
			if text, _ := rule.(map[string]any)[name].(map[string]any)["text"].(string); text == "" {
				t.Errorf("rule %s has no %s", id, name)
			}
		}
	}
	var uris []string
	prints := map[string]bool{}
	for i, result := range run["results"].([]any) {
		r := result.(map[string]any)
		if at, known := rules[r["ruleId"].(string)]; !known || float64(at) != r["ruleIndex"] {
			t.Errorf("result %d: rule %v at %v", i, r["ruleId"], r["ruleIndex"])
		}
		if !regexp.MustCompile("^(error|warning|note)$").MatchString(r["level"].(string)) {
			t.Errorf("result %d: level %v", i, r["level"])
		}
		if r["message"].(map[string]any)["text"] == "" {
			t.Errorf("result %d has no text", i)
		}
		locations := r["locations"].([]any)
		if len(locations) != 1 {
			t.Fatalf("result %d: %d locations", i, len(locations))
		}
		physical := locations[0].(map[string]any)["physicalLocation"].(map[string]any)
		if line := physical["region"].(map[string]any)["startLine"].(float64); line < 1 {
			t.Errorf("result %d starts at line %v", i, line)
		}
		uri := physical["artifactLocation"].(map[string]any)["uri"].(string)
		parsed, err := url.Parse(uri)
		if err != nil || parsed.IsAbs() {
			t.Errorf("result %d: URI %q: %v", i, uri, err)
		}
		uris = append(uris, path.Clean(parsed.Path))
		for _, print := range r["partialFingerprints"].(map[string]any) {
			if prints[print.(string)] {
				t.Errorf("result %d has the fingerprint of another", i)
			}
			prints[print.(string)] = true
		}
	}
	want := []string{"a b,c:d%.yaml", "deploy/nova.yaml", "stdin", "stdin", "/elsewhere/x.yaml"}
	if diff := cmp.Diff(want, uris); diff != "" {
		t.Error(diff)
	}
}

// The schema of the standard takes it, and its types hold all of it.
func TestWrite_SARIFIsValid(t *testing.T) {
	base := t.TempDir()
	for name, findings := range map[string][]Finding{"findings": some(base), "none": nil} {
		t.Run(name, func(t *testing.T) {
			text := write(t, "sarif", base, findings)
			decoder := json.NewDecoder(strings.NewReader(text))
			decoder.DisallowUnknownFields()
			if err := decoder.Decode(&sarif.Report{}); err != nil {
				t.Error(err)
			}
			log, err := sarif.FromString(text)
			if err != nil {
				t.Fatal(err)
			}
			// Its types write these where nobody gave them.
			log.Runs[0].Language, log.Runs[0].Tool.Driver.Language, log.Runs[0].NewlineSequences = "en", "en", []string{"\n"}
			if len(log.Runs) != 1 || len(log.Runs[0].Results) != len(findings) {
				t.Errorf("runs %+v", log.Runs)
			}
			if err := log.Validate(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestWrite_GitLabTakesEveryIssue(t *testing.T) {
	base := t.TempDir()
	var issues []struct {
		Description, Fingerprint, Severity string
		CheckName                          string `json:"check_name"`
		Location                           struct {
			Path  string
			Lines struct{ Begin int }
		}
	}
	if err := json.Unmarshal([]byte(write(t, "gitlab", base, some(base))), &issues); err != nil {
		t.Fatal(err)
	}
	prints := map[string]bool{}
	for i, issue := range issues {
		if issue.Description == "" || issue.CheckName == "" || issue.Location.Path == "" || issue.Location.Lines.Begin < 1 ||
			!regexp.MustCompile("^(info|minor|major|critical|blocker)$").MatchString(issue.Severity) || prints[issue.Fingerprint] {
			t.Errorf("issue %d: %+v", i, issue)
		}
		prints[issue.Fingerprint] = true
	}
	if len(issues) != len(some(base)) {
		t.Errorf("%d issues", len(issues))
	}
	if got := write(t, "gitlab", base, nil); strings.TrimSpace(got) != "[]" {
		t.Errorf("no findings: %s", got)
	}
}

// TestFingerprints_OutliveMovedLines says when a code host takes a finding for one it
// knows.
func TestFingerprints_OutliveMovedLines(t *testing.T) {
	base := t.TempDir()
	moved := some(base)
	for i := range moved {
		moved[i].Line += 10
	}
	if diff := cmp.Diff(fingerprints(some(base), base), fingerprints(moved, base)); diff != "" {
		t.Error(diff)
	}
	moved[0].Message += "!"
	if fingerprints(moved, base)[0] == fingerprints(some(base), base)[0] {
		t.Error("another finding has the same fingerprint")
	}
}

func TestRelative_StartsAtTheBase(t *testing.T) {
	base := t.TempDir()
	if err := os.Mkdir(filepath.Join(base, "deploy"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Join(base, "deploy"))
	for name, tc := range map[string]struct{ file, want string }{
		"a file of the working directory": {"nova.yaml", "deploy/nova.yaml"},
		"a file above":                    {"../x/nova.yaml", "x/nova.yaml"},
		"an absolute path":                {filepath.Join(base, "x", "nova.yaml"), "x/nova.yaml"},
		"a file outside":                  {"/elsewhere/nova.yaml", "/elsewhere/nova.yaml"},
		"a git revision":                  {"git:v1:x/nova.yaml", "x/nova.yaml"},
		"standard input":                  {"-", "stdin"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, relative(tc.file, base)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWrite_TextIsALineOfPlainText(t *testing.T) {
	got := write(t, "text", "/", []Finding{
		{Severity: Error, Rule: check.RuleSchema, File: "a.yaml", Line: 3, Kind: "Nova", Name: "no\x1b[31mva", Path: "spec", Message: "a\n\x00b\u2028c", Suggestion: "d"},
		{Severity: Warning, Rule: check.RuleParse, File: "a.yaml", Message: "e"},
	})
	if diff := cmp.Diff("a.yaml:3: error: Nova/no [31mva: spec: a b c; d\na.yaml: warning: e\n", got); diff != "" {
		t.Error(diff)
	}
}

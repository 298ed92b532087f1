package operations_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

// promql builds the helper with the engine of Prometheus, once.
var promql = sync.OnceValues(func() (string, error) {
	path, err := filepath.Abs(filepath.Join(root, "bin", "promql"))
	if err != nil {
		return "", err
	}
	cmd := exec.Command("go", "build", "-C", "promql", "-o", path, ".")
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build promql: %w\n%s", err, out)
	}
	return path, nil
})

// ask runs a command of the helper.
func ask(t *testing.T, command string, request, answer any) {
	t.Helper()
	path, err := promql()
	if err != nil {
		t.Fatal(err)
	}
	in, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, command)
	cmd.Stdin = bytes.NewReader(in)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("promql %s: %v\n%s", command, err, &stderr)
	}
	if err := json.Unmarshal(out, answer); err != nil {
		t.Fatal(err)
	}
}

// answer is what promql eval says about a query.
type answer struct {
	Error                      string
	Selectors, Metrics, Labels []string
	Numbers                    int
}

// scrape is one reading of the metrics, at a time that passes faster than the real one.
type scrape struct {
	Seconds int64             `json:"seconds"`
	Target  map[string]string `json:"target"`
	Text    string            `json:"text"`
}

// scrapeInterval is that of the ServiceMonitor, in seconds.
const scrapeInterval = 30

// follow reads the metrics a few times a second until stopped.
func (o *operator) follow(t *testing.T, namespace string) (stop func() []scrape) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan []scrape, 1)
	go func() {
		var all []scrape
		for ctx.Err() == nil {
			if code, text, err := o.get(ctx, "http://"+o.metrics+"/metrics"); err == nil && code == 200 {
				all = append(all, scrape{
					Seconds: int64(len(all)) * scrapeInterval, Text: interesting(text) + "# TYPE up gauge\nup 1\n",
					Target: map[string]string{"job": "nova-operator-metrics", "namespace": namespace, "pod": "nova-operator-0", "service": "nova-operator-metrics"},
				})
			}
			select {
			case <-ctx.Done():
			case <-time.After(250 * time.Millisecond):
			}
		}
		done <- all
	}()
	return func() []scrape {
		cancel()
		return <-done
	}
}

// interesting leaves the metrics of the Go runtime out.
func interesting(text string) string {
	var kept []string
	for line := range strings.SplitSeq(text, "\n") {
		name := strings.TrimPrefix(strings.TrimPrefix(line, "# HELP "), "# TYPE ")
		if line != "" && !strings.HasPrefix(name, "go_") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n") + "\n"
}

// dashboard is the part of Grafana's model that queries.
type dashboard struct {
	UID        string
	Templating struct {
		List []struct {
			Name, Type string
			Query      any
		}
	}
	Panels []struct {
		Title   string
		Type    string
		Targets []struct{ Expr, LegendFormat string }
	}
}

func readDashboard(t *testing.T) dashboard {
	t.Helper()
	raw, err := os.ReadFile(root + "/kustomize/dashboard/nova-operator.json")
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(raw, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// rules are the alerts of kustomize/monitoring.
type rules struct {
	Spec struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr         string
				Labels, Annotations map[string]string
			}
		}
	}
}

const rulesFile = root + "/kustomize/monitoring/rules.yaml"

func readRules(t *testing.T) rules {
	t.Helper()
	raw, err := os.ReadFile(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	var r rules
	if err := yaml.Unmarshal(raw, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// quiet are the queries that no healthy run answers.
var quiet = []string{
	"controller_runtime_webhook_requests_total", // no admission in one namespace
}

var variable = regexp.MustCompile(`\$\w+|\$\{\w+\}`)

// mustAnswer asks every query of the dashboard of what a whole life left behind: each
// gives numbers, and has the labels its legend names.
func mustAnswer(t *testing.T, scrapes []scrape) {
	t.Helper()
	d := readDashboard(t)
	if d.UID != "nova-operator" {
		t.Errorf("uid %s", d.UID)
	}
	type query struct{ title, legend, text string }
	var queries []query
	for _, p := range d.Panels {
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("%s: no query", p.Title)
		}
		for _, target := range p.Targets {
			queries = append(queries, query{p.Title, target.LegendFormat, variable.ReplaceAllString(target.Expr, ".*")})
		}
	}
	labelValues := regexp.MustCompile(`label_values\((.*), (\w+)\)`)
	for _, v := range d.Templating.List {
		if v.Type == "query" {
			found := labelValues.FindStringSubmatch(fmt.Sprint(v.Query))
			if found == nil {
				t.Fatalf("variable %s: %v", v.Name, v.Query)
			}
			queries = append(queries, query{"variable " + v.Name, "{{" + found[2] + "}}", variable.ReplaceAllString(found[1], ".*")})
		}
	}
	texts := make([]string, len(queries))
	for i, q := range queries {
		texts[i] = q.text
	}
	var answers []answer
	ask(t, "eval", map[string]any{"scrapes": scrapes, "queries": texts}, &answers)
	legend := regexp.MustCompile(`\{\{(\w+)\}\}`)
	for i, a := range answers {
		q := queries[i]
		switch {
		case a.Error != "":
			t.Errorf("%s: %s: %s", q.title, q.text, a.Error)
		case slices.Equal(a.Metrics, quiet):
		case a.Numbers == 0:
			t.Errorf("%s: no answer to %s", q.title, q.text)
		default:
			for _, name := range legend.FindAllStringSubmatch(q.legend, -1) {
				if !slices.Contains(a.Labels, name[1]) {
					t.Errorf("%s: the legend wants label %s, there are %v", q.title, name[1], a.Labels)
				}
			}
		}
	}
}

// mustSelect asks for what the alerts select: every selector finds series.
func mustSelect(t *testing.T, scrapes []scrape) {
	t.Helper()
	var texts []string
	for _, g := range readRules(t).Spec.Groups {
		for _, r := range g.Rules {
			texts = append(texts, r.Expr)
		}
	}
	var exprs []answer
	ask(t, "eval", map[string]any{"scrapes": scrapes[:1], "queries": texts}, &exprs)
	var selectors []string
	for i, e := range exprs {
		if e.Error != "" || len(e.Selectors) == 0 {
			t.Errorf("%s: selects %v, %s", texts[i], e.Selectors, e.Error)
		}
		for _, s := range e.Selectors {
			s, _, _ = strings.Cut(s, "[")
			selectors = append(selectors, s)
		}
	}
	var answers []answer
	ask(t, "eval", map[string]any{"scrapes": scrapes, "queries": selectors}, &answers)
	for i, a := range answers {
		if a.Numbers == 0 {
			t.Errorf("an alert selects %s, which is nowhere", selectors[i])
		}
	}
}

func TestRules_FireAsTheirTestsSay(t *testing.T) {
	var report struct {
		Alerts   map[string]int
		Failures []string
	}
	ask(t, "test", map[string]any{"rules": []string{rulesFile}, "tests": []string{"testdata/rules_test.yaml"}}, &report)
	for _, f := range report.Failures {
		t.Error(f)
	}
	var all []string
	for _, g := range readRules(t).Spec.Groups {
		for _, r := range g.Rules {
			all = append(all, r.Alert)
			if report.Alerts[r.Alert] == 0 {
				t.Errorf("no test wants %s to fire", r.Alert)
			}
		}
	}
	slices.Sort(all)
	if tested := slices.Sorted(maps.Keys(report.Alerts)); !slices.Equal(tested, all) {
		t.Errorf("tests of %v, alerts %v", tested, all)
	}
}

// Alerts name reasons that exist, and pages that say what to do.
func TestRules_LeadSomewhere(t *testing.T) {
	reasons := sources(t, root+"/api/v1alpha1")
	listed := regexp.MustCompile(`reason=~"([^"]+)"`)
	for _, g := range readRules(t).Spec.Groups {
		for _, r := range g.Rules {
			for _, found := range listed.FindAllStringSubmatch(r.Expr, -1) {
				for reason := range strings.SplitSeq(found[1], "|") {
					if !strings.Contains(reasons, `= "`+reason+`"`) {
						t.Errorf("%s: no reason %s", r.Alert, reason)
					}
				}
			}
			page, anchor, _ := strings.Cut(r.Annotations["runbook_url"], "#")
			page, ok := strings.CutPrefix(page, "https://github.com/c5c3/nova-operator/blob/main/")
			if !ok || !slices.Contains(anchors(t, filepath.Join(root, page)), anchor) {
				t.Errorf("%s: runbook %s", r.Alert, r.Annotations["runbook_url"])
			}
			if r.Annotations["summary"] == "" || r.Annotations["description"] == "" || r.Labels["severity"] == "" {
				t.Errorf("%s lacks a text or a severity", r.Alert)
			}
		}
	}
	page, err := os.ReadFile(root + "/docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range readRules(t).Spec.Groups {
		for _, r := range g.Rules {
			if !bytes.Contains(page, []byte(r.Alert)) {
				t.Errorf("docs/operations.md does not mention %s", r.Alert)
			}
		}
	}
}

// sources is the text of the Go files of a folder.
func sources(t *testing.T, folder string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(raw)
	}
	return text.String()
}

// anchors are those GitHub gives the headings of a page.
func anchors(t *testing.T, file string) []string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dropped := regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	var out []string
	for line := range strings.SplitSeq(string(raw), "\n") {
		if title := strings.TrimLeft(line, "#"); title != line && strings.HasPrefix(title, " ") {
			out = append(out, strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), ""), " ", "-"))
		}
	}
	return out
}

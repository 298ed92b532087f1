package main

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/template"
	"go.yaml.in/yaml/v3"
)

// testRequest names files: of rules (PrometheusRule objects or promtool's rule files)
// and of unit tests in promtool's format, whose rule_files are not read.
type testRequest struct {
	Rules []string `json:"rules"`
	Tests []string `json:"tests"`
}

// testReport says what was tested and what differs.
type testReport struct {
	// Alerts counts the expected firings of each alert; 0 is a test that wants none.
	Alerts   map[string]int `json:"alerts"`
	Failures []string       `json:"failures"`
}

// rule is an alert.
type rule struct {
	Alert       string            `yaml:"alert"`
	Expr        string            `yaml:"expr"`
	For         model.Duration    `yaml:"for"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

type groups struct {
	Groups []struct {
		Rules []rule `yaml:"rules"`
	} `yaml:"groups"`
}

type testFile struct {
	RuleFiles          []string       `yaml:"rule_files"`
	EvaluationInterval model.Duration `yaml:"evaluation_interval"`
	Tests              []testGroup    `yaml:"tests"`
}

type testGroup struct {
	Name        string         `yaml:"name"`
	Interval    model.Duration `yaml:"interval"`
	InputSeries []struct {
		Series string `yaml:"series"`
		Values string `yaml:"values"`
	} `yaml:"input_series"`
	AlertRuleTest []struct {
		EvalTime  model.Duration `yaml:"eval_time"`
		Alertname string         `yaml:"alertname"`
		ExpAlerts []firing       `yaml:"exp_alerts"`
	} `yaml:"alert_rule_test"`
}

// firing is an alert that fires: its labels without the name, and its texts.
type firing struct {
	Labels      map[string]string `yaml:"exp_labels"`
	Annotations map[string]string `yaml:"exp_annotations"`
}

func test(request testRequest) (testReport, error) {
	report := testReport{Alerts: map[string]int{}}
	rules := map[string]rule{}
	for _, name := range request.Rules {
		if err := readRules(name, rules); err != nil {
			return report, fmt.Errorf("%s: %w", name, err)
		}
	}
	for _, name := range request.Tests {
		var file testFile
		if err := readYAML(name, &file, true); err != nil {
			return report, err
		}
		interval := time.Duration(file.EvaluationInterval)
		if interval == 0 {
			interval = time.Minute
		}
		for _, group := range file.Tests {
			failures, err := group.run(rules, interval, report.Alerts)
			if err != nil {
				return report, fmt.Errorf("%s: %s: %w", name, group.Name, err)
			}
			for _, f := range failures {
				report.Failures = append(report.Failures, fmt.Sprintf("%s: %s: %s", filepath.Base(name), group.Name, f))
			}
		}
	}
	return report, nil
}

func readRules(name string, into map[string]rule) error {
	var file struct {
		groups `yaml:",inline"`
		Spec   groups `yaml:"spec"`
	}
	if err := readYAML(name, &file, false); err != nil {
		return err
	}
	for _, g := range slices.Concat(file.Groups, file.Spec.Groups) {
		for _, r := range g.Rules {
			if _, err := language.ParseExpr(r.Expr); err != nil {
				return fmt.Errorf("%s: %w", r.Alert, err)
			}
			into[r.Alert] = r
		}
	}
	return nil
}

func readYAML(name string, into any, strict bool) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	decoder := yaml.NewDecoder(file)
	decoder.KnownFields(strict)
	return decoder.Decode(into)
}

// run evaluates the rules on the series of one test.
func (g testGroup) run(rules map[string]rule, every time.Duration, tested map[string]int) ([]string, error) {
	data := newMemory()
	for _, in := range g.InputSeries {
		name, values, err := language.ParseSeriesDesc(in.Series + " " + in.Values)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", in.Series, err)
		}
		for i, v := range values {
			if !v.Omitted {
				data.add(name, int64(i)*time.Duration(g.Interval).Milliseconds(), v.Value)
			}
		}
	}
	engine := newEngine()
	var failures []string
	for _, want := range g.AlertRuleTest {
		r, ok := rules[want.Alertname]
		if !ok {
			return nil, fmt.Errorf("no alert %s", want.Alertname)
		}
		tested[want.Alertname] += len(want.ExpAlerts)
		got, err := r.fire(engine, data, every, time.Duration(want.EvalTime))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.Alert, err)
		}
		if a, b := show(want.ExpAlerts), show(got); a != b {
			failures = append(failures, fmt.Sprintf("%s at %s:\nwant %s\ngot  %s", r.Alert, want.EvalTime, a, b))
		}
	}
	return failures, nil
}

// fire evaluates a rule from the start, as Prometheus does, and returns what fires at
// the end.
func (r rule) fire(engine *promql.Engine, data *memory, every, until time.Duration) ([]firing, error) {
	since := map[string]time.Duration{}
	var fires []firing
	for at := time.Duration(0); at <= until; at += every {
		vector, err := instant(engine, data, r.Expr, time.UnixMilli(at.Milliseconds()))
		if err != nil {
			return nil, err
		}
		active := map[string]time.Duration{}
		fires = nil
		for _, s := range vector {
			f, err := r.texts(s, at)
			if err != nil {
				return nil, err
			}
			key := labels.FromMap(f.Labels).String()
			start, known := since[key]
			if !known {
				start = at
			}
			active[key] = start
			if at-start >= time.Duration(r.For) {
				fires = append(fires, f)
			}
		}
		since = active
	}
	return fires, nil
}

// texts fills labels and annotations of a rule in.
func (r rule) texts(s promql.Sample, at time.Duration) (firing, error) {
	f := firing{Labels: s.Metric.Map(), Annotations: map[string]string{}}
	delete(f.Labels, model.MetricNameLabel)
	data := template.AlertTemplateData(maps.Clone(f.Labels), nil, "", s)
	expand := func(text string) (string, error) {
		return template.NewTemplateExpander(context.Background(), "{{$labels := .Labels}}{{$value := .Value}}"+text, r.Alert, data,
			model.Time(at.Milliseconds()), nil, &url.URL{}, nil).Expand()
	}
	for _, into := range []struct{ from, to map[string]string }{{r.Labels, f.Labels}, {r.Annotations, f.Annotations}} {
		for name, text := range into.from {
			value, err := expand(text)
			if err != nil {
				return f, err
			}
			into.to[name] = value
		}
	}
	return f, nil
}

// show prints firings in one order.
func show(list []firing) string {
	lines := make([]string, len(list))
	for i, f := range list {
		lines[i] = fmt.Sprintf("%v %v", f.Labels, f.Annotations)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n     ")
}

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

// evalRequest is scraped metrics and what to ask of them.
type evalRequest struct {
	Scrapes []scrape `json:"scrapes"`
	// Queries are asked at the time of each scrape.
	Queries []string `json:"queries"`
}

// scrape is one answer of a target.
type scrape struct {
	Seconds int64 `json:"seconds"`
	// Target are the labels of the target; those of a metric win, as honorLabels has it.
	Target map[string]string `json:"target"`
	// Text is the exposition.
	Text string `json:"text"`
}

// answer is what one query gave.
type answer struct {
	// Error is set for a query that does not parse or fails.
	Error string `json:"error,omitempty"`
	// Selectors are the parts of the query that read metrics, Metrics their names.
	Selectors []string `json:"selectors"`
	Metrics   []string `json:"metrics"`
	// Numbers counts the series with a number, over all times; Labels are the names of
	// their labels.
	Numbers int      `json:"numbers"`
	Labels  []string `json:"labels"`
}

func eval(request evalRequest) ([]answer, error) {
	data := newMemory()
	var times []time.Time
	for _, s := range request.Scrapes {
		if err := data.scrape(s); err != nil {
			return nil, err
		}
		times = append(times, time.Unix(s.Seconds, 0))
	}
	engine := newEngine()
	answers := make([]answer, len(request.Queries))
	for i, q := range request.Queries {
		answers[i] = ask(engine, data, q, times)
	}
	return answers, nil
}

// scrape adds an exposition.
func (m *memory) scrape(s scrape) error {
	decoder := &expfmt.SampleDecoder{
		Dec:  expfmt.NewDecoder(bytes.NewReader([]byte(s.Text)), expfmt.NewFormat(expfmt.TypeTextPlain)),
		Opts: &expfmt.DecodeOptions{Timestamp: model.TimeFromUnix(s.Seconds)},
	}
	for {
		var batch model.Vector
		if err := decoder.Decode(&batch); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read the exposition: %w", err)
		}
		for _, sample := range batch {
			l := maps.Clone(s.Target)
			for name, value := range sample.Metric {
				l[string(name)] = string(value)
			}
			m.add(labels.FromMap(l), s.Seconds*1000, float64(sample.Value))
		}
	}
}

// ask evaluates one query at every time.
func ask(engine *promql.Engine, data *memory, query string, times []time.Time) answer {
	expr, err := language.ParseExpr(query)
	if err != nil {
		return answer{Error: err.Error()}
	}
	a := answer{}
	a.Selectors, a.Metrics = selected(expr)
	names := map[string]bool{}
	for _, at := range times {
		vector, err := instant(engine, data, query, at)
		if err != nil {
			a.Error = err.Error()
			return a
		}
		for _, s := range vector {
			if !math.IsNaN(s.F) {
				a.Numbers++
				s.Metric.Range(func(l labels.Label) { names[l.Name] = true })
			}
		}
	}
	a.Labels = slices.Sorted(maps.Keys(names))
	return a
}

// instant evaluates a query at one moment; a number counts as a series without labels.
func instant(engine *promql.Engine, data *memory, query string, at time.Time) (promql.Vector, error) {
	q, err := engine.NewInstantQuery(context.Background(), data, nil, query, at)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	result := q.Exec(context.Background())
	if result.Err != nil {
		return nil, result.Err
	}
	if s, ok := result.Value.(promql.Scalar); ok {
		return promql.Vector{{T: s.T, F: s.V}}, nil
	}
	vector, err := result.Vector()
	if err != nil {
		return nil, err
	}
	return slices.Clone(vector), nil
}

// selected lists what a query reads.
func selected(expr parser.Expr) (selectors, metrics []string) {
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		if selector, ok := node.(*parser.VectorSelector); ok {
			selectors = append(selectors, selector.String())
			metrics = append(metrics, selector.Name)
		}
		return nil
	})
	return selectors, metrics
}

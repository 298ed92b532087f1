package main

import (
	"context"
	"slices"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// memory holds samples by series. It implements storage.Queryable.
type memory struct {
	series map[string]*samples
}

type samples struct {
	labels labels.Labels
	list   []chunks.Sample
}

// sample is a number at a time in milliseconds. It implements chunks.Sample.
type sample struct {
	time  int64
	value float64
}

// T implements chunks.Sample, as do the rest.
func (s sample) T() int64                    { return s.time }
func (sample) ST() int64                     { return 0 }
func (s sample) F() float64                  { return s.value }
func (sample) H() *histogram.Histogram       { return nil }
func (sample) FH() *histogram.FloatHistogram { return nil }
func (sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample         { return s }

func newMemory() *memory { return &memory{series: map[string]*samples{}} }

// add appends a sample; the times of a series grow.
func (m *memory) add(l labels.Labels, milliseconds int64, value float64) {
	key := l.String()
	s := m.series[key]
	if s == nil {
		s = &samples{labels: l}
		m.series[key] = s
	}
	s.list = append(s.list, sample{milliseconds, value})
}

// Querier implements storage.Queryable.
func (m *memory) Querier(int64, int64) (storage.Querier, error) { return querier{m}, nil }

type querier struct{ memory *memory }

// Select implements storage.Querier.
func (q querier) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	set := &seriesSet{}
	for _, s := range q.memory.series {
		if matches(s.labels, matchers) {
			set.series = append(set.series, storage.NewListSeries(s.labels, s.list))
		}
	}
	slices.SortFunc(set.series, func(a, b storage.Series) int { return labels.Compare(a.Labels(), b.Labels()) })
	return set
}

func matches(l labels.Labels, matchers []*labels.Matcher) bool {
	for _, m := range matchers {
		if !m.Matches(l.Get(m.Name)) {
			return false
		}
	}
	return true
}

// LabelValues implements storage.Querier; the engine asks for none.
func (querier) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

// LabelNames implements storage.Querier; the engine asks for none.
func (querier) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

// Close implements storage.Querier.
func (querier) Close() error { return nil }

type seriesSet struct {
	series []storage.Series
	next   int
}

// Next implements storage.SeriesSet.
func (s *seriesSet) Next() bool { s.next++; return s.next <= len(s.series) }

// At implements storage.SeriesSet.
func (s *seriesSet) At() storage.Series { return s.series[s.next-1] }

// Err implements storage.SeriesSet.
func (*seriesSet) Err() error { return nil }

// Warnings implements storage.SeriesSet.
func (*seriesSet) Warnings() annotations.Annotations { return nil }

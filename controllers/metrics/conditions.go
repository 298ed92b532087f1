package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// conditions exposes the conditions of every resource.
var conditions = &conditionCollector{seen: map[resource]exposed{}}

// conditionDesc has one series a condition. The reason is a label of it, so a new
// reason ends the series and starts another: alerts that wait drop that label first. The
// pool is empty, which is as good as absent, for a Nova.
var conditionDesc = prometheus.NewDesc("nova_operator_condition",
	"State of a condition: 1 while it is True, 0 otherwise. The reason is the one of now.",
	[]string{"nova", "pool", "namespace", "condition_type", "reason"}, nil)

// Series names a resource in labels.
type Series struct {
	Kind, Namespace, Name string
	// Nova is the Nova itself, or the one a pool belongs to. Pool is empty for a Nova.
	Nova, Pool string
}

type resource struct {
	kind string
	types.NamespacedName
}

func (s Series) resource() resource {
	return resource{s.Kind, types.NamespacedName{Namespace: s.Namespace, Name: s.Name}}
}

// exposed is what is exposed about one resource.
type exposed struct {
	Series
	states []conditionState
}

type conditionState struct {
	kind, reason string
	value        float64
}

// conditionCollector holds the states of now. It is no vector, because there a scrape
// could meet a condition between two reasons: with both, or with none.
type conditionCollector struct {
	mu   sync.Mutex
	seen map[resource]exposed
}

// SetConditions replaces what is exposed about the conditions of a resource.
func SetConditions(s Series, list []metav1.Condition) {
	states := make([]conditionState, len(list))
	for i, c := range list {
		states[i] = conditionState{kind: c.Type, reason: c.Reason}
		if c.Status == metav1.ConditionTrue {
			states[i].value = 1
		}
	}
	conditions.mu.Lock()
	defer conditions.mu.Unlock()
	conditions.seen[s.resource()] = exposed{s, states}
}

func (c *conditionCollector) forget(r resource) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.seen, r)
}

// Describe implements prometheus.Collector.
func (c *conditionCollector) Describe(ch chan<- *prometheus.Desc) { ch <- conditionDesc }

// Collect implements prometheus.Collector.
func (c *conditionCollector) Collect(ch chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.seen {
		for _, s := range e.states {
			ch <- prometheus.MustNewConstMetric(conditionDesc, prometheus.GaugeValue, s.value, e.Nova, e.Pool, e.Namespace, s.kind, s.reason)
		}
	}
}

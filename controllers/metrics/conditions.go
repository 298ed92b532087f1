package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// conditions exposes the conditions of every Nova.
var conditions = &conditionCollector{seen: map[resource][]conditionState{}}

// conditionDesc has one series a condition. The reason is a label of it, so a new
// reason ends the series and starts another: alerts that wait drop that label first.
var conditionDesc = prometheus.NewDesc("nova_operator_condition",
	"State of a condition: 1 while it is True, 0 otherwise. The reason is the one of now.",
	[]string{"nova", "namespace", "condition_type", "reason"}, nil)

type resource struct{ namespace, name string }

type conditionState struct {
	kind, reason string
	value        float64
}

// conditionCollector holds the states of now. It is no vector, because there a scrape
// could meet a condition between two reasons: with both, or with none.
type conditionCollector struct {
	mu   sync.Mutex
	seen map[resource][]conditionState
}

// SetConditions replaces what is exposed about the conditions of a Nova.
func SetConditions(namespace, name string, list []metav1.Condition) {
	states := make([]conditionState, len(list))
	for i, c := range list {
		states[i] = conditionState{kind: c.Type, reason: c.Reason}
		if c.Status == metav1.ConditionTrue {
			states[i].value = 1
		}
	}
	conditions.mu.Lock()
	defer conditions.mu.Unlock()
	conditions.seen[resource{namespace, name}] = states
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
	for r, states := range c.seen {
		for _, s := range states {
			ch <- prometheus.MustNewConstMetric(conditionDesc, prometheus.GaugeValue, s.value, r.name, r.namespace, s.kind, s.reason)
		}
	}
}

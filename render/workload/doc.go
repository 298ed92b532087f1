// Package workload holds the rules that the workloads of every kind share: labels,
// generations of a configuration, Jobs that run once, vertical autoscalers, and the health
// of extraConfig.
//
// Input: a pass, and what was observed. Output: children, and what the pass says. It knows
// no kind of custom resource.
package workload

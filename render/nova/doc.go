// Package nova decides what a Nova resource means: which objects should exist, which
// must not, which a closed gate holds, and what the status says about it.
//
// Decide is the whole of it: a pure function of a Nova, an observation and the
// operator's settings. steps.go is the pipeline in its order, children.go the index of
// every object. It reads no cluster, clock, environment or file, and it never changes
// the resource it is given.
package nova

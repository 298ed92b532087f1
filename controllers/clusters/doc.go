// Package clusters knows the target clusters: which are registered, which are engaged,
// and how the Services on them are reached.
package clusters

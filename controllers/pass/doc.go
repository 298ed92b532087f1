// Package pass is the shell around the decisions of any kind: it observes, decides,
// applies, asks, calls and records, and it wakes resources when their world changes.
//
// It holds no rule about what should exist: that is under render/. A kind is a Kind: what it
// reads, and what wakes it. The shell reads through caches, writes children only through
// apply, and writes the status at most once on every way out of a pass.
package pass

// Package diff is the pure part of package apply: what a comparison of two objects finds,
// how an outcome is told, and what kind of failure an answer of the API server is.
//
// Inputs are objects as the API server or a decision holds them, and answers of the API
// server. Outputs are changes, results and typed errors. It asks nobody, draws no key and
// reads no clock. Values of Secrets appear in no error and no change.
package diff

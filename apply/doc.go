// Package apply carries a render.Set out on one cluster: it finds out what differs,
// writes only that, in waves, and prunes last.
//
// Inputs are an Owner, a Set and the live objects, which it reads through the
// caller's cache. Outputs are the cluster's new state and a diff.Report. It knows no
// custom resource and no kind; the few facts about kinds it needs stand in tables
// with their source.
//
// What it promises:
//
//   - An unchanged object costs no request. The test is the memo (what was sent, and
//     what the server made of it), then a comparison through the cluster's own
//     OpenAPI schema, which may only answer "equal". Everything else is one Apply
//     patch, and the server's answer is the truth.
//   - A wave starts when every object of the waves before it is as desired. One bad
//     object stops later waves, never its neighbours: a workload must not roll onto
//     configuration that was not written.
//   - One rule says what is the owner's, on every cluster and for every kind: what it
//     controls, and what carries its labels and nobody controls. Anything else is neither
//     written to nor deleted, unless a person lets the owner adopt it (AnnotationAdopt).
//   - Prune runs only when everything else succeeded.
//   - Values of Secrets appear in no error, change or log.
//
// It never decides what should exist, never writes status, never waits.
//
// The caller's cache must keep metadata.managedFields: ownership of fields is read
// from there. Objects are read as unstructured, so watch the owned kinds as
// unstructured too, or the cache holds them twice.
package apply

// Package render is the vocabulary in which a decision is written down: the
// objects that should exist, those that must not, those a closed gate holds, and
// the conditions, events and requeue that go with them.
//
// It knows no custom resource and reaches nothing: no client, clock, environment,
// randomness or logging. Packages below it (nova, pod, ini, url) decide; package
// apply carries a Set out on one cluster; the commands print it.
package render

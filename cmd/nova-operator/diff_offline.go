package main

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"slices"

	"github.com/c5c3/nova-operator/cmd/internal/kind"
	"github.com/c5c3/nova-operator/cmd/internal/manifest"
	"github.com/c5c3/nova-operator/cmd/internal/offline"
)

// side reads one state of the manifests. A place that does not exist is empty.
func (o *diffOptions) side(place string, stdin io.Reader, stderr io.Writer) (input, error) {
	in, err := readInput(manifest.Source{Places: []string{place}, Namespace: o.source.Namespace}, stdin, stderr)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNoResources) {
		return input{}, nil
	}
	return in, err
}

// pairUp pairs the resources of both sides, in the order of the kinds and of their names.
func pairUp(before, after input) []offline.Pair {
	var out []offline.Pair
	for _, k := range kind.Table {
		pairs := map[string]offline.Pair{}
		for _, r := range before.of(k) {
			pairs[r.fullName()] = offline.Pair{Kind: k, Before: r.Resource, BeforeSecrets: before.secretsOf(r.Resource)}
		}
		for _, r := range after.of(k) {
			p := pairs[r.fullName()]
			p.Kind, p.After, p.AfterSecrets = k, r.Resource, after.secretsOf(r.Resource)
			pairs[r.fullName()] = p
		}
		for _, name := range slices.Sorted(maps.Keys(pairs)) {
			out = append(out, pairs[name])
		}
	}
	return out
}

// of are the resources of one kind.
func (in *input) of(k kind.Kind) (out []resource) {
	for _, r := range in.resources {
		if row := r.decides(); row != nil && row.GroupVersionKind == k.GroupVersionKind {
			out = append(out, r)
		}
	}
	return out
}

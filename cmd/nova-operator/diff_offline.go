package main

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"slices"

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

// pairUp pairs the Novas of both sides, in the order of their names.
func pairUp(before, after input) []offline.Pair {
	pairs := map[string]offline.Pair{}
	for _, r := range before.resources {
		if r.Nova != nil {
			pairs[sideName(r)] = offline.Pair{Before: r.Nova, BeforeSecrets: before.secretsOf(r.Nova)}
		}
	}
	for _, r := range after.resources {
		if r.Nova != nil {
			p := pairs[sideName(r)]
			p.After, p.AfterSecrets = r.Nova, after.secretsOf(r.Nova)
			pairs[sideName(r)] = p
		}
	}
	var out []offline.Pair
	for _, name := range slices.Sorted(maps.Keys(pairs)) {
		out = append(out, pairs[name])
	}
	return out
}

func sideName(r resource) string { return r.Nova.Namespace + "/" + r.Nova.Name }

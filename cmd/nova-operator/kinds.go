package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/cmd/internal/kind"
	"github.com/c5c3/nova-operator/cmd/internal/manifest"
)

// parseName takes NAME or KIND/NAME apart. A bare name is that of a Nova.
func parseName(text string) (kind.Kind, string, error) {
	name, isNova := text, true
	if before, after, ok := strings.Cut(text, "/"); ok {
		text, name, isNova = before, after, false
	}
	for _, k := range kind.Table {
		if isNova && k.Kind.Kind == v1alpha1.KindNova || strings.EqualFold(text, k.Kind.Kind) {
			return k, name, nil
		}
	}
	return kind.Kind{}, "", fmt.Errorf("%s: this build knows the kinds %s", text, strings.ToLower(strings.Join(kind.Names(), ", ")))
}

// readOne reads the one resource that a place holds, with its status. It is not checked.
func readOne(place string) (*kind.Kind, v1alpha1.Resource, error) {
	u, err := manifest.One(place, kind.Names()...)
	if err != nil {
		return nil, nil, err
	}
	k := kind.Named(u.GetKind())
	r := k.New()
	raw, err := json.Marshal(u.Object)
	if err == nil {
		err = json.Unmarshal(raw, r)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", place, err)
	}
	return k, r, nil
}

// Package kind is what the commands know about each kind of custom resource: a row of the
// table.
package kind

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/facts"
	"github.com/c5c3/nova-operator/render/foresee"
	"github.com/c5c3/nova-operator/render/pipeline"
)

// World is a resource with what was observed, or is assumed, of its world.
type World interface {
	foresee.World
	// Become replaces the resource as a change of its manifest does: the status stays.
	Become(v1alpha1.Resource)
	// AddSecrets lets more Secrets be there, by facts.SecretKey.
	AddSecrets(map[string]facts.SecretData)
	// LoseTarget says why the cluster of the children does not resolve.
	LoseTarget(why string)
	// InUse names the generation of the configuration that the pods read; empty for none.
	InUse() string
	// Document is the observation, to be read or printed as YAML. It may be written to.
	Document() any
	// Secrets are the Secrets in the observation: the document prints none of their values.
	Secrets() map[string]facts.SecretData
	// Mask replaces the credentials in the observation by placeholders with which a decision
	// takes the same turns.
	Mask()
}

// Kind is one row of the table.
type Kind struct {
	pipeline.Kind
	// New returns an empty resource.
	New func() v1alpha1.Resource
	// World returns a resource of whose world nothing was observed. It does not change the
	// resource.
	World func(v1alpha1.Resource, render.Settings) World
	// Look observes the world as a pass of the controller would, past every cache.
	Look func(context.Context, client.Reader, meta.RESTMapper, World) error
}

package kind

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	controllernova "github.com/c5c3/nova-operator/controllers/nova"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/nova"
)

// Table holds the kinds that this build decides about. The others of the group are checked
// only.
var Table = []Kind{
	{
		Kind: nova.About(),
		New:  func() v1alpha1.Resource { return &v1alpha1.Nova{} },
		World: func(r v1alpha1.Resource, settings render.Settings) World {
			return nova.World(r.(*v1alpha1.Nova), settings)
		},
		Look: func(ctx context.Context, reader client.Reader, mapper meta.RESTMapper, w World) error {
			return controllernova.Look(ctx, reader, mapper, w.(*nova.Input))
		},
	},
}

// Named is the row of a kind; nil for one that this build does not decide about.
func Named(name string) *Kind {
	for i := range Table {
		if Table[i].Kind.Kind == name {
			return &Table[i]
		}
	}
	return nil
}

// Names lists the kinds of the table.
func Names() (names []string) {
	for i := range Table {
		names = append(names, Table[i].Kind.Kind)
	}
	return names
}

package nova

import (
	"cmp"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render/facts"
)

// DatabaseClaim is a Database object that is no child of a Nova, as it bears on its
// schemas.
type DatabaseClaim struct {
	Name, Server, Schema string
	Created              metav1.Time
}

// Claims says what others claim of the schemas of a Nova: other Novas, of which the one
// made first has the claim, and Database objects, which have it unless the Nova's own is
// older. made is when its own Database object of a name was made; zero for one that is not
// there.
func Claims(n *v1alpha1.Nova, novas []v1alpha1.Nova, databases []DatabaseClaim, made func(name string) metav1.Time) (claims []facts.SchemaClaim) {
	for i := range novas {
		other := &novas[i]
		if other.UID == n.UID && n.UID != "" || other.Namespace == n.Namespace && other.Name == n.Name {
			continue
		}
		for _, s := range n.SharedSchemas(other) {
			holder := "Nova " + other.Name
			if other.Namespace != n.Namespace {
				holder = "a Nova of another namespace"
			}
			claims = append(claims, facts.SchemaClaim{Holder: holder, Schema: s.String(), Path: s.Path, First: older(other, n)})
		}
	}
	own := map[string]string{apiSchema(n): n.Name + suffixAPIDatabase, cellSchema(n): n.Name, cell0Schema(n): cell0Name(n)}
	for _, d := range databases {
		for _, s := range n.Schemas() {
			if !s.Managed || d.Server != s.Server || d.Schema != s.Name {
				continue
			}
			ours := made(own[s.Name])
			claims = append(claims, facts.SchemaClaim{
				Holder: "Database " + d.Name, Schema: s.String(), Path: s.Path, First: ours.IsZero() || d.Created.Before(&ours),
			})
		}
	}
	return claims
}

// older reports whether a Nova was made before another one; of equal age the name decides.
func older(a, b *v1alpha1.Nova) bool {
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name)) < 0
}

// unclaimed stops the step when somebody has the claim to a schema: two on one schema
// would each undo, and in the end drop, what the other made.
func (p *pass) unclaimed() bool {
	for _, c := range p.seen.Claims {
		if !c.First {
			continue
		}
		p.Wait(v1alpha1.ReasonSchemaInUse, fmt.Sprintf(
			"%s: %s belongs to %s; nothing is written to it. Name another schema, or remove the other one", c.Path, c.Schema, c.Holder), pollDatabase)
		p.HoldAfter("", v1alpha1.ReasonSchemaInUse)
		return false
	}
	return true
}

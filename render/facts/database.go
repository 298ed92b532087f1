package facts

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/nova-operator/api/v1alpha1"
)

// Database is the part of a live MariaDB Database that decisions read.
type Database struct {
	Readiness
	// UID names the incarnation: another one has a schema of its own.
	UID string `json:"uid,omitempty"`
	// Release is the annotation that says which release its schema is at; empty for none.
	Release string `json:"release,omitempty"`
	// Skip is true while the MariaDB operator would leave the schema when the object goes.
	Skip bool `json:"skip,omitempty"`
}

// DatabaseOf reads a Database.
func DatabaseOf(u *unstructured.Unstructured) (Database, error) {
	r, err := ReadinessOf(u)
	policy, _, _ := unstructured.NestedString(u.Object, "spec", "cleanupPolicy")
	return Database{
		Readiness: r, UID: string(u.GetUID()), Release: u.GetAnnotations()[v1alpha1.AnnotationSchemaRelease], Skip: policy == "Skip",
	}, err
}

// SchemaClaim is somebody else's claim to a schema of a resource: that of another resource,
// or of a Database object.
type SchemaClaim struct {
	// Holder says who, as Kind name; without a name where that must not be told.
	Holder string `json:"holder"`
	// Schema says which, in words, and Path the field that names it.
	Schema string `json:"schema"`
	Path   string `json:"path,omitempty"`
	// First is true when the claim is older than that of the resource.
	First bool `json:"first,omitempty"`
}

package render

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Canonical brings an apply payload into the one form the API server stores
// unchanged, so that applying it twice writes once.
func Canonical(u *unstructured.Unstructured) error {
	unstructured.RemoveNestedField(u.Object, "status")
	unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
	return nil
}

package diff

import "testing"

func TestIsMark(t *testing.T) {
	for path, want := range map[string]bool{
		"metadata.ownerReferences[uid=1]":                             true,
		"metadata.labels[openstack.c5c3.io/owner-namespace]":          true,
		"metadata.labels[openstack.c5c3.io/other]":                    false,
		"metadata.labels[app.kubernetes.io/name]":                     false,
		"spec.template.metadata.labels[openstack.c5c3.io/owner-kind]": false,
	} {
		if got := (Change{Path: path}).IsMark(); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}

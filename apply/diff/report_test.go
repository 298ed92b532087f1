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

func TestFields(t *testing.T) {
	changes := []Change{{Path: "spec.replicas", Manager: "kubectl-edit"}, {Path: "data.k"}, {Path: "data.l", Manager: "other"}}
	for name, tc := range map[string]struct {
		changes []Change
		verb    string
		want    string
	}{
		"none":                    {want: ""},
		"one, and who held it":    {changes: changes[:1], verb: "by", want: "spec.replicas (by kubectl-edit)"},
		"as many as are shown":    {changes: changes[:2], verb: "held by", want: "spec.replicas (held by kubectl-edit), data.k"},
		"one more than are shown": {changes: changes, verb: "by", want: "spec.replicas (by kubectl-edit), data.k and 1 more"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Fields(tc.changes, 2, tc.verb); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

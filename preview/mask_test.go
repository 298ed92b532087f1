package preview

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/nova-operator/apply/diff"
	"github.com/c5c3/nova-operator/render"
)

// A credential that came past admission into extraConfig is hidden in the resource, in the
// configuration, and in the ConfigMap.
func TestMask_HidesCredentialsAmongOptions(t *testing.T) {
	b := &builder{in: Input{Mask: diff.Mask{1}}}
	changes := b.fields([]diff.Change{
		{Path: "spec.extraConfig.vmware.host_password", From: "s3cret", To: "s3cret-2"},
		{Path: "spec.extraConfig.DEFAULT.debug", From: "false", To: "true"},
	})
	lines := b.lines(map[string]string{"nova.conf": "[vmware]\nhost_password = s3cret\n"}, map[string]string{"nova.conf": "[vmware]\nhost_password = s3cret-2\nx = y\n"})
	u := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{"nova.conf": "[DEFAULT]\ndebug = true\n\n[vmware]\nhost_password = s3cret\n"}}}
	u.SetGroupVersionKind(render.KindConfigMap)
	data := b.masked(u)["data"].(map[string]any)["nova.conf"].(string)

	if diff := cmp.Diff(Change{Path: "spec.extraConfig.DEFAULT.debug", From: "false", To: "true"}, changes[1]); diff != "" {
		t.Error(diff)
	}
	if !strings.HasPrefix(data, "[DEFAULT]\ndebug = true\n\n[vmware]\nhost_password = hidden:") || !strings.HasSuffix(data, "\n") {
		t.Errorf("%q", data)
	}
	if len(lines) != 2 || lines[1].To[0] != "y" {
		t.Errorf("%+v", lines)
	}
	for _, value := range []any{changes[0].From, changes[0].To, lines[0].From[0], lines[0].To[0]} {
		if text, _ := value.(string); !strings.HasPrefix(text, "hidden:") {
			t.Errorf("%v is not hidden", value)
		}
	}
	if changes[0].From == changes[0].To {
		t.Error("the change does not show")
	}
}

// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/nova-operator/api/v1alpha1"
)

// seen is a merge patch that lets the webhooks see a planted object again.
const seen = `{"metadata": {"labels": {"` + unchecked + `": null}}}`

// both is one merge patch with the effect of two.
func both(t *testing.T, a, b string) string {
	t.Helper()
	left, right := map[string]any{}, map[string]any{}
	if err := errors.Join(yaml.Unmarshal([]byte(a), &left), yaml.Unmarshal([]byte(b), &right)); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(merge(left, right))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestHooked_UpdateWarnsOrRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		kind kind
		// old is stored past the webhooks.
		old, patch     string
		want, warnings []string
	}{
		"a window removed": {
			kind: nova, old: "spec: {dbArchive: {retentionDays: 30}}", patch: `{"spec": {"dbArchive": {"retentionDays": null}}}`,
			warnings: []string{"spec.dbArchive.retentionDays removed (was 30): the next archive run moves every soft-deleted row into the shadow tables, including the ones deleted today"},
		},
		"an archive block removed": {
			kind: nova, old: "spec: {dbArchive: {retentionDays: 30}}", patch: `{"spec": {"dbArchive": null}}`,
			warnings: []string{"spec.dbArchive.retentionDays removed (was 30): the next archive run moves every soft-deleted row into the shadow tables, including the ones deleted today"},
		},
		"a window reduced": {
			kind: nova, old: "spec: {dbArchive: {retentionDays: 30}}", patch: `{"spec": {"dbArchive": {"retentionDays": 7}}}`,
			warnings: []string{"spec.dbArchive.retentionDays reduced 30 to 7: the next archive run also moves the rows soft-deleted between 7 and 30 days ago"},
		},
		"a window raised": {kind: nova, old: "spec: {dbArchive: {retentionDays: 7}}", patch: `{"spec": {"dbArchive": {"retentionDays": 30}}}`},
		"an option nova is about to drop": {
			kind: nova, patch: `{"spec": {"extraConfig": {"DEFAULT": {"logfile": "x"}}}}`,
			warnings: []string{"spec.extraConfig [DEFAULT] logfile: deprecated option in nova 2026.1, replaced by [DEFAULT] log_file"},
		},
		"a warning beside a refusal": {
			kind: nova, patch: `{"spec": {"region": "a\rb", "extraConfig": {"DEFAULT": {"logfile": "x"}}}}`,
			want:     []string{`spec.region: "a\rb": value must not contain a newline or carriage return: it is rendered verbatim into nova.conf and nova-compute.conf, so a newline injects arbitrary config lines`},
			warnings: []string{"spec.extraConfig [DEFAULT] logfile: deprecated option in nova 2026.1, replaced by [DEFAULT] log_file"},
		},
		"another field of a resource whose name is no longer allowed": {
			kind: nova, old: "metadata: {name: nova-of-a-name-that-is-far-beyond-41-characters-api}", patch: `{"spec": {"region": "a"}}`,
		},
		"another field beside an option that is no longer known": {
			kind: nova, old: "spec: {extraConfig: {libvirt: {nope: x}}}", patch: `{"spec": {"region": "a"}}`,
		},
		"an option that the new release no longer knows": {
			kind: nova, old: "spec: {openStackRelease: '2025.2', extraConfig: {DEFAULT: {watch_log_file: true}}}", patch: `{"spec": {"openStackRelease": "2026.1"}}`,
			want: []string{`spec.extraConfig[DEFAULT][watch_log_file]: "watch_log_file": no such option in the nova 2026.1 option catalog`},
		},
		"another field of a pool whose name is no longer allowed": {
			kind: compute, old: "metadata: {name: pool-of-a-name-that-is-far-beyond-63-characters-and-goes-on-and-on}", patch: `{"spec": {"traits": ["CUSTOM_A"]}}`,
		},
		"another field of a pool beside an option that is not known": {
			kind: compute, old: "spec: {extraConfig: {libvirt: {nope: x}}}", patch: `{"spec": {"traits": ["CUSTOM_A"]}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHooked(t)
			stored := h.plant(tc.kind, tc.old)
			hooks.reads.take()
			h.warned()
			_, err := h.patch(tc.kind, stored.GetName(), both(t, tc.patch, seen))
			compare(t, tc.want, err)
			if diff := cmp.Diff(tc.warnings, h.warned()); diff != "" {
				t.Error(diff)
			}
			if reads := hooks.reads.take(); reads != nil {
				t.Errorf("read %v", reads)
			}
		})
	}
}

// What nothing else lets through: each of these specs is refused today, or cannot even be
// read, and lacks the defaults. All of them have to go.
var unwanted = map[string]struct {
	kind kind
	old  string
}{
	"a Nova without defaults":              {nova, ""},
	"a Nova the rules refuse":              {nova, `spec: {region: "a\nb", dbArchive: {schedule: never}, extraConfig: {DEFAULT: {debug: true}}}`},
	"a Nova with a class that is gone":     {nova, "spec: {api: {deployment: {priorityClassName: absent}}}"},
	"a Nova with an option without a line": {nova, "spec: {extraConfig: {DEFAULT: {debug: {a: b}, verbose: [[1]]}, vnc: 5}}"},
	"a Nova with an option nova dropped":   {nova, "spec: {extraConfig: {libvirt: {nope: true}}}"},
	"a pool the rules refuse":              {compute, "spec: {tolerations: [{operator: Exists}], updateStrategy: {maxUnavailable: many}}"},
	"a pool with an option without a line": {compute, "spec: {extraConfig: {DEFAULT: {debug: {}}}}"},
	"a pool of a Nova that is not there":   {compute, "spec: {extraConfig: {libvirt: {nope: 1.5}}}"},
}

func TestHooked_FinalizersComeOff(t *testing.T) {
	for name, tc := range unwanted {
		t.Run(name, func(t *testing.T) {
			h := newHooked(t)
			stored := h.plant(tc.kind, both(t, tc.old, "metadata: {finalizers: [test.c5c3.io/a, test.c5c3.io/b]}"))
			objects := h.client(tc.kind)
			if err := objects.Delete(t.Context(), stored.GetName(), metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			// A change of the spec is judged, also now.
			invalid := map[string]string{"novas": `{"spec": {"keystoneEndpoint": "https:///v3"}}`, "novacomputes": `{"spec": {"nodeSelector": {"a": "b c"}}}`}[tc.kind.resource]
			if _, err := h.patch(tc.kind, stored.GetName(), both(t, invalid, seen)); !apierrors.IsInvalid(err) {
				t.Errorf("an invalid change of a deleted resource: %v", err)
			}
			live, err := h.patch(tc.kind, stored.GetName(), both(t, `{"metadata": {"finalizers": ["test.c5c3.io/b"]}}`, seen))
			if err != nil {
				t.Fatal(err)
			}
			if live.GetGeneration() != stored.GetGeneration()+1 {
				t.Errorf("generation %d became %d: more than the deletion", stored.GetGeneration(), live.GetGeneration())
			}
			h.release(tc.kind, live.GetName())
			if _, err := objects.Get(t.Context(), stored.GetName(), metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				t.Errorf("is still there: %v", err)
			}
		})
	}
}

// release takes every finalizer off as a controller may: a typed object is written back
// whole where its type can hold it, without what only the server sets.
func (h *hooked) release(k kind, name string) {
	h.t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		h.t.Fatal(err)
	}
	c, err := client.New(h.config, client.Options{Scheme: scheme})
	if err != nil {
		h.t.Fatal(err)
	}
	var object client.Object = &v1alpha1.Nova{}
	if k == compute {
		object = &v1alpha1.NovaCompute{}
	}
	if err := c.Get(h.t.Context(), client.ObjectKey{Namespace: h.namespace, Name: name}, object); err != nil {
		if _, err := h.patch(k, name, `{"metadata": {"finalizers": null}}`); err != nil {
			h.t.Error(err)
		}
		return
	}
	controllerutil.RemoveFinalizer(object, "test.c5c3.io/b")
	object.SetDeletionTimestamp(nil)
	if err := c.Update(h.t.Context(), object); err != nil {
		h.t.Error(err)
	}
}

package apply

import (
	"context"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/render"
)

// sweeper pages through listings, and lets some of them expire.
type sweeper struct {
	client.Reader
	pages, expired int
	expire         func(page int) bool
}

func (s *sweeper) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	s.pages++
	o := &client.ListOptions{}
	o.ApplyOptions(opts)
	if o.Limit != sweepPage {
		return fmt.Errorf("pages of %d", o.Limit)
	}
	if s.expire != nil && s.expire(s.pages) {
		s.expired++
		return apierrors.NewResourceExpired("the continue token is too old")
	}
	return s.Reader.List(ctx, list, append(opts, client.Limit(2))...)
}

func TestSweep(t *testing.T) {
	for name, tc := range map[string]struct {
		expire  func(page int) bool
		left    bool
		expired int
	}{
		"every page":                   {},
		"a token that expires":         {expire: func(page int) bool { return page == 2 }, expired: 1},
		"a token that expires twice":   {expire: func(page int) bool { return page == 2 || page == 3 }, expired: 2, left: true},
		"a listing that fails for all": {expire: func(int) bool { return true }, expired: 4, left: true},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t)
			e.remote()
			cm := func(name string) render.Object {
				return e.obj(render.StageConfig, render.Policy{}, strings.Replace(configMapDoc, "name: config", "name: "+name, 1))
			}
			e.must(desired(cm("a"), cm("b"), cm("c"), cm("d"), cm("e")))
			for name, labels := range map[string]map[string]string{
				"unmarked": nil,
				"of-another-kind": {
					LabelOwnerKind: "NovaCompute", LabelOwnerName: e.owner.Name, LabelOwnerNamespace: e.ns,
				},
			} {
				u := e.raw(strings.Replace(configMapDoc, "name: config", "name: "+name, 1))
				u.SetLabels(labels)
				if err := e.admin.Create(t.Context(), u); err != nil {
					t.Fatal(err)
				}
			}
			older := e.raw(strings.Replace(configMapDoc, "name: config", "name: older", 1))
			older.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: e.owner.UID, Controller: new(true)}})
			if err := e.admin.Create(t.Context(), older); err != nil {
				t.Fatal(err)
			}
			s := &sweeper{Reader: e.applier.uncached, expire: tc.expire}
			e.applier.uncached = s
			err := e.applier.Sweep(t.Context(), e.owner, []schemaGVK{{Group: "not.served", Version: "v1", Kind: "Thing"}, configMapKind})
			if (err != nil) != tc.left || s.expired != tc.expired {
				t.Errorf("%d pages, %d expired: %v", s.pages, s.expired, err)
			}
			for _, name := range []string{"unmarked", "of-another-kind"} {
				if e.live(cm(name).Key()) == nil {
					t.Errorf("%s is gone", name)
				}
			}
			if tc.left {
				return
			}
			for _, name := range []string{"a", "b", "c", "d", "e", "older"} {
				if e.live(cm(name).Key()) != nil {
					t.Errorf("%s is still there", name)
				}
			}
		})
	}
}

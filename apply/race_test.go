package apply

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/c5c3/nova-operator/apply/diff"
	"github.com/c5c3/nova-operator/render"
)

// between lets somebody act right before the nth write leaves.
func (e *env) between(nth int, act func()) {
	e.t.Helper()
	config := rest.CopyConfig(e.config)
	writes := 0
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			if req.Method == http.MethodPatch {
				if writes++; writes == nth {
					act()
				}
			}
			return next.RoundTrip(req)
		})
	})
	e.as(config)
	e.t.Cleanup(func() {
		if writes < nth {
			e.t.Errorf("%d writes: nobody acted between them", writes)
		}
	})
}

// A name that was free a moment ago is taken: the API server must refuse the create, for
// it would merge into what is there.
func TestRace_ACreateTakesNothing(t *testing.T) {
	for _, where := range []place{home, target} {
		for _, doc := range childDocs {
			e := newEnv(t)
			u := e.raw(doc)
			t.Run(fmt.Sprintf("%s, %s", where, u.GetKind()), func(t *testing.T) {
				e.t = t
				if where == target {
					e.remote()
				}
				var before *unstructured.Unstructured
				e.between(1, func() { before = e.place(u, ofNobody) })
				wanted := e.obj(render.StageConfig, render.Policy{ExactData: true, Recreate: true}, doc)
				wanted.Content.SetAnnotations(map[string]string{contentMark: "wanted"}) // as theirs, but another value
				r, err := e.run(desired(wanted))
				wantActions(t, r, "config:refused")
				wantError(t, err, diff.CauseForeign, "it is not ours")
				e.wantCalls("PATCH")
				e.wantUntouched("desired", before)
			})
		}
	}
}

// Our own create that another process made meanwhile is no failure.
func TestRace_ACreateThatWasMadeMeanwhile(t *testing.T) {
	e := newEnv(t)
	set := desired(e.obj(render.StageConfig, render.Policy{}, configMapDoc))
	elsewhere := e.applier
	e.between(1, func() {
		if _, err := elsewhere.Apply(t.Context(), e.owner, set); err != nil {
			t.Error(err)
		}
	})
	wantActions(t, e.must(set), "config:unchanged")
}

// An object that was replaced after the decision belongs to whoever made the new one, and
// one that went away is not made again by a write that was meant for it.
func TestRace_AWriteIsForOneIncarnation(t *testing.T) {
	const (
		plain = `{apiVersion: v1, kind: Secret, metadata: {name: config}, data: {k: dg==}}`
		apply = "kubectl-client-side-apply"
	)
	for name, tc := range map[string]struct {
		policy  render.Policy
		prepare func(e *env, set render.Set)
		doc     string // wanted then
		nth     int
	}{
		"an update": {
			prepare: func(e *env, set render.Set) { e.must(set) },
			doc:     `{apiVersion: v1, kind: Secret, metadata: {name: config}, data: {k: dnY=}}`, nth: 1,
		},
		"an update by force": {
			prepare: func(e *env, set render.Set) {
				e.must(set)
				e.patch(set.Desired[0].Key(), "kubectl-edit", types.MergePatchType, `{data: {k: eA==}}`)
			},
			doc: plain, nth: 2,
		},
		"a trim": {
			policy: render.Policy{ExactData: true},
			prepare: func(e *env, set render.Set) {
				e.must(set)
				e.patch(set.Desired[0].Key(), "kubectl-edit", types.MergePatchType, `{data: {extra: eA==}}`)
			},
			doc: plain, nth: 1,
		},
		"a trim after an update": {
			policy: render.Policy{ExactData: true},
			prepare: func(e *env, set render.Set) {
				e.must(set)
				e.patch(set.Desired[0].Key(), "kubectl-edit", types.MergePatchType, `{data: {extra: eA==}}`)
			},
			doc: `{apiVersion: v1, kind: Secret, metadata: {name: config}, data: {k: dnY=}}`, nth: 2,
		},
		"a mark": {
			policy: render.Policy{CreateOnly: true},
			prepare: func(e *env, _ render.Set) {
				e.place(e.raw(plain), ofLabels)
			},
			doc: plain, nth: 1,
		},
		"a reference that goes": {
			policy: render.Policy{Unreferenced: true},
			prepare: func(e *env, set render.Set) {
				e.must(set)
				e.patch(set.Desired[0].Key(), "backup", types.MergePatchType, fmt.Sprintf(
					`{metadata: {ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: owner, uid: %q, controller: true}]}}`, e.owner.UID))
			},
			doc: plain, nth: 1,
		},
		"an adoption": {prepare: func(e *env, _ render.Set) { e.place(e.raw(plain), ofOffer) }, doc: plain, nth: 1},
		"a take-over": {
			prepare: func(e *env, _ render.Set) {
				u := e.raw(plain)
				u.SetLabels(e.owner.labels())
				e.create(u, apply)
			},
			doc: plain, nth: 1,
		},
		"the update after a take-over": {
			prepare: func(e *env, _ render.Set) {
				u := e.raw(plain)
				u.SetLabels(e.owner.labels())
				e.create(u, apply)
			},
			doc: plain, nth: 2,
		},
	} {
		for meanwhile, replace := range map[string]bool{"replaced": true, "gone": false} {
			t.Run(name+" of an object that is "+meanwhile, func(t *testing.T) {
				e := newEnv(t)
				first := desired(e.obj(render.StageConfig, tc.policy, plain))
				tc.prepare(e, first)
				key := first.Desired[0].Key()
				old := e.live(key)
				var before *unstructured.Unstructured
				e.between(tc.nth, func() {
					e.remove(key)
					if replace {
						before = e.place(e.raw(plain), ofNobody)
					}
				})
				r, err := e.run(desired(e.obj(render.StageConfig, tc.policy, tc.doc)))
				if replace {
					wantActions(t, r, "config:refused")
					wantError(t, err, diff.CauseForeign, "it is not ours")
					e.wantUntouched("desired", before)
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				wantActions(t, r, "config:create")
				live := e.live(key)
				if live == nil || live.GetUID() == old.GetUID() {
					t.Fatal("it is not there")
				}
				e.wantMark(live, tc.policy)
				if calls := e.calls.take(); !strings.HasSuffix(calls, "PATCH") || strings.Count(calls, "PATCH") != tc.nth+1 {
					t.Errorf("requests %s", calls)
				}
			})
		}
	}
}

package apply

import (
	"os/exec"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/apply/diff"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/test/cluster"
)

// A refusal is acted on by a person who reads nothing else.
func TestAdopt_TheRefusalSaysTheWaysOut(t *testing.T) {
	home := Owner{GroupVersionKind: schemaGVK{Kind: "Nova"}, Namespace: "ns", Name: "nova", UID: "u"}
	remote := home
	remote.Remote = true
	const short = " (rename this resource or delete the object)"
	for name, tc := range map[string]struct {
		owner Owner
		live  string
		want  string
	}{
		"nobody's": {
			home, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: nova, namespace: ns}}`,
			"apply Deployment.apps ns/nova: it is not ours: nobody controls it, and it lacks the ownership labels of Nova ns/nova " +
				"(rename this resource, delete the object, or have it adopted: " +
				"kubectl annotate --overwrite -n ns deployment.apps/nova nova.openstack.c5c3.io/adopt=Nova/nova)",
		},
		"nobody's on a target": {
			remote, `{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: ns}, data: {k: aHVudGVyMg==}}`,
			"apply Secret ns/s: it is not ours: nobody controls it, and it lacks the ownership labels of Nova ns/nova " +
				"(rename this resource, delete the object, or have it adopted on the target cluster: " +
				"kubectl annotate --overwrite -n ns secret/s nova.openstack.c5c3.io/adopt=Nova/nova)",
		},
		"controlled": {
			home, `{apiVersion: v1, kind: Service, metadata: {name: s, namespace: ns, ownerReferences: [{kind: Web, name: shop, controller: true}]}}`,
			"apply Service ns/s: it is controlled by Web shop" + short,
		},
		"with other labels": {
			home, `{apiVersion: v1, kind: Service, metadata: {name: s, namespace: ns, labels: {` +
				LabelOwnerKind + `: Nova, ` + LabelOwnerName + `: other, ` + LabelOwnerNamespace + `: there}}}`,
			"apply Service ns/s: it belongs to Nova there/other" + short,
		},
	} {
		t.Run(name, func(t *testing.T) {
			live := (&env{t: t, ns: "ns"}).raw(tc.live)
			p := Planned{Key: render.KeyOf(live)}
			New(Options{}).decide(tc.owner, &p, live)
			if p.Action != diff.ActionRefused || p.Err == nil || p.Err.Error() != tc.want {
				t.Errorf("%s: %v\nwant %s", p.Action, p.Err, tc.want)
			}
			if needs, ok := p.Err.(interface{ NeedsPerson() bool }); !ok || !needs.NeedsPerson() {
				t.Error("nobody is asked for")
			}
		})
	}
}

// The command of the refusal is the way in; who offered it with a manifest keeps the
// annotation as well.
func TestAdopt_TheAnnotationStays(t *testing.T) {
	for name, offer := range map[string]func(e *env, u *unstructured.Unstructured){
		"by the command": func(e *env, u *unstructured.Unstructured) {
			e.create(u, "somebody")
			e.patch(render.KeyOf(u), "kubectl-annotate", types.MergePatchType, e.offer())
		},
		"in a manifest": func(e *env, u *unstructured.Unstructured) {
			u.SetAnnotations(map[string]string{AnnotationAdopt: e.owner.Kind + "/" + e.owner.Name})
			e.create(u, "kubectl-client-side-apply")
		},
		"in a manifest that a server applies": func(e *env, u *unstructured.Unstructured) {
			e.create(u, "kubectl-client-side-apply")
			e.patch(render.KeyOf(u), "kubectl", types.ApplyPatchType,
				strings.Replace(e.offer(), "{", "{apiVersion: v1, kind: ConfigMap, ", 1))
		},
		"by an older operator": func(e *env, u *unstructured.Unstructured) {
			u.SetAnnotations(map[string]string{AnnotationAdopt: e.owner.Kind + "/" + e.owner.Name, "note": "gone"})
			e.create(u, "nova-operator")
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t)
			u := e.raw(configMapDoc)
			offer(e, u)
			set := desired(e.obj(render.StageConfig, render.Policy{}, strings.Replace(configMapDoc, "k: v", "k: w", 1)))
			wantActions(t, e.must(set), "config:update")
			e.calls.take()
			wantActions(t, e.must(set), "config:unchanged")
			e.wantCalls("")
			live := e.live(render.KeyOf(u))
			if live.GetUID() != u.GetUID() || live.GetAnnotations()[AnnotationAdopt] != e.owner.Kind+"/"+e.owner.Name {
				t.Errorf("annotations %v", live.GetAnnotations())
			}
			e.wantMark(live, render.Policy{})
		})
	}
}

// offer is a patch with the annotation.
func (e *env) offer() string {
	return `{metadata: {annotations: {` + AnnotationAdopt + `: ` + e.owner.Kind + `/` + e.owner.Name + `}}}`
}

func (e *env) create(u *unstructured.Unstructured, manager string) {
	e.t.Helper()
	if err := e.admin.Create(e.t.Context(), u, client.FieldOwner(manager)); err != nil {
		e.t.Fatal(err)
	}
}

// A person gave it away to be kept, so no policy replaces it.
func TestAdopt_AnAdoptedObjectIsNeverReplaced(t *testing.T) {
	for name, tc := range map[string]struct{ doc, from, to, path string }{
		"a Job":        {jobDoc, "2026.1", "2026.2", "spec.template"},
		"a Deployment": {deploymentDoc, "{app: api}", "{app: other}", "spec.selector"},
	} {
		for when, adoptedBefore := range map[string]bool{"adopted before": true, "to be adopted": false} {
			t.Run(name+", "+when, func(t *testing.T) {
				e := newEnv(t)
				policy := render.Policy{Recreate: true}
				u := e.raw(tc.doc)
				e.create(u, "somebody")
				key := render.KeyOf(u)
				e.patch(key, "kubectl-annotate", types.MergePatchType, e.offer())
				if adoptedBefore {
					wantActions(t, e.must(desired(e.obj(render.StageJobs, policy, tc.doc))), key.Name+":update")
				}
				changed := desired(e.obj(render.StageJobs, policy, strings.ReplaceAll(tc.doc, tc.from, tc.to)))
				plan, err := e.applier.Plan(t.Context(), e.owner, changed)
				if err != nil {
					t.Fatal(err)
				}
				for _, run := range []func() (diff.Report, error){
					func() (diff.Report, error) { return e.applier.Preview(t.Context(), plan) },
					func() (diff.Report, error) { return e.run(changed) },
				} {
					r, err := run()
					wantActions(t, r, key.Name+":failed")
					wantError(t, err, diff.CauseImmutable, "replace", tc.path, "an adopted object (annotation "+AnnotationAdopt+") is not replaced", "delete the object yourself")
					if live := e.live(key); live == nil || live.GetUID() != u.GetUID() || live.GetDeletionTimestamp() != nil {
						t.Fatal("it was replaced")
					}
				}
			})
		}
	}
}

// Labels of ours or of another owner are not an offer, and an offer is no claim: without
// the annotation what was never adopted is nobody's again.
func TestAdopt_AnOfferCanBeTakenBack(t *testing.T) {
	e := newEnv(t)
	u := e.raw(configMapDoc)
	e.create(u, "somebody")
	e.patch(render.KeyOf(u), "kubectl-annotate", types.MergePatchType, e.offer())
	e.patch(render.KeyOf(u), "kubectl-annotate", types.MergePatchType, `{metadata: {annotations: {`+AnnotationAdopt+`: null}}}`)
	r, err := e.run(desired(e.obj(render.StageConfig, render.Policy{}, configMapDoc)))
	wantActions(t, r, "config:refused")
	wantError(t, err, diff.CauseForeign)
	e.wantUntouched("desired", u)
}

// The command of a refusal is what a person pastes, whatever the kind.
func TestAdopt_TheCommandWorks(t *testing.T) {
	e := newEnv(t)
	for _, doc := range childDocs {
		u := e.raw(doc)
		t.Run(u.GetKind(), func(t *testing.T) {
			e.t = t
			before := e.place(u, ofMistake) // a first try may have gone wrong
			set := desired(e.obj(render.StageConfig, render.Policy{}, doc))
			_, err := e.run(set)
			_, command, found := strings.Cut(err.Error(), "have it adopted: kubectl ")
			if !found {
				t.Fatal(err)
			}
			args := strings.Fields(strings.TrimSuffix(command, ")"))
			out, err := exec.CommandContext(t.Context(), "kubectl", append(args, "--kubeconfig="+cluster.Shared(t).Kubeconfig)...).CombinedOutput()
			if err != nil {
				t.Fatalf("kubectl %v: %v: %s", args, err, out)
			}
			wantActions(t, e.must(set), "config:update")
			if live := e.live(render.KeyOf(u)); live.GetUID() != before.GetUID() || !e.owner.Owns(live) {
				t.Error("not adopted")
			}
		})
	}
}

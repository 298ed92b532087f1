package gitops_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/polling"
	"github.com/fluxcd/cli-utils/pkg/object"
	"github.com/fluxcd/pkg/ssa"
	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/apply"
	rendernova "github.com/c5c3/nova-operator/render/nova"
	"github.com/c5c3/nova-operator/test/cluster"
	"github.com/c5c3/nova-operator/test/gitops/health"
	"github.com/c5c3/nova-operator/test/process"
	"github.com/c5c3/nova-operator/test/surroundings"
	"github.com/c5c3/nova-operator/test/world"
)

// tool is a way a repository reaches a cluster.
type tool struct {
	manager string
	// marks are what the tool writes into the metadata of what it manages.
	labels, annotations map[string]string
	// apply delivers an object without force. dry changes nothing.
	apply func(ctx context.Context, s *stage, o *unstructured.Unstructured, dry bool) (*unstructured.Unstructured, error)
}

var tools = map[string]tool{
	"Argo CD, server side": {
		manager: "argocd-controller", apply: serverSide,
		labels:      map[string]string{"app.kubernetes.io/instance": "the-application"},
		annotations: map[string]string{"argocd.argoproj.io/tracking-id": "the-application:nova.openstack.c5c3.io/Nova:n/nova"},
	},
	"Argo CD, client side": {
		manager: "argocd-controller", apply: clientSide,
		labels:      map[string]string{"app.kubernetes.io/instance": "the-application"},
		annotations: map[string]string{"argocd.argoproj.io/tracking-id": "the-application:nova.openstack.c5c3.io/Nova:n/nova"},
	},
	"Flux": {
		manager: "kustomize-controller", apply: serverSide,
		labels:      map[string]string{"kustomize.toolkit.fluxcd.io/name": "nova", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"},
		annotations: map[string]string{"kustomize.toolkit.fluxcd.io/prune": "disabled"},
	},
}

// serverSide is a server-side apply that gives way to nobody and takes nothing.
func serverSide(ctx context.Context, s *stage, o *unstructured.Unstructured, dry bool) (*unstructured.Unstructured, error) {
	out := o.DeepCopy()
	options := []client.ApplyOption{client.FieldOwner(s.tool.manager)}
	if dry {
		options = append(options, client.DryRunAll)
	}
	return out, s.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(out), options...)
}

// clientSide is `kubectl apply`: a merge of three, the last of which is in an annotation.
func clientSide(ctx context.Context, s *stage, o *unstructured.Unstructured, dry bool) (*unstructured.Unstructured, error) {
	o = o.DeepCopy()
	last, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	annotations := o.GetAnnotations()
	annotations[corev1.LastAppliedConfigAnnotation] = string(last)
	o.SetAnnotations(annotations)
	live, err := s.live(ctx)
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	if err != nil {
		return o, s.client.Create(ctx, o, client.FieldOwner(s.tool.manager))
	}
	modified, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	current, err := json.Marshal(live)
	if err != nil {
		return nil, err
	}
	patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch([]byte(live.GetAnnotations()[corev1.LastAppliedConfigAnnotation]), modified, current)
	if err != nil || string(patch) == "{}" {
		return live, err
	}
	options := []client.PatchOption{client.FieldOwner(s.tool.manager)}
	if dry {
		options = append(options, client.DryRunAll)
	}
	return live, s.client.Patch(ctx, live, client.RawPatch(types.MergePatchType, patch), options...)
}

// stage is a namespace in which one tool delivers one Nova.
type stage struct {
	t         *testing.T
	tool      tool
	client    client.Client
	namespace string
	script    health.Script
	// source is the Nova as the repository has it.
	source *unstructured.Unstructured
}

// fixture reads the Nova of a folder, and what else its file holds, for a namespace.
func fixture(t *testing.T, name, namespace string) (nova *unstructured.Unstructured, others []*unstructured.Unstructured) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, "fixtures", "nova", name, "nova.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for part := range strings.SplitSeq(string(raw), "\n---\n") {
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(part), &u.Object); err != nil {
			t.Fatal(err)
		}
		u.SetNamespace(namespace)
		if u.GetKind() == v1alpha1.KindNova {
			nova = u
		} else {
			others = append(others, u)
		}
	}
	return nova, others
}

// marked is the Nova as the tool sends it.
func (s *stage) marked() *unstructured.Unstructured {
	o := s.source.DeepCopy()
	o.SetLabels(s.tool.labels)
	o.SetAnnotations(s.tool.annotations)
	return o
}

func (s *stage) live(ctx context.Context) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.KindNova))
	return u, s.client.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: "nova"}, u)
}

func (s *stage) mustLive() *unstructured.Unstructured {
	s.t.Helper()
	u, err := s.live(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return u
}

func (s *stage) deliver() {
	s.t.Helper()
	if _, err := s.tool.apply(s.t.Context(), s, s.marked(), false); err != nil {
		s.t.Fatal(err)
	}
}

// says are the answers of kstatus and Argo CD about the live Nova, which must agree.
func (s *stage) says(u *unstructured.Unstructured) health.Answer {
	s.t.Helper()
	kstatus, err := health.KStatus(u)
	if err != nil {
		s.t.Fatal(err)
	}
	argo, err := s.script.Check(u)
	if err != nil {
		s.t.Fatal(err)
	}
	if health.InArgo(kstatus.Status) != argo.Status {
		s.t.Errorf("kstatus says %+v, Argo CD %+v", kstatus, argo)
	}
	return health.Answer{Status: kstatus.Status, Message: argo.Message}
}

// await waits until the tools say a status of the live generation, and holds that none
// calls a Nova current that is not Ready.
func (s *stage) await(status string) health.Answer {
	s.t.Helper()
	var last health.Answer
	cluster.Eventually(s.t, "the Nova to be "+status, func(ctx context.Context) (bool, error) {
		u, err := s.live(ctx)
		if err != nil {
			return false, err
		}
		last = s.says(u)
		n := &v1alpha1.Nova{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, n); err != nil {
			return false, err
		}
		ready := meta.FindStatusCondition(n.Status.Conditions, v1alpha1.ConditionReady)
		if isReady := ready != nil && ready.Status == metav1.ConditionTrue && ready.ObservedGeneration == n.Generation; isReady != (last.Status == "Current") {
			s.t.Errorf("Ready is %+v of generation %d, kstatus says %s", ready, n.Generation, last.Status)
		}
		if last.Status == "Failed" && status != "Failed" {
			s.t.Fatalf("it failed on the way: %s", last.Message)
		}
		if last.Status != status {
			return false, fmt.Errorf("it is %s: %s", last.Status, last.Message)
		}
		return true, nil
	})
	return last
}

// quiet waits until the operator has nothing more to write.
func (s *stage) quiet() {
	s.t.Helper()
	version, since := "", time.Now()
	cluster.Eventually(s.t, "an object that stays", func(ctx context.Context) (bool, error) {
		u, err := s.live(ctx)
		if err != nil {
			return false, err
		}
		if u.GetResourceVersion() != version {
			version, since = u.GetResourceVersion(), time.Now()
		}
		return time.Since(since) > 1500*time.Millisecond, nil
	})
}

// TestDelivery_NobodyFightsOverANova has each tool deliver a Nova to a running operator
// with its webhooks, through the installation, a change, a failure and an upgrade. The
// tool then delivers it again and changes nothing, and the operator has written nothing
// of it.
func TestDelivery_NobodyFightsOverANova(t *testing.T) {
	c := cluster.Shared(t)
	script, err := health.Shipped(root)
	if err != nil {
		t.Fatal(err)
	}
	admin := clientFor(t, c)
	freshIsInProgress(t, c, admin, script)
	startOperator(t, c, admin)
	for name, tool := range tools {
		for _, which := range []string{"minimal", "everything"} {
			t.Run(name+"/"+which, func(t *testing.T) {
				t.Parallel()
				s := &stage{t: t, tool: tool, client: admin, script: script, namespace: c.Namespace(t)}
				var others []*unstructured.Unstructured
				s.source, others = fixture(t, which, s.namespace)
				s.prepare(c, others)
				s.life()
			})
		}
	}
}

// prepare creates what the Nova refers to.
func (s *stage) prepare(c *cluster.Cluster, others []*unstructured.Unstructured) {
	s.t.Helper()
	n := &v1alpha1.Nova{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(s.source.Object, n); err != nil {
		s.t.Fatal(err)
	}
	for _, o := range append(surroundings.Inputs(n), others...) {
		if err := surroundings.Apply(s.t.Context(), c.Config, s.client.RESTMapper(), "somebody-else", []*unstructured.Unstructured{o}); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *stage) life() {
	s.deliver()
	s.await("Current")
	s.unchanged()

	// A change: the configuration is rendered anew, db-sync runs again and pods roll.
	if err := unstructured.SetNestedField(s.source.Object, "RegionTwo", "spec", "region"); err != nil {
		s.t.Fatal(err)
	}
	s.deliver()
	if got := s.says(s.mustLive()); got.Status != "InProgress" {
		s.t.Errorf("right after a change it is %+v", got)
	}
	s.await("Current")
	s.unchanged()

	// A change that needs a person, and its way out.
	s.release("2025.2")
	if got, want := s.await("Failed").Message, "DatabaseReady: DowngradeNotSupported: downgrade from 2026.1 to 2025.2 is not supported"; got != want {
		s.t.Errorf("it says %q, want %q", got, want)
	}
	s.fluxWaits(true)
	s.unchanged()
	s.release("2026.1")
	s.await("Current")
	s.fluxWaits(false)
	s.unchanged()

	// An upgrade: every phase is in progress, and none is a failure.
	s.release("2026.2")
	for _, phase := range []v1alpha1.UpgradePhase{v1alpha1.UpgradePhaseMigrating, v1alpha1.UpgradePhaseRollingUpdate, v1alpha1.UpgradePhaseContracting} {
		s.reaches(phase)
	}
	s.rolled("2026.2")
	s.await("Current")
	s.unchanged()
	s.children()
}

// reaches waits until an upgrade is in a phase or behind it; until then it is in progress.
func (s *stage) reaches(phase v1alpha1.UpgradePhase) {
	s.t.Helper()
	order := []v1alpha1.UpgradePhase{
		v1alpha1.UpgradePhaseExpanding, v1alpha1.UpgradePhaseMigrating, v1alpha1.UpgradePhaseRollingUpdate, v1alpha1.UpgradePhaseContracting,
	}
	cluster.Eventually(s.t, "phase "+string(phase), func(ctx context.Context) (bool, error) {
		u, err := s.live(ctx)
		if err != nil {
			return false, err
		}
		now, _, _ := unstructured.NestedString(u.Object, "status", "upgradePhase")
		installed, _, _ := unstructured.NestedString(u.Object, "status", "installedRelease")
		wanted, _, _ := unstructured.NestedString(u.Object, "spec", "openStackRelease")
		if installed == wanted || slices.Index(order, v1alpha1.UpgradePhase(now)) >= slices.Index(order, phase) {
			return true, nil
		}
		if got := s.says(u); got.Status != "InProgress" {
			s.t.Errorf("in phase %q it is %+v", now, got)
		}
		return false, fmt.Errorf("it is in phase %q", now)
	})
}

// rolled waits for the second roll of an upgrade, which tells pods the installed release.
func (s *stage) rolled(release string) {
	s.t.Helper()
	cluster.Eventually(s.t, "the second roll", func(ctx context.Context) (bool, error) {
		for _, name := range []string{"nova-conductor", "nova-scheduler", "nova-metadata"} {
			d := &appsv1.Deployment{}
			if err := s.client.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: name}, d); err != nil {
				return false, err
			}
			if got := d.Spec.Template.Annotations[v1alpha1.AnnotationInstalledRelease]; got != release || d.Status.ObservedGeneration < d.Generation {
				return false, fmt.Errorf("%s is told %q", name, got)
			}
		}
		return true, nil
	})
}

// release asks for another release.
func (s *stage) release(name string) {
	s.t.Helper()
	for _, field := range [][]string{{"spec", "openStackRelease"}, {"spec", "image", "tag"}} {
		if err := unstructured.SetNestedField(s.source.Object, name, field...); err != nil {
			s.t.Fatal(err)
		}
	}
	s.deliver()
}

// unchanged holds that delivering the Nova once more is nothing: without force, in a dry
// run and for real, and in the eyes of Flux's own engine.
func (s *stage) unchanged() {
	s.t.Helper()
	s.quiet()
	before := s.mustLive()
	s.ownership(before)
	for word, dry := range map[string]bool{"a dry run": true, "delivering it again": false} {
		after, err := s.tool.apply(s.t.Context(), s, s.marked(), dry)
		if err != nil {
			s.t.Errorf("%s without force: %v", word, err)
			continue
		}
		if diff := cmp.Diff(delivered(before), delivered(after)); diff != "" {
			s.t.Errorf("%s changes it: %s", word, diff)
		}
		// The operator may have written a status meanwhile.
		if cmp.Equal(before.Object["status"], after.Object["status"]) && before.GetResourceVersion() != after.GetResourceVersion() {
			s.t.Errorf("%s writes, but nothing differs", word)
		}
	}
	if s.tool.manager != "kustomize-controller" {
		return
	}
	entry, _, _, err := s.flux().Diff(s.t.Context(), s.marked(), ssa.DiffOptions{})
	if err != nil || entry.Action != ssa.UnchangedAction {
		s.t.Errorf("Flux sees %v, %v", entry, err)
	}
	entry, err = s.flux().Apply(s.t.Context(), s.marked(), ssa.DefaultApplyOptions())
	if err != nil || entry.Action != ssa.UnchangedAction {
		s.t.Errorf("Flux applies %v, %v", entry, err)
	}
}

// delivered is an object without its status and what follows from that, and without the
// times of its managers: an apply that changes nothing may set them.
func delivered(u *unstructured.Unstructured) map[string]any {
	u = u.DeepCopy()
	delete(u.Object, "status")
	u.SetResourceVersion("")
	fields := slices.DeleteFunc(u.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool { return e.Subresource == "status" })
	for i := range fields {
		fields[i].Time = nil
	}
	u.SetManagedFields(fields)
	return u.Object
}

// allowed tells whether a manager other than the tool may own a path of a Nova.
func allowed(path string) bool {
	if annotation, ok := strings.CutPrefix(path, ".metadata.annotations."); ok {
		return slices.ContainsFunc(recorded, func(subject string) bool { return annotation == v1alpha1.AnnotationLastJobUID(subject) })
	}
	return strings.HasPrefix(path, ".status") || strings.HasPrefix(path, ".metadata.finalizers")
}

// recorded are what the operator keeps an annotation about.
var recorded = []string{
	v1alpha1.JobSubjectDBSync, v1alpha1.JobSubjectDBSyncCells, v1alpha1.JobSubjectDBExpand, v1alpha1.JobSubjectDBExpandCheck,
	v1alpha1.JobSubjectDBMigrate, v1alpha1.JobSubjectDBContract, v1alpha1.JobSubjectDBArchive,
}

// ownership holds that nobody but the tool owns anything the tool may write, and that
// what the operator recorded is there.
func (s *stage) ownership(u *unstructured.Unstructured) {
	s.t.Helper()
	others := 0
	for _, entry := range u.GetManagedFields() {
		if entry.Manager == s.tool.manager {
			continue
		}
		set := &fieldpath.Set{}
		if err := set.FromJSON(strings.NewReader(string(entry.FieldsV1.GetRawBytes()))); err != nil {
			s.t.Fatal(err)
		}
		others++
		set.Leaves().Iterate(func(p fieldpath.Path) {
			if !allowed(p.String()) {
				s.t.Errorf("%s owns %s", entry.Manager, p)
			}
		})
	}
	if others == 0 {
		s.t.Error("the operator owns nothing: nothing was shown")
	}
	if u.GetAnnotations()[v1alpha1.AnnotationLastJobUID(v1alpha1.JobSubjectDBSync)] == "" || !slices.Contains(u.GetFinalizers(), v1alpha1.FinalizerNova) {
		s.t.Errorf("the operator's records are gone: %v %v", u.GetAnnotations(), u.GetFinalizers())
	}
	for key, value := range s.tool.labels {
		if u.GetLabels()[key] != value {
			s.t.Errorf("label %s is gone", key)
		}
	}
}

// children holds that nothing the operator made carries the tool's marks: a tool takes
// what does, and is not in the repository, for a leftover.
func (s *stage) children() {
	s.t.Helper()
	seen := 0
	for _, gvk := range rendernova.About().Children {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		if err := s.client.List(s.t.Context(), list, client.InNamespace(s.namespace)); err != nil {
			s.t.Fatal(err)
		}
		for _, o := range list.Items {
			if o.GetLabels()[apply.LabelOwnerKind] != v1alpha1.KindNova {
				continue
			}
			seen++
			for key, value := range s.tool.labels {
				if o.GetLabels()[key] == value {
					s.t.Errorf("%s %s carries label %s", o.GetKind(), o.GetName(), key)
				}
			}
			for key := range s.tool.annotations {
				if _, found := o.GetAnnotations()[key]; found {
					s.t.Errorf("%s %s carries annotation %s", o.GetKind(), o.GetName(), key)
				}
			}
		}
	}
	if seen < 20 {
		s.t.Errorf("only %d children", seen)
	}
}

// flux is the engine of Flux's kustomize-controller.
func (s *stage) flux() *ssa.ResourceManager {
	poller := polling.NewStatusPoller(s.client, s.client.RESTMapper(), polling.Options{})
	return ssa.NewResourceManager(s.client, poller, ssa.Owner{Field: s.tool.manager, Group: "kustomize.toolkit.fluxcd.io"})
}

// fluxWaits has Flux wait for the Nova: it comes back at once, well or with a failure.
func (s *stage) fluxWaits(fails bool) {
	s.t.Helper()
	limit := 30 * time.Second
	start := time.Now()
	set := object.ObjMetadataSet{object.UnstructuredToObjMetadata(s.source)}
	err := s.flux().WaitForSetWithContext(s.t.Context(), set, ssa.WaitOptions{Interval: 100 * time.Millisecond, Timeout: limit, FailFast: true})
	if (err != nil) != fails {
		s.t.Errorf("Flux waits for %v", err)
	}
	if fails && err != nil && !strings.Contains(err.Error(), "Failed") {
		s.t.Errorf("Flux says %v", err)
	}
	if took := time.Since(start); took > limit/2 {
		s.t.Errorf("Flux waited %s", took)
	}
}

// freshIsInProgress holds that nobody takes a Nova that no operator has seen for one that
// is up.
func freshIsInProgress(t *testing.T, c *cluster.Cluster, admin client.Client, script health.Script) {
	t.Helper()
	s := &stage{t: t, tool: tools["Flux"], client: admin, script: script, namespace: c.Namespace(t)}
	s.source, _ = fixture(t, "minimal", s.namespace)
	s.deliver()
	if got, want := s.says(s.mustLive()), (health.Answer{Status: "InProgress", Message: "the operator has not seen this generation yet"}); got != want {
		t.Errorf("a new Nova is %+v, want %+v", got, want)
	}
	if err := admin.Delete(t.Context(), s.mustLive()); err != nil {
		t.Fatal(err)
	}
}

// startOperator runs the manager as an installation does, with its webhooks, beside
// everything a Nova needs around it, and nodes that suit every fixture.
func startOperator(t *testing.T, c *cluster.Cluster, admin client.Client) {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	nodes := &corev1.NodeList{}
	if err := admin.List(t.Context(), nodes); err != nil {
		t.Fatal(err)
	}
	for i, n := range nodes.Items {
		patch := fmt.Appendf(nil, `{"metadata":{"labels":{"openstack":"control-plane","topology.kubernetes.io/zone":"z%d"}}}`, i)
		if err := admin.Patch(t.Context(), &n, client.RawPatch(types.MergePatchType, patch)); err != nil {
			t.Fatal(err)
		}
	}
	class := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": int64(1000)}}
	class.SetName("openstack-control-plane")
	if err := surroundings.Apply(t.Context(), c.Config, admin.RESTMapper(), "somebody-else", []*unstructured.Unstructured{class}); err != nil {
		t.Fatal(err)
	}
	played, err := surroundings.Start(t.Context(), c.Config)
	if err != nil {
		t.Fatal(err)
	}
	repository, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	if err := process.InstallRole(t.Context(), c.Config, admin, repository); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "manager.log")
	operator, err := process.Start(t.Context(), process.Options{
		Binary: path, Config: c.Config, Network: played.Network, Log: log, Dir: t.TempDir(), Webhooks: true,
		Args: []string{"--metrics-bind-address=127.0.0.1:0", "--health-probe-bind-address=0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := operator.Stop(); err != nil {
			t.Errorf("the manager: %v", err)
		}
		if t.Failed() {
			raw, err := os.ReadFile(log)
			t.Logf("log of the manager: %s %v", raw[max(0, len(raw)-8000):], err)
		}
	})
}

func clientFor(t *testing.T, c *cluster.Cluster) client.Client {
	t.Helper()
	out, err := world.NewClient(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

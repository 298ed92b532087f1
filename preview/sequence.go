package preview

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/apply/diff"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/pipeline"
)

// The ends of an upgrade in a sequence.
const (
	phaseDone    = "Done"
	phaseAborted = "Aborted"
)

// sequence follows the passes of the forecast and lists what runs: Jobs, and what
// happens to pods. What a pass wants is compared with what the one before it left.
func (b *builder) sequence() {
	last := map[render.Key]*unstructured.Unstructured{}
	for _, res := range b.in.Results {
		if runs(res.Key) && res.Before != nil {
			last[res.Key] = res.Before
		}
	}
	if b.in.Forecast == nil {
		b.stopAll(last)
		return
	}
	gone := map[render.Key]string{}
	for _, pass := range b.in.Forecast.Passes {
		// The end of an upgrade comes before what it lets roll, any other phase after what
		// led to it.
		if pass.Turn != nil && pass.Turn.To == "" {
			b.turn(pass.Turn)
		}
		for _, a := range pass.Set.Absent {
			if live := last[a.Key]; live != nil && (a.UID == "" || a.UID == string(live.GetUID()) || live.GetUID() == "") {
				b.stop(a, live)
				delete(last, a.Key)
				gone[a.Key] = a.Reason
			}
		}
		for _, o := range pass.Set.Desired {
			key := o.Key()
			if !runs(key) {
				continue
			}
			b.applied(key, last[key], o.Content, gone[key])
			if key.GroupVersionKind != render.KindJob || last[key] == nil {
				last[key] = carry(last[key], o.Content)
			}
			delete(gone, key)
		}
		if pass.Turn != nil && pass.Turn.To != "" {
			b.turn(pass.Turn)
		}
	}
	b.out.Summary.tally(b.out.Sequence)
}

// turn adds the phase that a pass turned.
func (b *builder) turn(t *pipeline.Turn) {
	end := phaseDone
	if t.Aborted {
		end = phaseAborted
	}
	b.out.Sequence = append(b.out.Sequence, Run{Kind: RunPhase, Phase: cmp.Or(t.To, end)})
}

// workloads are the kinds that hold pods for as long as they exist.
var workloads = map[schema.GroupVersionKind]bool{render.KindDeployment: true, render.KindDaemonSet: true}

// runs tells the kinds that run something at once.
func runs(key render.Key) bool {
	return key.GroupVersionKind == render.KindJob || workloads[key.GroupVersionKind]
}

// carry is the object after an apply. A count of pods that the payload leaves to others
// stays.
func carry(before, applied *unstructured.Unstructured) *unstructured.Unstructured {
	if before == nil {
		return applied
	}
	count, ok, _ := unstructured.NestedInt64(before.Object, "spec", "replicas")
	if _, says, _ := unstructured.NestedInt64(applied.Object, "spec", "replicas"); !ok || says {
		return applied
	}
	after := applied.DeepCopy()
	_ = unstructured.SetNestedField(after.Object, count, "spec", "replicas")
	return after
}

// podsOf is how many pods a workload has: the count of a Deployment, or the least that its
// autoscaler keeps; the nodes of a live DaemonSet, and 0 for one that nobody saw.
func (b *builder) podsOf(u *unstructured.Unstructured) int {
	if u.GetKind() == render.KindDaemonSet.Kind {
		return b.nodesOf(u.GetName())
	}
	if count, ok, _ := unstructured.NestedInt64(u.Object, "spec", "replicas"); ok {
		return int(count)
	}
	for _, res := range b.in.Results {
		if res.Key.GroupVersionKind != render.KindHPA || res.Live == nil {
			continue
		}
		target, _, _ := unstructured.NestedString(res.Live.Object, "spec", "scaleTargetRef", "name")
		least, ok, _ := unstructured.NestedInt64(res.Live.Object, "spec", "minReplicas")
		if target == u.GetName() && ok {
			return int(least)
		}
	}
	return 1
}

// nodesOf is on how many nodes a DaemonSet runs, as the API server told it.
func (b *builder) nodesOf(name string) int {
	for _, res := range b.in.Results {
		if res.Key.GroupVersionKind == render.KindDaemonSet && res.Key.Name == name && res.Before != nil {
			nodes, _, _ := unstructured.NestedInt64(res.Before.Object, "status", "desiredNumberScheduled")
			return int(nodes)
		}
	}
	return 0
}

// rollsItself is false for a DaemonSet whose pods stay until somebody deletes them.
func rollsItself(u *unstructured.Unstructured) bool {
	strategy, _, _ := unstructured.NestedString(u.Object, "spec", "updateStrategy", "type")
	return strategy != string(appsv1.OnDeleteDaemonSetStrategyType)
}

// applied says what applying one object over another does.
func (b *builder) applied(key render.Key, before, after *unstructured.Unstructured, gone string) {
	name := key.Kind + "/" + key.Name
	if key.GroupVersionKind == render.KindJob {
		if before == nil {
			b.out.Sequence = append(b.out.Sequence, Run{Kind: RunJob, Object: name, Why: nonEmpty(firstClause(gone))})
		}
		return
	}
	if before == nil {
		b.out.Sequence = append(b.out.Sequence, Run{Kind: RunStart, Object: name, Pods: b.podsOf(after)})
		return
	}
	after = carry(before, after)
	why, scaled := causes(diff.Compare(before, after, b.in.Mask))
	switch {
	case len(why) > 0 && rollsItself(after):
		b.out.Sequence = append(b.out.Sequence, Run{Kind: RunRollout, Object: name, Why: why, Pods: b.podsOf(after)})
	case scaled != "":
		b.out.Sequence = append(b.out.Sequence, Run{Kind: RunScale, Object: name, Why: []string{scaled}})
	}
}

func nonEmpty(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}

func (b *builder) stop(a render.Absent, live *unstructured.Unstructured) {
	if workloads[a.GroupVersionKind] {
		b.out.Sequence = append(b.out.Sequence, Run{
			Kind: RunStop, Object: a.Kind + "/" + a.Name, Why: nonEmpty(a.Reason), Pods: b.podsOf(live),
		})
	}
}

// stopAll is the deletion of a resource.
func (b *builder) stopAll(live map[render.Key]*unstructured.Unstructured) {
	for _, res := range b.in.Results {
		if u := live[res.Key]; u != nil {
			b.stop(render.Absent{Key: res.Key}, u)
		}
	}
	b.out.Summary.tally(b.out.Sequence)
}

const template = "spec.template."

// causes words what in a pod template makes its pods roll, and a change of their number.
func causes(changes []diff.Change) (why []string, scaled string) {
	for _, c := range changes {
		rest, inTemplate := strings.CutPrefix(c.Path, template)
		switch {
		case inTemplate:
			if words := cause(rest, c); !slices.Contains(why, words) {
				why = append(why, words)
			}
		case c.Path == "spec.replicas":
			scaled = fmt.Sprintf("replicas %s to %s", show(c.From), show(c.To))
		}
	}
	return why, scaled
}

func cause(path string, c diff.Change) string {
	switch words := credential(path); {
	case words != "":
		return words
	case strings.HasSuffix(path, "].image"):
		return fmt.Sprintf("image %v to %v", c.From, c.To)
	case followsConfiguration(path):
		return "configuration"
	case strings.HasSuffix(path, "annotations["+v1alpha1.AnnotationInstalledRelease+"]"):
		return fmt.Sprintf("installed release %v to %v", c.From, c.To)
	}
	path = strings.TrimPrefix(path, "spec.")
	if rest, ok := strings.CutPrefix(path, "containers["); ok {
		if _, field, ok := strings.Cut(rest, "]."); ok {
			path = field
		}
	}
	head, _, _ := strings.Cut(path, ".")
	head, _, _ = strings.Cut(head, "[")
	return head
}

// tally counts a sequence.
func (s *Summary) tally(all []Run) {
	rolled := map[string]bool{}
	for _, run := range all {
		switch run.Kind {
		case RunJob:
			s.Jobs++
		case RunRollout:
			s.Rollouts++
			s.Pods += run.Pods
			if !rolled[run.Object] {
				rolled[run.Object] = true
				if kind, _, _ := strings.Cut(run.Object, "/"); kind == render.KindDaemonSet.Kind {
					s.DaemonSets++
				} else {
					s.Deployments++
				}
			}
		case RunStart:
			s.Started += run.Pods
		case RunStop:
			s.Stopped += run.Pods
		case RunPhase, RunScale:
		}
	}
}

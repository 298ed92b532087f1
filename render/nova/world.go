package nova

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/facts"
	"github.com/c5c3/nova-operator/render/foresee"
	"github.com/c5c3/nova-operator/render/pipeline"
)

// liveKind is a kind of children whose live state decisions read.
type liveKind struct {
	// absorb takes a live object in.
	absorb func(*Observed, *unstructured.Unstructured) error
	// assume takes an object that was applied for one that came up.
	assume func(*Observed, *unstructured.Unstructured) error
	// forget drops an object that was deleted.
	forget func(o *Observed, name string)
}

// liveKinds is where the live state of each kind stands in an observation.
var liveKinds = map[schema.GroupVersionKind]liveKind{
	render.KindDatabase:   kept(func(o *Observed) *map[string]facts.Database { return &o.Databases }, facts.DatabaseOf, databaseComesReady),
	render.KindUser:       kept(func(o *Observed) *map[string]facts.Readiness { return &o.Users }, facts.ReadinessOf, comesReady),
	render.KindGrant:      kept(func(o *Observed) *map[string]facts.Readiness { return &o.Grants }, facts.ReadinessOf, comesReady),
	render.KindHTTPRoute:  kept(func(o *Observed) *map[string]facts.Route { return &o.Routes }, facts.RouteOf, isAccepted),
	render.KindDeployment: kept(func(o *Observed) *map[string]facts.Deployment { return &o.Deployments }, facts.DeploymentOf, facts.CameUp),
	render.KindJob:        kept(func(o *Observed) *map[string]facts.Job { return &o.Jobs }, facts.JobOf, runsThrough),
}

// kept is a kind that a map of the observation holds by name. assumed says what becomes of
// an object that was applied; before is what was there, if anything.
func kept[V any](
	in func(*Observed) *map[string]V,
	read func(*unstructured.Unstructured) (V, error),
	assumed func(payload *unstructured.Unstructured, before V, there bool) (V, error),
) liveKind {
	put := func(o *Observed, name string, value V) {
		m := in(o)
		if *m == nil {
			*m = map[string]V{}
		}
		(*m)[name] = value
	}
	return liveKind{
		absorb: func(o *Observed, u *unstructured.Unstructured) error {
			value, err := read(u)
			if err == nil {
				put(o, u.GetName(), value)
			}
			return err
		},
		assume: func(o *Observed, u *unstructured.Unstructured) error {
			before, there := (*in(o))[u.GetName()]
			value, err := assumed(u, before, there)
			if err == nil {
				put(o, u.GetName(), value)
			}
			return err
		},
		forget: func(o *Observed, name string) { delete(*in(o), name) },
	}
}

func comesReady(*unstructured.Unstructured, facts.Readiness, bool) (facts.Readiness, error) {
	return facts.Readiness{Ready: true}, nil
}

func databaseComesReady(payload *unstructured.Unstructured, before facts.Database, _ bool) (facts.Database, error) {
	return facts.Database{
		Readiness: facts.Readiness{Ready: true}, UID: before.UID, Release: payload.GetAnnotations()[v1alpha1.AnnotationSchemaRelease],
	}, nil
}

func isAccepted(*unstructured.Unstructured, facts.Route, bool) (facts.Route, error) {
	return facts.Route{Accepted: true}, nil
}

// runsThrough leaves a Job that is there: it ran what it was made for.
func runsThrough(payload *unstructured.Unstructured, before facts.Job, there bool) (facts.Job, error) {
	if there {
		return before, nil
	}
	job := facts.RanThrough(payload)
	if payload.GetLabels()[v1alpha1.LabelComponent] == v1alpha1.ComponentDBInspect {
		job.Message = emptySchemas
	}
	return job, nil
}

// Absorb takes a live child into the observation. A kind that decisions do not look at
// changes nothing. What was read of the pods of a Job stays.
func (o *Observed) Absorb(u *unstructured.Unstructured) error {
	kind, ok := liveKinds[u.GroupVersionKind()]
	if !ok {
		return nil
	}
	report := o.Jobs[u.GetName()].Message
	if err := kind.absorb(o, u); err != nil {
		return err
	}
	if job, isJob := o.Jobs[u.GetName()]; isJob && report != "" {
		job.Message = report
		o.Jobs[u.GetName()] = job
	}
	return nil
}

// Absorb takes a live child into the observation.
func (in *Input) Absorb(u *unstructured.Unstructured) error { return in.Observed.Absorb(u) }

// Clone implements foresee.World.
func (in *Input) Clone() foresee.World { return in.clone() }

// clone is an independent copy for decisions that are taken again and again.
func (in *Input) clone() *Input {
	out := &Input{Nova: in.Nova.DeepCopy(), Observed: in.Observed.clone(), Settings: in.Settings, forms: in.forms}
	if out.forms == nil {
		out.forms = render.Forms{}
	}
	return out
}

// World is a Nova of whose world nothing was observed. It keeps a copy.
func World(n *v1alpha1.Nova, settings render.Settings) *Input {
	in := Input{Nova: n, Settings: settings}
	return in.clone()
}

// Become replaces the resource as a change of its manifest does: the status stays.
func (in *Input) Become(r v1alpha1.Resource) {
	n := r.(*v1alpha1.Nova).DeepCopy()
	n.TakeStatus(in.Nova)
	in.Nova = n
}

// AssumeInputs opens the gates on what the resource refers to, and returns the names of
// the placeholders that stand in for credentials, as secret/key, sorted.
func (in *Input) AssumeInputs() []string {
	in.Observed = in.Observed.clone()
	return in.assumeInputs()
}

// LoseTarget says why the cluster of the children does not resolve: nothing is seen of it.
func (in *Input) LoseTarget(why string) { in.Observed = Observed{TargetCluster: why} }

// InUse names the generation of the configuration that the pods of the API read; empty for
// none.
func (in *Input) InUse() string { return in.Observed.Deployments[in.Nova.Name].ConfigMap }

// Document is the observation, to be read or printed as YAML.
func (in *Input) Document() any { return &in.Observed }

// Secrets are the Secrets in the observation.
func (in *Input) Secrets() map[string]facts.SecretData { return in.Observed.Secrets }

// AddSecrets lets the observation see more Secrets.
func (in *Input) AddSecrets(secrets map[string]facts.SecretData) {
	in.Observed.Secrets = copied(in.Observed.Secrets)
	maps.Copy(in.Observed.Secrets, secrets)
}

// Foresee says what the passes over a Nova do, from the observation on. The input stays as
// it is.
func Foresee(in Input, refused ...render.Key) foresee.Forecast {
	return foresee.Run(in.clone(), refused...)
}

// Settle decides about a Nova in a world where everything comes up. The input stays as it
// is. The second result is that of AssumeInputs.
func Settle(in Input) (pipeline.Decision, []string) { return foresee.Settle(in.clone()) }

// Assume implements foresee.World.
func (in *Input) Assume(d pipeline.Decision, refused []render.Key) {
	in.assumeStatus(d)
	seen := &in.Observed
	for name, job := range seen.Jobs {
		if !job.Ended() && !job.Deleting {
			job.Complete = true
			seen.Jobs[name] = job
		}
	}
	for _, gone := range d.Set.Absent {
		if kind, ok := liveKinds[gone.GroupVersionKind]; ok {
			kind.forget(seen, gone.Name)
		}
	}
	for _, o := range d.Set.Desired {
		if !slices.Contains(refused, o.Key()) {
			seen.assume(o.Content)
		}
	}
	if seen.Health == nil && !saysAnswer(meta.FindStatusCondition(d.Conditions, v1alpha1.ConditionNovaAPIReady)) {
		seen.Health = answeredOK()
	}
}

// assumeStatus stores the status a pass would write.
func (in *Input) assumeStatus(d pipeline.Decision) {
	conditions := in.Nova.Status.Conditions
	after := statusOf(d)
	in.Nova.Status = *after.DeepCopy()
	for _, c := range d.Conditions {
		conditions = pipeline.Replace(conditions, c)
	}
	in.Nova.Status.Conditions = conditions
}

// assume makes one applied object come up. One that does not decode as its kind came past
// no API server, and nothing is known of it.
func (o *Observed) assume(u *unstructured.Unstructured) {
	switch gvk := u.GroupVersionKind(); gvk {
	case render.KindConfigMap:
		if !slices.ContainsFunc(o.ConfigMaps, func(cm facts.ConfigMap) bool { return cm.Name == u.GetName() }) {
			o.ConfigMaps = append(slices.Clone(o.ConfigMaps), facts.ConfigMap{Name: u.GetName()})
		}
	case render.KindCronJob:
		o.ArchiveConfigMap = facts.MountedConfigMap(u)
	default:
		if kind, ok := liveKinds[gvk]; ok {
			_ = kind.assume(o, u)
		}
	}
}

// saysAnswer tells a condition that repeats an answer of the API other than success.
func saysAnswer(c *metav1.Condition) bool {
	return c != nil && c.Status != metav1.ConditionTrue && c.Reason != v1alpha1.ReasonEndpointNotReady
}

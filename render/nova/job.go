package nova

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/facts"
	"github.com/c5c3/nova-operator/render/pod"
	"github.com/c5c3/nova-operator/render/workload"
)

// migration is one run-once Job of the schemas.
type migration struct {
	suffix, component string
	argv              func(*v1alpha1.Nova) []string
}

// migrations are the five, by id in the index of children.
var migrations = map[string]migration{
	childDBInspect: {suffixDBInspect, v1alpha1.ComponentDBInspect, func(*v1alpha1.Nova) []string {
		return shell(v1alpha1.ComponentDBInspect, dbInspectScript)
	}},
	childDBSync: {suffixDBSync, v1alpha1.ComponentDBSync, func(n *v1alpha1.Nova) []string {
		return shell(v1alpha1.ComponentDBSync, dbSyncScript, n.Spec.Database.Database)
	}},
	childDBExpand: {suffixDBExpand, v1alpha1.ComponentDBExpand, func(*v1alpha1.Nova) []string {
		return shell(v1alpha1.ComponentDBExpand, dbExpandScript)
	}},
	childDBMigrate: {suffixDBMigrate, v1alpha1.ComponentDBMigrate, func(*v1alpha1.Nova) []string {
		return []string{"nova-manage", "--config-dir", configDir, "cell_v2", "list_cells"}
	}},
	childDBContract: {suffixDBContract, v1alpha1.ComponentDBContract, func(*v1alpha1.Nova) []string {
		return shell(v1alpha1.ComponentDBContract, dbContractScript)
	}},
}

// migrationJob builds the run-once Job of a migration.
func migrationJob(id string) builder {
	return func(p *pass) (render.Resource, error) {
		m := migrations[id]
		template, err := m.template(p)
		if err != nil {
			return nil, err
		}
		job, err := workload.RunOnceJob(p.nova.Name+m.suffix, p.nova.Namespace, labelsOf(p.nova).Component(m.component), template)
		if err != nil {
			return nil, err
		}
		if databases := facts.DatabasesAnnotation(p.incarnations()); databases != "" {
			job.WithAnnotations(map[string]string{v1alpha1.AnnotationDatabases: databases})
		}
		return job, nil
	}
}

// incarnations are the live Database objects, UID by name; none before all are there. It is
// not part of the template of a Job, whose hash it must not change.
func (p *pass) incarnations() map[string]string {
	uids := map[string]string{}
	for name, d := range p.seen.Databases {
		if d.UID != "" {
			uids[name] = d.UID
		}
	}
	if len(uids) < ManagedSchemas(p.nova) {
		return nil
	}
	return uids
}

// madeAnew names a Database that is another one than a Job was made for; empty for none.
// What a Job says nothing about counts as the same.
func (p *pass) madeAnew(job facts.Job) string {
	for _, name := range slices.Sorted(maps.Keys(job.Databases)) {
		if d, live := p.seen.Databases[name]; live && d.UID != "" && d.UID != job.Databases[name] {
			return name
		}
	}
	return ""
}

// runOnce decides about the Job of a migration.
func (p *pass) runOnce(id string) (facts.Job, workload.JobState) {
	m := migrations[id]
	live, exists := p.seen.Jobs[p.nova.Name+m.suffix]
	if !exists {
		return facts.Job{}, workload.JobRunning
	}
	template, err := m.template(p)
	if err != nil {
		p.Refuse(err)
		return live, workload.JobRunning
	}
	return live, workload.RunOnce(p.Pass, id, live, template)
}

// template is the pod template of a migration, from which its hash is taken.
func (m migration) template(p *pass) (*corev1ac.PodTemplateSpecApplyConfiguration, error) {
	return jobTemplate(p, m.component, corev1.RestartPolicyNever, m.argv(p.nova), jobEnvironment(p.nova))
}

// jobTemplate is the pod template of every Job and CronJob. Its labels carry name and
// instance, so that the NetworkPolicy covers the pod, and never component api, or the
// API's Service would send requests there.
func jobTemplate(
	p *pass, component string, restart corev1.RestartPolicy, argv []string, env []*corev1ac.EnvVarApplyConfiguration,
) (*corev1ac.PodTemplateSpecApplyConfiguration, error) {
	n := p.nova
	jobs := n.Spec.Jobs
	if jobs == nil {
		jobs = &v1alpha1.JobSpec{}
	}
	resources, err := pod.Resources(jobs.Resources, defaultCPU, pod.Memory(1, 1))
	if err != nil {
		return nil, err
	}
	vols := jobVolumes(p)
	spec := corev1ac.PodSpec().
		WithAutomountServiceAccountToken(false).
		WithRestartPolicy(restart).
		WithSecurityContext(pod.Security()).
		WithContainers(corev1ac.Container().
			WithName(component).
			WithImage(n.Spec.Image.Reference()).
			WithImagePullPolicy(pod.PullPolicy(n.Spec.Image, p.in.Settings.PullPolicy)).
			WithCommand(argv...).
			WithEnv(env...).
			WithResources(resources).
			WithVolumeMounts(vols.mounts...).
			WithSecurityContext(pod.ContainerSecurity())).
		WithVolumes(vols.volumes...)
	if class := jobPriority(n, jobs); class != "" {
		spec.WithPriorityClassName(class)
	}
	if err := pod.Place(spec, jobPlacement(n, jobs)); err != nil {
		return nil, err
	}
	return corev1ac.PodTemplateSpec().WithLabels(labelsOf(n).Component(component)).WithSpec(spec), nil
}

// jobPriority falls back to the API's class; an empty one opts out.
func jobPriority(n *v1alpha1.Nova, jobs *v1alpha1.JobSpec) string {
	class := jobs.PriorityClassName
	if class == nil {
		class = n.Spec.API.Deployment.PriorityClassName
	}
	if class == nil {
		return ""
	}
	return *class
}

// jobPlacement falls back to the API's placement field by field. Of its affinity only
// the node part applies: pod (anti-)affinity is about spreading replicas.
func jobPlacement(n *v1alpha1.Nova, jobs *v1alpha1.JobSpec) v1alpha1.NodePlacementSpec {
	fallback := n.Spec.API.Deployment.NodePlacementSpec
	placement := v1alpha1.NodePlacementSpec{NodeSelector: jobs.NodeSelector, Tolerations: jobs.Tolerations, Affinity: jobs.Affinity}
	if placement.NodeSelector == nil {
		placement.NodeSelector = fallback.NodeSelector
	}
	if placement.Tolerations == nil {
		placement.Tolerations = fallback.Tolerations
	}
	switch {
	case placement.Affinity == nil && fallback.Affinity != nil && fallback.Affinity.NodeAffinity != nil:
		placement.Affinity = &corev1.Affinity{NodeAffinity: fallback.Affinity.NodeAffinity}
	case placement.Affinity != nil && *placement.Affinity == (corev1.Affinity{}):
		placement.Affinity = nil
	}
	return placement
}

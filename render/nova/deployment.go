package nova

import (
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/pod"
)

// defaultCPU is the request of a container that names no CPU. There is no limit: a
// throttled service is slower for nobody's gain.
var defaultCPU = resource.MustParse("70m")

// deployment builds the Deployment of a role.
func deployment(r *role) builder {
	return func(p *pass) (render.Resource, error) {
		block := r.deployment(p.nova)
		if block == nil {
			return nil, nil
		}
		template, err := workloadTemplate(p, r, block)
		if err != nil {
			return nil, err
		}
		strategy, err := rolloutStrategy(block)
		if err != nil {
			return nil, err
		}
		spec := appsv1ac.DeploymentSpec().
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(labelsOf(p.nova).Selector(r.component))).
			WithStrategy(strategy).
			WithTemplate(template)
		spec.Replicas = p.replicas(r, block)
		return appsv1ac.Deployment(r.name(p.nova), p.nova.Namespace).
			WithLabels(labelsOf(p.nova).Component(r.component)).
			WithSpec(spec), nil
	}
}

// replicas leaves the count of the API to its autoscaler. While the operator is still
// the field's only owner the live count is carried on: dropping a field that nobody
// else owns would reset it to 1.
func (p *pass) replicas(r *role, block *v1alpha1.DeploymentSpec) *int32 {
	if r != &api || p.nova.Spec.Autoscaling == nil {
		return &block.Replicas
	}
	if live, ok := p.seen.Deployments[r.name(p.nova)]; ok && live.OwnsReplicas {
		return live.Replicas
	}
	return nil
}

// scaledReplicas is the field the autoscaler may take at any moment, also between the
// observation of a count and its apply.
func scaledReplicas(n *v1alpha1.Nova) string {
	if n.Spec.Autoscaling == nil {
		return ""
	}
	return "spec.replicas"
}

func rolloutStrategy(block *v1alpha1.DeploymentSpec) (*appsv1ac.DeploymentStrategyApplyConfiguration, error) {
	if block.Strategy != nil {
		return pod.Convert[appsv1ac.DeploymentStrategyApplyConfiguration](block.Strategy)
	}
	return appsv1ac.DeploymentStrategy().
		WithType(appsv1.RollingUpdateDeploymentStrategyType).
		WithRollingUpdate(appsv1ac.RollingUpdateDeployment().
			WithMaxUnavailable(intstr.FromInt32(0)).
			WithMaxSurge(intstr.FromInt32(1))), nil
}

func workloadTemplate(p *pass, r *role, block *v1alpha1.DeploymentSpec) (*corev1ac.PodTemplateSpecApplyConfiguration, error) {
	container, err := workloadContainer(p, r, block)
	if err != nil {
		return nil, err
	}
	vols := workloadVolumes(p, r)
	container.WithVolumeMounts(vols.mounts...)
	spread, err := topologySpread(p.nova, r, block)
	if err != nil {
		return nil, err
	}
	spec := corev1ac.PodSpec().
		WithAutomountServiceAccountToken(false).
		WithSecurityContext(pod.Security()).
		WithTerminationGracePeriodSeconds(gracePeriod(p.nova, block)).
		WithContainers(container).
		WithVolumes(vols.volumes...).
		WithTopologySpreadConstraints(spread...)
	if block.PriorityClassName != nil && *block.PriorityClassName != "" {
		spec.WithPriorityClassName(*block.PriorityClassName)
	}
	if err := pod.Place(spec, block.NodePlacementSpec); err != nil {
		return nil, err
	}
	return corev1ac.PodTemplateSpec().
		WithLabels(labelsOf(p.nova).Component(r.component)).
		WithAnnotations(p.digests(r)).
		WithSpec(spec), nil
}

func workloadContainer(p *pass, r *role, block *v1alpha1.DeploymentSpec) (*corev1ac.ContainerApplyConfiguration, error) {
	processes, threads := r.size(p.nova)
	resources, err := pod.Resources(block.Resources, defaultCPU, pod.Memory(processes, threads))
	if err != nil {
		return nil, err
	}
	c := corev1ac.Container().
		WithName(r.container).
		WithImage(p.nova.Spec.Image.Reference()).
		WithImagePullPolicy(pod.PullPolicy(p.nova.Spec.Image, p.in.Settings.PullPolicy)).
		WithCommand(r.argv(p.nova)...).
		WithEnv(environment(p.nova, r.env, p.credentials.brokerPort)...).
		WithResources(resources).
		WithLifecycle(corev1ac.Lifecycle().WithPreStop(corev1ac.LifecycleHandler().WithExec(
			corev1ac.ExecAction().WithCommand("/bin/sh", "-c", "sleep "+strconv.FormatInt(preStop(block), 10))))).
		WithSecurityContext(pod.ContainerSecurity())
	if r.port != 0 {
		c.WithPorts(corev1ac.ContainerPort().WithName(r.container).WithContainerPort(r.port).WithProtocol(corev1.ProtocolTCP))
	}
	probe(c, r)
	return c, nil
}

// probe sets the probes of a role. The bus roles have no liveness probe: a broker
// outage must not restart them.
func probe(c *corev1ac.ContainerApplyConfiguration, r *role) {
	if r.probes.path == "" {
		c.WithReadinessProbe(corev1ac.Probe().
			WithExec(corev1ac.ExecAction().WithCommand("/var/lib/openstack/bin/nova-amqp-ready")).
			WithPeriodSeconds(5).WithTimeoutSeconds(5).WithFailureThreshold(1))
		return
	}
	get := func() *corev1ac.ProbeApplyConfiguration {
		return corev1ac.Probe().WithHTTPGet(corev1ac.HTTPGetAction().WithPath(r.probes.path).WithPort(intstr.FromInt32(r.port)))
	}
	c.WithReadinessProbe(get().WithInitialDelaySeconds(10).WithPeriodSeconds(15).WithTimeoutSeconds(10).WithFailureThreshold(3))
	if r.probes.full {
		c.WithStartupProbe(get().WithFailureThreshold(30).WithPeriodSeconds(10).WithTimeoutSeconds(8))
		c.WithLivenessProbe(get().WithInitialDelaySeconds(15).WithPeriodSeconds(20))
	}
}

// topologySpread is the block's list, or one constraint each for zone and host.
func topologySpread(
	n *v1alpha1.Nova, r *role, block *v1alpha1.DeploymentSpec,
) ([]*corev1ac.TopologySpreadConstraintApplyConfiguration, error) {
	if block.TopologySpreadConstraints != nil {
		return pod.ConvertAll[corev1ac.TopologySpreadConstraintApplyConfiguration](block.TopologySpreadConstraints)
	}
	var out []*corev1ac.TopologySpreadConstraintApplyConfiguration
	for _, key := range []string{corev1.LabelTopologyZone, corev1.LabelHostname} {
		out = append(out, corev1ac.TopologySpreadConstraint().
			WithMaxSkew(1).
			WithTopologyKey(key).
			WithWhenUnsatisfiable(corev1.ScheduleAnyway).
			WithLabelSelector(metav1ac.LabelSelector().WithMatchLabels(labelsOf(n).Selector(r.component))))
	}
	return out, nil
}

// digests are the pod-template annotations that roll a role when a credential
// changes. The first gate keeps this from running while one is unknown, so none is
// ever cleared.
func (p *pass) digests(r *role) map[string]string {
	c := p.credentials
	annotations := map[string]string{
		v1alpha1.AnnotationAPIDBConnectionHash: c.api.dsn.Digest(),
		v1alpha1.AnnotationDBConnectionHash:    c.cell.dsn.Digest(),
		v1alpha1.AnnotationAuthtokenHash:       c.servicePassword.Digest(),
		v1alpha1.AnnotationTransportURLHash:    c.transport.Digest(),
	}
	if r.env.metadataSecret {
		annotations[v1alpha1.AnnotationMetadataSecretHash] = c.metadataSecret.Digest()
	}
	if r.followsRelease {
		installed := p.status.InstalledRelease
		if installed == "" {
			installed = p.nova.Spec.OpenStackRelease
		}
		annotations[v1alpha1.AnnotationInstalledRelease] = installed
	}
	return annotations
}

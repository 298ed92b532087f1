// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/c5c3/nova-operator/api/catalog"
)

// shutdownMargin is how long a pod may take beyond nova's own shutdown time, in seconds.
const shutdownMargin = 5

// deploymentBlock is one deployment block of the spec with where it stands.
type deploymentBlock struct {
	path       *field.Path
	component  string
	deployment *DeploymentSpec
}

// deploymentBlocks are the blocks that become Deployments: the console proxy's only while
// it is enabled.
func (n *Nova) deploymentBlocks(spec *field.Path) []deploymentBlock {
	blocks := []deploymentBlock{
		{spec.Child("api", "deployment"), ComponentAPI, &n.Spec.API.Deployment},
		{spec.Child("metadata", "deployment"), ComponentMetadata, &n.Spec.Metadata.Deployment},
		{spec.Child("scheduler", "deployment"), ComponentScheduler, &n.Spec.Scheduler.Deployment},
		{spec.Child("conductor", "deployment"), ComponentConductor, &n.Spec.Conductor.Deployment},
	}
	if proxy := &n.Spec.ConsoleProxy; proxy.IsEnabled() && proxy.Deployment != nil {
		blocks = append(blocks, deploymentBlock{spec.Child("consoleProxy", "deployment"), ComponentConsoleProxy, proxy.Deployment})
	}
	return blocks
}

func validateDeployments(nova *Nova, spec *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, block := range nova.deploymentBlocks(spec) {
		d, path := block.deployment, block.path
		errs = append(errs, atLeast(path.Child("replicas"), &d.Replicas, 1, "replicas must be at least 1")...)
		errs = append(errs, nova.validateShutdown(d, path)...)
		errs = append(errs, validateStrategy(d.Strategy, path.Child("strategy"))...)
		errs = append(errs, validateResources(d.Resources, path.Child("resources"))...)
		errs = append(errs, validatePlacement(d.NodeSelector, d.Tolerations, path)...)
		errs = append(errs, validateTopologySpread(d.TopologySpreadConstraints, nova.selector(block.component), path.Child("topologySpreadConstraints"))...)
		errs = append(errs, validateVerticalAutoscaling(d.VerticalAutoscaling, path.Child("verticalAutoscaling"))...)
	}
	return errs
}

// selector is the pod selector of one component's Deployment.
func (n *Nova) selector(component string) map[string]string {
	return map[string]string{LabelName: AppNova, LabelInstance: n.Name, LabelComponent: component}
}

// grace is how long a pod of a block has to stop, in seconds: what the block names, else
// nova's shutdown time and a margin.
func (n *Nova) grace(d *DeploymentSpec) int64 {
	if d.TerminationGracePeriodSeconds != nil {
		return *d.TerminationGracePeriodSeconds
	}
	return int64(catalog.ShutdownTimeout(n.Spec.OpenStackRelease, n.Spec.ExtraConfig.Catalog())) + shutdownMargin
}

func (d *DeploymentSpec) preStop() int64 {
	if d.PreStopSleepSeconds != nil {
		return *d.PreStopSleepSeconds
	}
	return DefaultPreStopSleep
}

// validateShutdown compares the preStop sleep with the grace period. The schema knows no
// shutdown time of nova and reads an unset grace period as 30, so the lower one counts.
func (n *Nova) validateShutdown(d *DeploymentSpec, path *field.Path) field.ErrorList {
	errs := atLeast(path.Child("terminationGracePeriodSeconds"), d.TerminationGracePeriodSeconds, 10, "terminationGracePeriodSeconds must be at least 10")
	errs = append(errs, atLeast(path.Child("preStopSleepSeconds"), d.PreStopSleepSeconds, 0, "preStopSleepSeconds must be non-negative")...)
	grace := n.grace(d)
	if d.TerminationGracePeriodSeconds == nil {
		grace = min(grace, DefaultTerminationGrace)
	}
	if d.preStop() >= grace {
		errs = append(errs, field.Invalid(path.Child("preStopSleepSeconds"), d.preStop(), fmt.Sprintf(
			"preStopSleepSeconds (%d) must be strictly less than terminationGracePeriodSeconds (%d)", d.preStop(), grace)))
	}
	return errs
}

func validateStrategy(strategy *appsv1.DeploymentStrategy, path *field.Path) field.ErrorList {
	if strategy != nil && strategy.Type == appsv1.RecreateDeploymentStrategyType && strategy.RollingUpdate != nil {
		return field.ErrorList{field.Forbidden(path.Child("rollingUpdate"), "rollingUpdate must not be set when strategy.type is Recreate")}
	}
	return nil
}

func validateResources(resources *corev1.ResourceRequirements, path *field.Path) field.ErrorList {
	if resources == nil {
		return nil
	}
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(resources.Requests)) {
		request := resources.Requests[name]
		if limit, found := resources.Limits[name]; found && request.Cmp(limit) > 0 {
			errs = append(errs, field.Invalid(path.Child("requests", string(name)), request.String(),
				fmt.Sprintf("%s request must not exceed limit (%s)", name, limit.String())))
		}
	}
	return errs
}

func validateVerticalAutoscaling(vpa *VerticalAutoscalingSpec, path *field.Path) field.ErrorList {
	if vpa == nil {
		return nil
	}
	errs := required(path.Child("updateMode"), vpa.UpdateMode, "updateMode must be set")
	errs = append(errs, oneOf(path.Child("updateMode"), vpa.UpdateMode, "Off", "Initial", "Recreate", "Auto")...)
	errs = append(errs, atLeast(path.Child("minReplicas"), vpa.MinReplicas, 1, "minReplicas must be at least 1")...)
	for _, bound := range []struct {
		name   string
		bounds corev1.ResourceList
	}{{"minAllowed", vpa.MinAllowed}, {"maxAllowed", vpa.MaxAllowed}} {
		for _, name := range slices.Sorted(maps.Keys(bound.bounds)) {
			if name != corev1.ResourceCPU && name != corev1.ResourceMemory {
				errs = append(errs, field.Invalid(path.Child(bound.name), string(name), bound.name+" may only name cpu and memory"))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(vpa.MinAllowed)) {
		lower := vpa.MinAllowed[name]
		if upper, found := vpa.MaxAllowed[name]; found && lower.Cmp(upper) > 0 {
			errs = append(errs, field.Invalid(path.Child("minAllowed", string(name)), lower.String(),
				fmt.Sprintf("minAllowed must not exceed maxAllowed (%s)", upper.String())))
		}
	}
	return errs
}

func validateUWSGI(nova *Nova, spec *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, role := range []struct {
		name       string
		uwsgi      *UWSGISpec
		deployment *DeploymentSpec
	}{
		{"api", nova.Spec.API.UWSGI, &nova.Spec.API.Deployment},
		{"metadata", nova.Spec.Metadata.UWSGI, &nova.Spec.Metadata.Deployment},
	} {
		if role.uwsgi == nil {
			continue
		}
		path, uwsgi := spec.Child(role.name, "uwsgi"), role.uwsgi
		if uwsgi.HTTPKeepAliveTimeout != nil && uwsgi.HTTPKeepAlive != nil && !*uwsgi.HTTPKeepAlive {
			errs = append(errs, field.Invalid(path, *uwsgi.HTTPKeepAliveTimeout, "httpKeepAliveTimeout may only be set when httpKeepAlive is true"))
		}
		left := nova.grace(role.deployment) - role.deployment.preStop()
		if uwsgi.Harakiri != nil && int64(*uwsgi.Harakiri) >= left {
			errs = append(errs, field.Invalid(path.Child("harakiri"), *uwsgi.Harakiri, fmt.Sprintf(
				"harakiri (%d) must be strictly less than terminationGracePeriodSeconds - preStopSleepSeconds (%d)", *uwsgi.Harakiri, left)))
		}
	}
	return errs
}

func validateWorkers(nova *Nova, spec *field.Path) field.ErrorList {
	const message = "workers must be at least 1"
	errs := atLeast(spec.Child("scheduler", "workers"), nova.Spec.Scheduler.Workers, 1, message)
	return append(errs, atLeast(spec.Child("conductor", "workers"), nova.Spec.Conductor.Workers, 1, message)...)
}

func validateConsoleProxy(nova *Nova, spec *field.Path) field.ErrorList {
	proxy, path := &nova.Spec.ConsoleProxy, spec.Child("consoleProxy")
	var errs field.ErrorList
	if !proxy.IsEnabled() && proxy.Deployment != nil {
		errs = append(errs, field.Forbidden(path, "consoleProxy.deployment must not be set when consoleProxy.enabled is false"))
	}
	if gateway := proxy.Gateway; gateway != nil && gateway.Path != "" && gateway.Path != "/" {
		errs = append(errs, field.Invalid(path.Child("gateway", "path"), gateway.Path,
			`path must be empty or "/": the console page and its WebSocket are served from the root of the console hostname`))
	}
	return errs
}

func validateJobs(nova *Nova, spec *field.Path) field.ErrorList {
	jobs, path := nova.Spec.Jobs, spec.Child("jobs")
	if jobs == nil {
		return nil
	}
	errs := validateResources(jobs.Resources, path.Child("resources"))
	return append(errs, validatePlacement(jobs.NodeSelector, jobs.Tolerations, path)...)
}

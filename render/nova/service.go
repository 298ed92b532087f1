package nova

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	policyv1ac "k8s.io/client-go/applyconfigurations/policy/v1"

	"github.com/c5c3/nova-operator/render"
)

// service exposes the port of a role inside the cluster. Addresses and families are
// the API server's to choose.
func service(r *role) builder {
	return func(p *pass) (render.Resource, error) {
		if r.deployment(p.nova) == nil {
			return nil, nil
		}
		return corev1ac.Service(r.name(p.nova), p.nova.Namespace).
			WithLabels(labelsOf(p.nova).Common()).
			WithSpec(corev1ac.ServiceSpec().
				WithSelector(labelsOf(p.nova).Selector(r.component)).
				WithPorts(corev1ac.ServicePort().
					WithPort(r.port).
					WithTargetPort(intstr.FromInt32(r.port)).
					WithProtocol(corev1.ProtocolTCP))), nil
	}
}

// disruptionBudget keeps one API pod through a drain, or lets the only one go. Job
// pods are ready from their first moment and must not count.
func disruptionBudget(p *pass) (render.Resource, error) {
	spec := policyv1ac.PodDisruptionBudgetSpec().
		WithSelector(metav1ac.LabelSelector().
			WithMatchLabels(labelsOf(p.nova).Selector(api.component)).
			WithMatchExpressions(metav1ac.LabelSelectorRequirement().
				WithKey("batch.kubernetes.io/job-name").
				WithOperator(metav1.LabelSelectorOpDoesNotExist)))
	if lowerAPIReplicas(p.nova) > 1 {
		spec.WithMinAvailable(intstr.FromInt32(1))
	} else {
		spec.WithMaxUnavailable(intstr.FromInt32(1))
	}
	return policyv1ac.PodDisruptionBudget(p.nova.Name, p.nova.Namespace).
		WithLabels(labelsOf(p.nova).Common()).
		WithSpec(spec), nil
}

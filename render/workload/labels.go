package workload

import "github.com/c5c3/nova-operator/api/v1alpha1"

// Labels are those of the children of one resource.
type Labels struct {
	// App, Instance and ManagedBy are the values of the labels app.kubernetes.io/name,
	// instance and managed-by.
	App, Instance, ManagedBy string
}

// Common go on every child.
func (l Labels) Common() map[string]string {
	labels := l.Pods()
	labels[v1alpha1.LabelManagedBy] = l.ManagedBy
	return labels
}

// Component are the common ones and the component.
func (l Labels) Component(component string) map[string]string {
	labels := l.Common()
	labels[v1alpha1.LabelComponent] = component
	return labels
}

// Selector select the pods of one component. They are immutable on a workload.
func (l Labels) Selector(component string) map[string]string {
	labels := l.Pods()
	labels[v1alpha1.LabelComponent] = component
	return labels
}

// Pods select every pod of the resource, those of Jobs included.
func (l Labels) Pods() map[string]string {
	return map[string]string{v1alpha1.LabelName: l.App, v1alpha1.LabelInstance: l.Instance}
}

package webhook

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	rendernova "github.com/c5c3/nova-operator/render/nova"
)

// novaRules are the rules without a cluster, and that every priority class exists.
func novaRules(reader client.Reader) rules[v1alpha1.Nova] {
	return func(ctx context.Context, nova, old *v1alpha1.Nova) (field.ErrorList, []string, error) {
		errs, warnings := v1alpha1.ValidateNova(nova, old)
		missing, err := missingPriorityClasses(ctx, reader, nova)
		if err != nil || old != nil {
			return append(errs, missing...), warnings, err
		}
		used, err := schemasInUse(ctx, reader, nova)
		return append(append(errs, missing...), used...), warnings, err
	}
}

// schemasInUse looks for Novas that name a schema of a new one: those of the cluster, or
// of the namespace where nothing else may be listed.
func schemasInUse(ctx context.Context, reader client.Reader, nova *v1alpha1.Nova) (field.ErrorList, error) {
	if reader == nil {
		return nil, nil
	}
	list := &v1alpha1.NovaList{}
	err := reader.List(ctx, list)
	if apierrors.IsForbidden(err) {
		err = reader.List(ctx, list, client.InNamespace(nova.Namespace))
	}
	if err != nil {
		return nil, fmt.Errorf("list Novas: %w", err)
	}
	var errs field.ErrorList
	for _, c := range rendernova.Claims(nova, list.Items, nil, func(string) metav1.Time { return metav1.Time{} }) {
		errs = append(errs, field.Invalid(field.NewPath(c.Path), c.Schema, "belongs to "+c.Holder+": each Nova needs schemas of its own"))
	}
	return errs, nil
}

// classRef is a field that names a priority class.
type classRef struct {
	path *field.Path
	name *string
}

// priorityClasses are the fields that name one; the console proxy's only while it runs.
func priorityClasses(nova *v1alpha1.Nova) []classRef {
	s, spec := &nova.Spec, field.NewPath("spec")
	refs := []classRef{
		{spec.Child("api", "deployment"), s.API.Deployment.PriorityClassName},
		{spec.Child("metadata", "deployment"), s.Metadata.Deployment.PriorityClassName},
		{spec.Child("scheduler", "deployment"), s.Scheduler.Deployment.PriorityClassName},
		{spec.Child("conductor", "deployment"), s.Conductor.Deployment.PriorityClassName},
	}
	if proxy := &s.ConsoleProxy; proxy.IsEnabled() && proxy.Deployment != nil {
		refs = append(refs, classRef{spec.Child("consoleProxy", "deployment"), proxy.Deployment.PriorityClassName})
	}
	if s.Jobs != nil {
		refs = append(refs, classRef{spec.Child("jobs"), s.Jobs.PriorityClassName})
	}
	return refs
}

// missingPriorityClasses looks up each named class once. Without one the pods would be
// refused later, where nobody looks.
func missingPriorityClasses(ctx context.Context, reader client.Reader, nova *v1alpha1.Nova) (field.ErrorList, error) {
	if reader == nil {
		return nil, nil
	}
	var errs field.ErrorList
	found := map[string]bool{}
	for _, ref := range priorityClasses(nova) {
		if ref.name == nil || *ref.name == "" {
			continue
		}
		name := *ref.name
		if _, asked := found[name]; !asked {
			exists, err := priorityClassExists(ctx, reader, name)
			if err != nil {
				return nil, err
			}
			found[name] = exists
		}
		if !found[name] {
			errs = append(errs, field.NotFound(ref.path.Child("priorityClassName"), name))
		}
	}
	return errs, nil
}

func priorityClassExists(ctx context.Context, reader client.Reader, name string) (bool, error) {
	class := &metav1.PartialObjectMetadata{}
	class.SetGroupVersionKind(schema.GroupVersionKind{Group: "scheduling.k8s.io", Version: "v1", Kind: "PriorityClass"})
	err := reader.Get(ctx, client.ObjectKey{Name: name}, class)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("read PriorityClass %s: %w", name, err)
	}
	return !apierrors.IsNotFound(err), nil
}

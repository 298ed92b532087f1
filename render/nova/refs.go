package nova

import (
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
)

// SecretRefs are the names of every Secret in the Nova's namespace that its spec
// refers to, sorted and without repetition. A change of one of them wakes the Nova.
func SecretRefs(n *v1alpha1.Nova) []string {
	names := []string{
		n.Spec.APIDatabase.SecretRef.Name,
		n.Spec.Database.SecretRef.Name,
		n.Spec.ServiceUser.SecretRef.Name,
		n.Spec.Metadata.SharedSecretRef.Name,
	}
	for _, tls := range []*v1alpha1.DatabaseTLSSpec{n.Spec.APIDatabase.TLS, n.Spec.Database.TLS} {
		if tls.Enabled() {
			names = append(names, tls.CABundleSecretRef.Name, tls.ClientCertSecretRef.Name)
		}
	}
	if ref := n.Spec.Messaging.SecretRef; ref != nil {
		names = append(names, ref.Name)
	}
	if tls := n.Spec.Messaging.TLS; tls != nil {
		names = append(names, tls.CABundleSecretRef.Name)
	}
	if remote := n.Spec.RemoteCompute; remote != nil {
		names = append(names, remote.TransportURLSecretRef.Name)
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
}

// Waiting are the credential Secrets that are missing or incomplete, whose
// ExternalSecrets word the wait.
func Waiting(n *v1alpha1.Nova, seen Observed) []string {
	p := newPass(&Input{Nova: n, Observed: seen})
	var names []string
	for _, gate := range credentialGates(p.nova) {
		if _, message := p.gateSecret(gate); message != "" {
			names = append(names, gate.secret.Name)
		}
	}
	return names
}

// observedKinds are the kinds of children whose live state decisions read one by one.
var observedKinds = []string{KindDeployment.Kind, KindJob.Kind, KindDatabase.Kind, KindUser.Kind, KindGrant.Kind, KindHTTPRoute.Kind}

// ObservedChildren are the children to read before a decision.
func ObservedChildren(n *v1alpha1.Nova) []render.Key {
	var keys []render.Key
	for _, c := range children {
		if slices.Contains(observedKinds, c.kind.Kind) {
			keys = append(keys, render.Key{GroupVersionKind: c.kind, Namespace: n.Namespace, Name: c.name(n)})
		}
	}
	return keys
}

// ConfigBase is the label value that groups the generations of the configuration.
func ConfigBase(n *v1alpha1.Nova) string { return n.Name + suffixConfig }

// ArchiveName is the name of the archive CronJob.
func ArchiveName(n *v1alpha1.Nova) string { return archiveName(n) }

// ArchiveLabels select the runs of the archive.
func ArchiveLabels(n *v1alpha1.Nova) map[string]string {
	return componentLabels(n, v1alpha1.ComponentDBArchive)
}

// childOf finds the row of an object.
func childOf(n *v1alpha1.Nova, key render.Key) (child, bool) {
	for _, c := range children {
		if c.kind == key.GroupVersionKind && (c.id == childConfig || c.name(n) == key.Name) {
			return c, true
		}
	}
	return child{}, false
}

// StepOf is the step that makes an object; "" for one that is no child.
func StepOf(n *v1alpha1.Nova, key render.Key) string {
	c, _ := childOf(n, key)
	return c.step
}

// ApplyFailed turns the condition of a child's step False because the child could not
// be written: a status that kept saying True would hide it. An error with a method
// `NeedsPerson() bool` says whether the Nova is stalled by it; any other is tried again.
func (r *Result) ApplyFailed(n *v1alpha1.Nova, key render.Key, err error) {
	p := &pass{nova: n, out: *r}
	var fault interface{ NeedsPerson() bool }
	stalls := errors.As(err, &fault) && fault.NeedsPerson() && !meta.IsStatusConditionTrue(r.Conditions, v1alpha1.ConditionStalled)
	if c, ok := childOf(n, key); ok {
		for i := range steps {
			if steps[i].name == c.step {
				p.step = &steps[i]
				p.unready(applyReason(c.step), err.Error())
				if stalls {
					p.set(v1alpha1.ConditionStalled, metav1.ConditionTrue, applyReason(c.step), err.Error())
				}
			}
		}
		// A contract that could not be written is not published.
		switch c.id {
		case childContract:
			r.Status.ComputeConfigSecretRef = n.Status.ComputeConfigSecretRef
		case childRemoteContract:
			r.Status.RemoteComputeConfigSecretRef = n.Status.RemoteComputeConfigSecretRef
		}
	}
	p.in = &Input{Nova: n}
	p.aggregate()
	r.Conditions = p.out.Conditions
}

// applyReason is the reason of a step for an object that could not be written.
func applyReason(step string) string {
	switch step {
	case stepDBConnections, stepTransport, stepConfig:
		return v1alpha1.ReasonConfigError
	case stepComputeConfig:
		return v1alpha1.ReasonComputeConfigError
	case stepVPA:
		return v1alpha1.ReasonVPAError
	default:
		return v1alpha1.ReasonApplyError
	}
}

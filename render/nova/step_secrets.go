package nova

import (
	"errors"
	"fmt"
	"slices"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/facts"
)

// credentials are the values the steps hand on, each with one trailing newline
// dropped. Empty means not known in this pass.
type credentials struct {
	api, cell       login
	servicePassword render.Sensitive
	metadataSecret  render.Sensitive
	brokerCA        render.Sensitive
	// transport is the bus URL in the form the pods read, brokerPort its port.
	transport  render.Sensitive
	brokerPort int32
}

// login is one database account; the whole DSN is derived from one read of it.
type login struct{ user, password, dsn render.Sensitive }

// secretsStep waits for the store, then for every referenced Secret in the order of
// the gates. It hands no value on before all of them are there.
func secretsStep(p *pass) {
	if p.seen.TargetCluster != "" {
		p.Wait(v1alpha1.ReasonTargetClusterUnavailable, p.seen.TargetCluster, pollCredentials)
		return
	}
	if err := p.foreignSecrets(); err != nil {
		p.Fail(v1alpha1.ReasonConfigError, err)
		return
	}
	if !storeReady(p) {
		return
	}
	var found credentials
	for _, row := range inputs(p.nova) {
		if row.gate == nil {
			continue
		}
		data, message := p.gateSecret(row)
		if message != "" {
			p.Wait(row.gate.reason, message, pollCredentials)
			return
		}
		row.gate.take(&found, data)
	}
	if found.metadataSecret == "" {
		ref := p.nova.Spec.Metadata.SharedSecretRef
		p.Wait(v1alpha1.ReasonMetadataSharedSecretEmpty,
			fmt.Sprintf("Secret %s key %q is empty; the metadata API would accept a forged instance signature", ref.Name, ref.Key), pollCredentials)
		return
	}
	p.credentials = found
	p.Ready(v1alpha1.ReasonSecretsAvailable, "")
}

// foreignSecrets refuses a reference to a Secret this Nova writes: the derived value
// would replace the one it is derived from.
func (p *pass) foreignSecrets() error {
	refs := SecretRefs(p.nova)
	var errs []error
	for _, name := range p.Names(render.KindSecret) {
		if slices.Contains(refs, name) {
			errs = append(errs, fmt.Errorf(
				"the spec refers to Secret %q, which this operator writes itself; give the credential a Secret of another name", name))
		}
	}
	return errors.Join(errs...)
}

// gateSecret returns the Secret's data, or why the pass waits for it, if its row has a gate. The
// ExternalSecret of the same name only words the message: one that is momentarily not
// Ready does not gate while the Secret holds the keys.
func (p *pass) gateSecret(row secretInput) (facts.SecretData, string) {
	gate := row.gate
	data, exists := p.seen.Secrets[row.name]
	complete := exists
	for _, key := range row.keys {
		value, ok := data[key]
		complete = complete && ok && (gate == nil || gate.mayBeEmpty || value.Trimmed() != "")
	}
	external, synced := p.seen.ExternalSecrets[row.name]
	switch {
	case gate == nil, complete:
		return data, ""
	case !exists && !synced:
		return nil, fmt.Sprintf("%s ExternalSecret %s/%s not found yet", gate.noun, p.nova.Namespace, row.name)
	case exists && (!synced || external.Ready), external.Ready:
		return nil, gate.noun + " Secret exists but is missing expected keys"
	default:
		return nil, gate.waiting
	}
}

// StoreRef is the secret store that gates the credentials of a Nova, with the
// default filled in.
func StoreRef(n *v1alpha1.Nova) v1alpha1.SecretStoreRefSpec {
	ref := v1alpha1.SecretStoreRefSpec{Kind: v1alpha1.SecretStoreKindCluster, Name: v1alpha1.DefaultSecretStoreName}
	if n.Spec.SecretStoreRef != nil {
		ref.Name = n.Spec.SecretStoreRef.Name
		if n.Spec.SecretStoreRef.Kind != "" {
			ref.Kind = n.Spec.SecretStoreRef.Kind
		}
	}
	return ref
}

func storeReady(p *pass) bool {
	ref := StoreRef(p.nova)
	if ref.Kind == v1alpha1.SecretStoreKindCluster && p.in.Settings.NamespaceScoped {
		p.Wait(v1alpha1.ReasonClusterSecretStoreUnsupported,
			fmt.Sprintf("ClusterSecretStore %q cannot be read by a namespace-scoped operator; "+
				"set spec.secretStoreRef to a SecretStore in namespace %q", ref.Name, p.nova.Namespace), pollCredentials)
		return false
	}
	if p.seen.Store == nil || !p.seen.Store.Ready {
		p.Wait(v1alpha1.ReasonSecretStoreNotReady,
			fmt.Sprintf("%s %q is not ready; upstream secret backend unreachable", ref.Kind, ref.Name), pollCredentials)
		return false
	}
	return true
}

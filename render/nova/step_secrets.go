package nova

import (
	"errors"
	"fmt"
	"slices"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
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

// credentialGate is one Secret the pass waits for.
type credentialGate struct {
	secret v1alpha1.SecretRefSpec
	keys   []string
	reason string
	// noun and waiting word the condition.
	noun, waiting string
	take          func(*credentials, SecretData)
}

// mayBeEmpty is the one key whose empty value has a reason of its own.
func (g credentialGate) mayBeEmpty() bool {
	return g.reason == v1alpha1.ReasonWaitingForMetadataSharedSecret
}

func credentialGates(n *v1alpha1.Nova) []credentialGate {
	database := func(spec *v1alpha1.DatabaseSpec, noun, waiting string, to func(*credentials) *login) credentialGate {
		return credentialGate{
			secret: spec.SecretRef, keys: []string{keyUsername, keyPassword},
			reason: v1alpha1.ReasonWaitingForDBCredentials, noun: noun, waiting: waiting,
			take: func(c *credentials, data SecretData) {
				*to(c) = login{user: data[keyUsername].Trimmed(), password: data[keyPassword].Trimmed()}
				if spec.Managed() && spec.EffectiveCredentialsMode() == v1alpha1.CredentialsModeStatic {
					// The MariaDB operator creates the account from these very bytes, a
					// trailing newline included.
					to(c).password = data[keyPassword]
				}
			},
		}
	}
	serviceKey := n.Spec.ServiceUser.SecretRef.Key
	metadataKey := n.Spec.Metadata.SharedSecretRef.Key
	gates := []credentialGate{
		database(&n.Spec.APIDatabase, "API database credentials",
			"Waiting for ESO to sync the nova_api database credentials from OpenBao", func(c *credentials) *login { return &c.api }),
		database(&n.Spec.Database, "Cell database credentials",
			"Waiting for ESO to sync the cell database credentials from OpenBao", func(c *credentials) *login { return &c.cell }),
		{
			secret: n.Spec.ServiceUser.SecretRef, keys: []string{serviceKey},
			reason: v1alpha1.ReasonWaitingForServiceUserCredentials, noun: "Service-user credentials",
			waiting: "Waiting for ESO to sync the Nova service-user password from OpenBao",
			take:    func(c *credentials, data SecretData) { c.servicePassword = data[serviceKey].Trimmed() },
		},
		{
			secret: n.Spec.Metadata.SharedSecretRef, keys: []string{metadataKey},
			reason: v1alpha1.ReasonWaitingForMetadataSharedSecret, noun: "Nova metadata shared secret",
			waiting: "Waiting for ESO to sync the Nova metadata shared secret from OpenBao",
			take:    func(c *credentials, data SecretData) { c.metadataSecret = data[metadataKey].Trimmed() },
		},
	}
	if tls := n.Spec.Messaging.TLS; tls != nil {
		key := messagingCAKey(n)
		gates = append(gates, credentialGate{
			secret: tls.CABundleSecretRef, keys: []string{key},
			reason: v1alpha1.ReasonWaitingForMessagingCA, noun: "Messaging CA bundle",
			waiting: "Waiting for the RabbitMQ CA bundle Secret to carry the broker trust anchor",
			take:    func(c *credentials, data SecretData) { c.brokerCA = data[key] },
		})
	}
	return gates
}

// secretsStep waits for the store, then for every referenced Secret in the order of
// the gates. It hands no value on before all of them are there.
func secretsStep(p *pass) {
	if p.seen.TargetCluster != "" {
		p.wait(v1alpha1.ReasonTargetClusterUnavailable, p.seen.TargetCluster, pollCredentials)
		return
	}
	if err := p.foreignSecrets(); err != nil {
		p.fail(v1alpha1.ReasonConfigError, err)
		return
	}
	if !storeReady(p) {
		return
	}
	var found credentials
	for _, gate := range credentialGates(p.nova) {
		data, message := p.gateSecret(gate)
		if message != "" {
			p.wait(gate.reason, message, pollCredentials)
			return
		}
		gate.take(&found, data)
	}
	if found.metadataSecret == "" {
		ref := p.nova.Spec.Metadata.SharedSecretRef
		p.wait(v1alpha1.ReasonMetadataSharedSecretEmpty,
			fmt.Sprintf("Secret %s key %q is empty; the metadata API would accept a forged instance signature", ref.Name, ref.Key), pollCredentials)
		return
	}
	p.credentials = found
	p.ready(v1alpha1.ReasonSecretsAvailable, "")
}

// foreignSecrets refuses a reference to a Secret this Nova writes: the derived value
// would replace the one it is derived from.
func (p *pass) foreignSecrets() error {
	refs := SecretRefs(p.nova)
	var errs []error
	for _, c := range children {
		if c.kind == KindSecret && slices.Contains(refs, c.name(p.nova)) {
			errs = append(errs, fmt.Errorf("the spec refers to Secret %q, which this operator writes itself; give the credential a Secret of another name", c.name(p.nova)))
		}
	}
	return errors.Join(errs...)
}

// gateSecret returns the Secret's data, or why the pass waits for it. The
// ExternalSecret of the same name only words the message: one that is momentarily not
// Ready does not gate while the Secret holds the keys.
func (p *pass) gateSecret(gate credentialGate) (SecretData, string) {
	data, exists := p.seen.Secrets[gate.secret.Name]
	complete := exists
	for _, key := range gate.keys {
		value, ok := data[key]
		complete = complete && ok && (gate.mayBeEmpty() || value.Trimmed() != "")
	}
	external, synced := p.seen.ExternalSecrets[gate.secret.Name]
	switch {
	case complete:
		return data, ""
	case !exists && !synced:
		return nil, fmt.Sprintf("%s ExternalSecret %s/%s not found yet", gate.noun, p.nova.Namespace, gate.secret.Name)
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
		p.wait(v1alpha1.ReasonClusterSecretStoreUnsupported,
			fmt.Sprintf("ClusterSecretStore %q cannot be read by a namespace-scoped operator; set spec.secretStoreRef to a SecretStore in namespace %q", ref.Name, p.nova.Namespace), pollCredentials)
		return false
	}
	if p.seen.Store == nil || !p.seen.Store.Ready {
		p.wait(v1alpha1.ReasonSecretStoreNotReady,
			fmt.Sprintf("%s %q is not ready; upstream secret backend unreachable", ref.Kind, ref.Name), pollCredentials)
		return false
	}
	return true
}

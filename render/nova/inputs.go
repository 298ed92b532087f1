package nova

import (
	"cmp"
	"slices"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/facts"
)

// secretInput is one Secret that a Nova reads, and the keys it reads there.
type secretInput struct {
	name string
	keys []string
	// url tells that its key holds a transport URL.
	url bool
	// gate is what the first step waits for it with; nil where it does not wait.
	gate *credentialGate
	// assumed is what stands in for the value of a key in a world that is assumed to work;
	// nil where decisions do not look at the values.
	assumed func(key string) string
}

// credentialGate words the wait for a Secret and takes its values.
type credentialGate struct {
	reason string
	// noun and waiting word the condition.
	noun, waiting string
	take          func(*credentials, facts.SecretData)
	// mayBeEmpty: an empty value has a reason of its own.
	mayBeEmpty bool
}

// inputs is the table of the Secrets in the Nova's namespace that its spec refers to, in
// the order in which the first step waits for them.
func inputs(n *v1alpha1.Nova) []secretInput {
	rows := []secretInput{
		databaseInput(&n.Spec.APIDatabase, "API database credentials", "nova_api", func(c *credentials) *login { return &c.api }),
		databaseInput(&n.Spec.Database, "Cell database credentials", "cell", func(c *credentials) *login { return &c.cell }),
		serviceUserInput(n.Spec.ServiceUser.SecretRef),
		metadataInput(n.Spec.Metadata.SharedSecretRef),
	}
	if n.Spec.Messaging.TLS != nil {
		rows = append(rows, messagingCAInput(n))
	}
	for _, tls := range []*v1alpha1.DatabaseTLSSpec{n.Spec.APIDatabase.TLS, n.Spec.Database.TLS} {
		if tls.Enabled() { // mounted as they are
			rows = append(rows,
				secretInput{name: tls.CABundleSecretRef.Name, keys: []string{"ca.crt"}},
				secretInput{name: tls.ClientCertSecretRef.Name, keys: []string{"tls.crt", "tls.key"}})
		}
	}
	if ref := n.Spec.Messaging.SecretRef; ref != nil {
		rows = append(rows, transportInput(*ref, "rabbit://placeholder:placeholder@placeholder:5672/"))
	}
	if remote := n.Spec.RemoteCompute; remote != nil {
		rows = append(rows, transportInput(remote.TransportURLSecretRef, "rabbit://placeholder:placeholder@placeholder:5671/"))
	}
	return rows
}

func placeholder(key string) string { return "placeholder-" + key }

func databaseInput(spec *v1alpha1.DatabaseSpec, noun, schema string, to func(*credentials) *login) secretInput {
	return secretInput{
		name: spec.SecretRef.Name, keys: []string{keyUsername, keyPassword}, assumed: placeholder,
		gate: &credentialGate{
			reason: v1alpha1.ReasonWaitingForDBCredentials, noun: noun,
			waiting: "Waiting for ESO to sync the " + schema + " database credentials from OpenBao",
			take: func(c *credentials, data facts.SecretData) {
				*to(c) = login{user: data[keyUsername].Trimmed(), password: data[keyPassword].Trimmed()}
				if spec.Managed() && spec.EffectiveCredentialsMode() == v1alpha1.CredentialsModeStatic {
					// The MariaDB operator creates the account from these very bytes, a
					// trailing newline included.
					to(c).password = data[keyPassword]
				}
			},
		},
	}
}

func serviceUserInput(ref v1alpha1.SecretRefSpec) secretInput {
	return secretInput{
		name: ref.Name, keys: []string{ref.Key}, assumed: placeholder,
		gate: &credentialGate{
			reason: v1alpha1.ReasonWaitingForServiceUserCredentials, noun: "Service-user credentials",
			waiting: "Waiting for ESO to sync the Nova service-user password from OpenBao",
			take:    func(c *credentials, data facts.SecretData) { c.servicePassword = data[ref.Key].Trimmed() },
		},
	}
}

func metadataInput(ref v1alpha1.SecretRefSpec) secretInput {
	return secretInput{
		name: ref.Name, keys: []string{ref.Key}, assumed: placeholder,
		gate: &credentialGate{
			reason: v1alpha1.ReasonWaitingForMetadataSharedSecret, noun: "Nova metadata shared secret", mayBeEmpty: true,
			waiting: "Waiting for ESO to sync the Nova metadata shared secret from OpenBao",
			take:    func(c *credentials, data facts.SecretData) { c.metadataSecret = data[ref.Key].Trimmed() },
		},
	}
}

func messagingCAInput(n *v1alpha1.Nova) secretInput {
	key := messagingCAKey(n)
	return secretInput{
		name: n.Spec.Messaging.TLS.CABundleSecretRef.Name, keys: []string{key}, assumed: placeholder,
		gate: &credentialGate{
			reason: v1alpha1.ReasonWaitingForMessagingCA, noun: "Messaging CA bundle",
			waiting: "Waiting for the RabbitMQ CA bundle Secret to carry the broker trust anchor",
			take:    func(c *credentials, data facts.SecretData) { c.brokerCA = data[key] },
		},
	}
}

func transportInput(ref v1alpha1.SecretRefSpec, assumed string) secretInput {
	return secretInput{
		name: ref.Name, keys: []string{transportKey(ref)}, url: true,
		assumed: func(string) string { return assumed },
	}
}

// transportKey is the key of a Secret with a transport URL.
func transportKey(ref v1alpha1.SecretRefSpec) string {
	return cmp.Or(ref.Key, v1alpha1.DefaultTransportURLKey)
}

// brokerInput is the Secret of the default user of a RabbitmqCluster, which the broker
// names. The name is empty while there is none.
func brokerInput(n *v1alpha1.Nova, broker string, cluster facts.RabbitmqCluster) secretInput {
	row := secretInput{keys: []string{keyUsername, keyPassword, keyHost, keyPort}}
	if cluster.UserSecret != "" {
		row.name = facts.SecretKey(n.Namespace, cmp.Or(cluster.UserSecretNamespace, n.Namespace), cluster.UserSecret)
	}
	row.assumed = func(key string) string {
		switch key {
		case keyHost:
			return broker + "." + n.Namespace + ".svc"
		case keyPort:
			return "5672"
		default:
			return "placeholder"
		}
	}
	return row
}

// address tells a key of that Secret that holds no credential.
func address(key string) bool { return key == keyHost || key == keyPort }

// SecretRefs are the names of every Secret in the Nova's namespace that its spec
// refers to, sorted and without repetition. A change of one of them wakes the Nova.
func SecretRefs(n *v1alpha1.Nova) []string {
	var names []string
	for _, row := range inputs(n) {
		names = append(names, row.name)
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
}

// Waiting are the credential Secrets that are missing or incomplete, whose
// ExternalSecrets word the wait.
func Waiting(n *v1alpha1.Nova, seen Observed) []string {
	p := newPass(&Input{Nova: n, Observed: seen})
	var names []string
	for _, row := range inputs(p.nova) {
		if _, message := p.gateSecret(row); message != "" {
			names = append(names, row.name)
		}
	}
	return names
}

// assumeInputs opens the gates on what the resource refers to, and returns the names of
// the placeholders that stand in for credentials, as secret/key, sorted.
func (in *Input) assumeInputs() []string {
	n := in.Nova.DeepCopy()
	n.Default()
	seen := &in.Observed
	seen.Store = &facts.Readiness{Ready: true}
	seen.GatewayAPI, seen.VPA = facts.Capability{Served: true}, facts.Capability{Served: true}
	seen.Health = answeredOK()
	for _, db := range []*v1alpha1.DatabaseSpec{&n.Spec.APIDatabase, &n.Spec.Database} {
		if db.Managed() {
			seen.MariaDBs[db.ClusterRef.Name] = facts.Readiness{Ready: true}
		}
	}
	rows := inputs(n)
	if ref := n.Spec.Messaging.ClusterRef; ref != nil {
		cluster := seen.RabbitmqClusters[ref.Name]
		cluster.UserSecret = cmp.Or(cluster.UserSecret, ref.Name+"-default-user")
		seen.RabbitmqClusters[ref.Name] = cluster
		rows = append(rows, brokerInput(n, ref.Name, cluster))
	}
	var made []string
	for _, row := range rows {
		made = append(made, seen.assumeSecret(row)...)
	}
	slices.Sort(made)
	return made
}

// assumeSecret fills in the missing keys of a Secret and returns them, as secret/key.
func (o *Observed) assumeSecret(row secretInput) (made []string) {
	if row.assumed == nil {
		return nil
	}
	data := facts.SecretData{}
	for key, value := range o.Secrets[row.name] {
		data[key] = value
	}
	for _, key := range row.keys {
		if data[key].Trimmed() == "" {
			data[key] = render.Sensitive(row.assumed(key))
			made = append(made, row.name+"/"+key)
		}
	}
	o.Secrets[row.name] = data
	return made
}

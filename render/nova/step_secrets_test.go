package nova

import (
	"testing"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/facts"
)

func drop(name string) func(*Input) {
	return func(in *Input) { delete(in.Observed.Secrets, name) }
}

func dropKey(name, key string) func(*Input) { return setKey(name, key, "") }

// setKey changes one value of a Secret; an empty one removes the key.
func setKey(name, key, value string) func(*Input) {
	return func(in *Input) {
		data := facts.SecretData{}
		for k, v := range in.Observed.Secrets[name] {
			data[k] = v
		}
		delete(data, key)
		if value != "" {
			data[key] = render.Sensitive(value)
		}
		in.Observed.Secrets[name] = data
	}
}

func external(name string, ready bool) func(*Input) {
	return func(in *Input) {
		in.Observed.ExternalSecrets = map[string]facts.Readiness{name: {Ready: ready}}
	}
}

func all(changes ...func(*Input)) func(*Input) {
	return func(in *Input) {
		for _, change := range changes {
			change(in)
		}
	}
}

func busTLS(n *v1alpha1.Nova) {
	n.Spec.Messaging.TLS = &v1alpha1.MessagingTLSSpec{CABundleSecretRef: v1alpha1.SecretRefSpec{Name: "bus-ca"}}
}

func waitsForSecret(reason, message string) outcome {
	return outcome{Reason: reason, Message: message, Requeue: pollCredentials, Last: stepSecrets}
}

var secretsCases = map[string]stepCase{
	"every credential is there": {want: outcome{Ready: true, Reason: v1alpha1.ReasonSecretsAvailable}},
	"no store of that name": {
		change: func(in *Input) { in.Observed.Store = nil },
		want:   waitsForSecret(v1alpha1.ReasonSecretStoreNotReady, `ClusterSecretStore "openbao-cluster-store" is not ready; upstream secret backend unreachable`),
	},
	"a namespaced store that is not ready": {
		nova: func(n *v1alpha1.Nova) {
			n.Spec.SecretStoreRef = &v1alpha1.SecretStoreRefSpec{Kind: "SecretStore", Name: "vault"}
		},
		change: func(in *Input) { in.Observed.Store = &facts.Readiness{} },
		want:   waitsForSecret(v1alpha1.ReasonSecretStoreNotReady, `SecretStore "vault" is not ready; upstream secret backend unreachable`),
	},
	"a cluster store and an operator of one namespace": {
		change: func(in *Input) { in.Settings.NamespaceScoped = true },
		want: waitsForSecret(v1alpha1.ReasonClusterSecretStoreUnsupported,
			`ClusterSecretStore "openbao-cluster-store" cannot be read by a namespace-scoped operator; set spec.secretStoreRef to a SecretStore in namespace "openstack"`),
	},
	"a namespaced store and an operator of one namespace": {
		nova: func(n *v1alpha1.Nova) {
			n.Spec.SecretStoreRef = &v1alpha1.SecretStoreRefSpec{Kind: "SecretStore", Name: "vault"}
		},
		change: func(in *Input) { in.Settings.NamespaceScoped = true },
		want:   outcome{Ready: true, Reason: v1alpha1.ReasonSecretsAvailable},
	},
	"a target cluster that does not resolve": {
		change: func(in *Input) { in.Observed.TargetCluster = "cluster not found" },
		want:   waitsForSecret(v1alpha1.ReasonTargetClusterUnavailable, "cluster not found"),
	},
	"a target cluster that resolves": {
		nova: placedOnEdge,
		want: outcome{Ready: true, Reason: v1alpha1.ReasonSecretsAvailable},
	},
	"a reference to a Secret the operator writes": {
		change: func(in *Input) { in.Nova.Spec.ServiceUser.SecretRef.Name = "nova-compute-config" },
		want: outcome{
			Reason: v1alpha1.ReasonConfigError, Last: stepSecrets,
			Message: `the spec refers to Secret "nova-compute-config", which this operator writes itself; give the credential a Secret of another name`,
			Err:     `the spec refers to Secret "nova-compute-config", which this operator writes itself; give the credential a Secret of another name`,
		},
	},
	"no login of the API schema and no ExternalSecret": {
		change: drop("nova-api-db"),
		want:   waitsForSecret(v1alpha1.ReasonWaitingForDBCredentials, "API database credentials ExternalSecret openstack/nova-api-db not found yet"),
	},
	"the login of the API schema is on its way": {
		change: all(drop("nova-api-db"), external("nova-api-db", false)),
		want:   waitsForSecret(v1alpha1.ReasonWaitingForDBCredentials, "Waiting for ESO to sync the nova_api database credentials from OpenBao"),
	},
	"the login of the API schema lacks its user": {
		change: dropKey("nova-api-db", "username"),
		want:   waitsForSecret(v1alpha1.ReasonWaitingForDBCredentials, "API database credentials Secret exists but is missing expected keys"),
	},
	"the login of the cell schema lacks its password": {
		change: all(dropKey("nova-db", "password"), external("nova-db", true)),
		want:   waitsForSecret(v1alpha1.ReasonWaitingForDBCredentials, "Cell database credentials Secret exists but is missing expected keys"),
	},
	"the login of the cell schema is on its way": {
		change: all(dropKey("nova-db", "password"), external("nova-db", false)),
		want:   waitsForSecret(v1alpha1.ReasonWaitingForDBCredentials, "Waiting for ESO to sync the cell database credentials from OpenBao"),
	},
	"an empty password counts as missing": {
		change: setKey("nova-db", "password", "\n"),
		want:   waitsForSecret(v1alpha1.ReasonWaitingForDBCredentials, "Cell database credentials Secret exists but is missing expected keys"),
	},
	"no password of the service user": {
		change: drop("nova-service-user"),
		want:   waitsForSecret(v1alpha1.ReasonWaitingForServiceUserCredentials, "Service-user credentials ExternalSecret openstack/nova-service-user not found yet"),
	},
	"the password of the service user is on its way": {
		change: all(drop("nova-service-user"), external("nova-service-user", false)),
		want:   waitsForSecret(v1alpha1.ReasonWaitingForServiceUserCredentials, "Waiting for ESO to sync the Nova service-user password from OpenBao"),
	},
	"an ExternalSecret that is ready before its Secret": {
		change: all(drop("nova-service-user"), external("nova-service-user", true)),
		want:   waitsForSecret(v1alpha1.ReasonWaitingForServiceUserCredentials, "Service-user credentials Secret exists but is missing expected keys"),
	},
	"an ExternalSecret that is not ready does not gate a complete Secret": {
		change: external("nova-service-user", false),
		want:   outcome{Ready: true, Reason: v1alpha1.ReasonSecretsAvailable},
	},
	"no shared secret": {
		change: drop("nova-metadata"),
		want:   waitsForSecret(v1alpha1.ReasonWaitingForMetadataSharedSecret, "Nova metadata shared secret ExternalSecret openstack/nova-metadata not found yet"),
	},
	"the shared secret is on its way": {
		change: all(drop("nova-metadata"), external("nova-metadata", false)),
		want:   waitsForSecret(v1alpha1.ReasonWaitingForMetadataSharedSecret, "Waiting for ESO to sync the Nova metadata shared secret from OpenBao"),
	},
	"an empty shared secret": {
		change: func(in *Input) { in.Observed.Secrets["nova-metadata"] = facts.SecretData{"shared_secret": ""} },
		want: waitsForSecret(v1alpha1.ReasonMetadataSharedSecretEmpty,
			`Secret nova-metadata key "shared_secret" is empty; the metadata API would accept a forged instance signature`),
	},
	"a shared secret of one newline": {
		change: setKey("nova-metadata", "shared_secret", "\n"),
		want: waitsForSecret(v1alpha1.ReasonMetadataSharedSecretEmpty,
			`Secret nova-metadata key "shared_secret" is empty; the metadata API would accept a forged instance signature`),
	},
	"TLS to the bus without a CA bundle": {
		nova: busTLS, change: drop("bus-ca"),
		want: waitsForSecret(v1alpha1.ReasonWaitingForMessagingCA, "Messaging CA bundle ExternalSecret openstack/bus-ca not found yet"),
	},
	"the CA bundle is on its way": {
		nova: busTLS, change: all(drop("bus-ca"), external("bus-ca", false)),
		want: waitsForSecret(v1alpha1.ReasonWaitingForMessagingCA, "Waiting for the RabbitMQ CA bundle Secret to carry the broker trust anchor"),
	},
	"a missing CA bundle comes before an empty shared secret": {
		nova: busTLS, change: all(drop("bus-ca"), setKey("nova-metadata", "shared_secret", "\n")),
		want: waitsForSecret(v1alpha1.ReasonWaitingForMessagingCA, "Messaging CA bundle ExternalSecret openstack/bus-ca not found yet"),
	},
	"the first missing credential is named": {
		change: all(drop("nova-db"), drop("nova-metadata"), drop("nova-api-db")),
		want:   waitsForSecret(v1alpha1.ReasonWaitingForDBCredentials, "API database credentials ExternalSecret openstack/nova-api-db not found yet"),
	},
}

func TestSecrets(t *testing.T) { runCases(t, v1alpha1.ConditionSecretsReady, secretsCases) }

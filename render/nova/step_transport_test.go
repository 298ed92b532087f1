package nova

import (
	"testing"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render/facts"
	"github.com/c5c3/nova-operator/render/url"
)

func busSecret(n *v1alpha1.Nova) {
	n.Spec.Messaging = v1alpha1.MessagingSpec{SecretRef: &v1alpha1.SecretRefSpec{Name: "nova-bus"}}
}

func waitsForBus(reason, message string) outcome {
	return outcome{Reason: reason, Message: message, Requeue: pollCredentials, Last: stepTransport, Held: []string{"transport"}}
}

const (
	needsPort = "the transport URL must name an explicit port: nova expands its cell mapping from the parts of this URL, and a missing port becomes the word None"
	noIPv6    = "the transport URL must not use an IPv6 literal host: nova expands its cell mapping from the parts of this URL and drops the brackets; use a DNS name"
)

var transportCases = map[string]stepCase{
	"no RabbitmqCluster": {
		change: func(in *Input) { delete(in.Observed.RabbitmqClusters, "rabbitmq") },
		want:   waitsForBus(v1alpha1.ReasonWaitingForMessagingCredentials, "RabbitmqCluster openstack/rabbitmq not found"),
	},
	"a RabbitmqCluster without a default user": {
		change: func(in *Input) { in.Observed.RabbitmqClusters["rabbitmq"] = facts.RabbitmqCluster{} },
		want:   waitsForBus(v1alpha1.ReasonWaitingForMessagingCredentials, "RabbitmqCluster openstack/rabbitmq has no status.defaultUser.secretReference.name yet"),
	},
	"no Secret of the default user": {
		change: drop("rabbitmq-default-user"),
		want:   waitsForBus(v1alpha1.ReasonWaitingForMessagingCredentials, "default-user Secret openstack/rabbitmq-default-user not found"),
	},
	"the default user's Secret is in another namespace": {
		change: func(in *Input) {
			in.Observed.RabbitmqClusters["rabbitmq"] = facts.RabbitmqCluster{UserSecret: "user", UserSecretNamespace: "rabbitmq"}
		},
		want: waitsForBus(v1alpha1.ReasonWaitingForMessagingCredentials, "default-user Secret rabbitmq/user not found"),
	},
	"the default user has no port": {
		change: dropKey("rabbitmq-default-user", "port"),
		want:   waitsForBus(v1alpha1.ReasonWaitingForMessagingCredentials, `default-user Secret openstack/rabbitmq-default-user missing key "port"`),
	},
	"the default user's port is no number": {
		change: setKey("rabbitmq-default-user", "port", "amqps"),
		want:   waitsForBus(v1alpha1.ReasonTransportURLRejected, needsPort),
	},
	"the default user's host is an IPv6 literal": {
		change: setKey("rabbitmq-default-user", "host", "[fd00::1]"),
		want:   waitsForBus(v1alpha1.ReasonTransportURLRejected, noIPv6),
	},
	"the default user's password has a slash": {
		change: setKey("rabbitmq-default-user", "password", "a/b"),
		want:   waitsForBus(v1alpha1.ReasonTransportURLRejected, url.ErrSlash.Error()),
	},
	"no Secret with the URL": {
		nova: busSecret, change: drop("nova-bus"),
		want: waitsForBus(v1alpha1.ReasonWaitingForMessagingCredentials, "transport URL Secret openstack/nova-bus not found"),
	},
	"the Secret lacks the URL": {
		nova: busSecret, change: dropKey("nova-bus", "transport_url"),
		want: waitsForBus(v1alpha1.ReasonWaitingForMessagingCredentials, `transport URL Secret openstack/nova-bus missing key "transport_url"`),
	},
	"a URL without a port": {
		nova: busSecret, change: setKey("nova-bus", "transport_url", "rabbit://u:hunter2@h/"),
		want: waitsForBus(v1alpha1.ReasonTransportURLRejected, needsPort),
	},
	"a URL with an IPv6 literal": {
		nova: busSecret, change: setKey("nova-bus", "transport_url", "rabbit://u:hunter2@[fd00::1]:5672/"),
		want: waitsForBus(v1alpha1.ReasonTransportURLRejected, noIPv6),
	},
	"text that is no URL": {
		nova: busSecret, change: setKey("nova-bus", "transport_url", "hunter2"),
		want: waitsForBus(v1alpha1.ReasonTransportURLRejected, "transport URL does not parse"),
	},
	"a URL of another transport": {
		nova: busSecret, change: setKey("nova-bus", "transport_url", "amqp://u:hunter2@h:1/"),
		want: waitsForBus(v1alpha1.ReasonTransportURLRejected, `transport URL scheme "amqp" is not supported; use rabbit`),
	},
	"a messaging block that names nothing": {
		change: func(in *Input) { in.Nova.Spec.Messaging = v1alpha1.MessagingSpec{} },
		want:   waitsForBus(v1alpha1.ReasonWaitingForMessagingCredentials, "spec.messaging names neither clusterRef nor secretRef"),
	},
	"a good URL": {nova: busSecret, want: outcome{Ready: true, Reason: v1alpha1.ReasonSecretsAvailable}},
}

func TestTransportURL(t *testing.T) { runCases(t, v1alpha1.ConditionSecretsReady, transportCases) }

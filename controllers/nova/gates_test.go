package nova_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/controllers/operator"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/test/world"
)

// credential is one Secret that a pass waits for, in the order of the gates.
type credential struct {
	secret string
	keys   []string
	reason string
	// noun and waiting word the condition.
	noun, waiting string
}

var credentials = []credential{
	{
		"nova-api-db",
		[]string{"username", "password"},
		v1alpha1.ReasonWaitingForDBCredentials,
		"API database credentials", "Waiting for ESO to sync the nova_api database credentials from OpenBao",
	},
	{
		"nova-db",
		[]string{"username", "password"},
		v1alpha1.ReasonWaitingForDBCredentials,
		"Cell database credentials", "Waiting for ESO to sync the cell database credentials from OpenBao",
	},
	{
		"nova-service",
		[]string{"password"},
		v1alpha1.ReasonWaitingForServiceUserCredentials,
		"Service-user credentials", "Waiting for ESO to sync the Nova service-user password from OpenBao",
	},
	{
		"nova-shared",
		[]string{"shared_secret"},
		v1alpha1.ReasonWaitingForMetadataSharedSecret,
		"Nova metadata shared secret", "Waiting for ESO to sync the Nova metadata shared secret from OpenBao",
	},
	{
		"nova-ca",
		[]string{"ca.crt"},
		v1alpha1.ReasonWaitingForMessagingCA,
		"Messaging CA bundle", "Waiting for the RabbitMQ CA bundle Secret to carry the broker trust anchor",
	},
}

// derivedOnly is what exists while the broker is missing.
var derivedOnly = []string{
	"Secret/nova-api-db-connection", "Secret/nova-db-connection", "Secret/nova-metadata-secret-env", "Secret/nova-service-user-env",
}

// awaitGate waits until SecretsReady has this reason and message, and checks that
// nothing but the listed children exists.
func (w *novaWorld) awaitGate(reason, message string, children ...string) {
	w.T.Helper()
	w.AwaitSays(v1alpha1.ConditionSecretsReady, reason, message)
	if diff := cmp.Diff(children, w.inventory()); diff != "" {
		w.T.Errorf("behind %s: %s", reason, diff)
	}
}

// opens does what a gate waits for and checks that a watch takes the Nova to the next.
func (w *novaWorld) opens(do func(), reason, message string, children ...string) {
	w.T.Helper()
	w.promptly(func() {
		do()
		w.awaitGate(reason, message, children...)
	})
}

func TestGates_AreWalkedInOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Surroundings.Pause("SecretStore")
	w.Surroundings.Pause("RabbitmqCluster")
	w.Foreign(render.KindMariaDB, "mariadb")
	w.run()
	n := w.Minimal()
	n.Spec.Messaging.TLS = &v1alpha1.MessagingTLSSpec{CABundleSecretRef: v1alpha1.SecretRefSpec{Name: "nova-ca"}}
	w.Create(n)

	store := `SecretStore "store" is not ready; upstream secret backend unreachable`
	w.awaitGate(v1alpha1.ReasonSecretStoreNotReady, store)
	w.Foreign(render.KindSecretStore, "store")
	w.pass()
	w.awaitGate(v1alpha1.ReasonSecretStoreNotReady, store)
	w.Report(render.KindSecretStore, "store", world.ReadyIs(metav1.ConditionFalse))
	w.pass()
	w.awaitGate(v1alpha1.ReasonSecretStoreNotReady, store)

	missing := func(c credential) string {
		return fmt.Sprintf("%s ExternalSecret %s/%s not found yet", c.noun, w.Namespace, c.secret)
	}
	w.opens(func() { w.Report(render.KindSecretStore, "store", world.ReadyIs(metav1.ConditionTrue)) }, credentials[0].reason, missing(credentials[0]))
	for i, c := range credentials {
		full := secretOf(c, "s3cret-of-"+c.secret)
		next, message := v1alpha1.ReasonMetadataSharedSecretEmpty, metadataEmpty
		if i+1 < len(credentials) {
			next, message = credentials[i+1].reason, missing(credentials[i+1])
		}
		if c.noun == "Nova metadata shared secret" {
			// Present and empty passes this gate: it has one of its own at the end.
			full = map[string]string{"shared_secret": ""}
		}
		w.walkGate(c)
		w.opens(func() { w.Secret(c.secret, full) }, next, message)
	}

	w.Secret("nova-shared", map[string]string{"shared_secret": "\n"})
	w.pass()
	w.awaitGate(v1alpha1.ReasonMetadataSharedSecretEmpty, metadataEmpty)
	w.opens(func() { w.Secret("nova-shared", map[string]string{"shared_secret": "s3cret-metadata\n"}) },
		v1alpha1.ReasonWaitingForMessagingCredentials, fmt.Sprintf("RabbitmqCluster %s/rabbitmq not found", w.Namespace), derivedOnly...)

	w.walkBroker()
	w.promptly(func() {
		w.Secret("rabbitmq-default-user", broker())
		w.AwaitReason(v1alpha1.ConditionSecretsReady, v1alpha1.ReasonSecretsAvailable)
	})
	w.AwaitReady()
}

const metadataEmpty = `Secret nova-shared key "shared_secret" is empty; the metadata API would accept a forged instance signature`

// secretOf is complete data for a gate.
func secretOf(c credential, value string) map[string]string {
	data := map[string]string{}
	for _, key := range c.keys {
		data[key] = value
	}
	return data
}

// walkGate goes through the wordings of one closed gate. An ExternalSecret words the
// wait only and is not watched.
func (w *novaWorld) walkGate(c credential) {
	w.T.Helper()
	incomplete := c.noun + " Secret exists but is missing expected keys"
	w.Foreign(render.KindExternalSecret, c.secret)
	w.pass()
	w.awaitGate(c.reason, c.waiting)
	w.opens(func() { w.Secret(c.secret, map[string]string{"other": "s3cret"}) }, c.reason, c.waiting)
	w.Report(render.KindExternalSecret, c.secret, world.ReadyIs(metav1.ConditionTrue))
	w.pass()
	w.awaitGate(c.reason, incomplete)
	w.Remove(render.KindExternalSecret, c.secret)
	for _, key := range c.keys {
		data := secretOf(c, "s3cret")
		delete(data, key)
		w.Secret(c.secret, data)
		w.pass()
		w.awaitGate(c.reason, incomplete)
	}
	w.Foreign(render.KindExternalSecret, c.secret)
}

// broker is the Secret of a default user.
func broker() map[string]string {
	return map[string]string{"username": "user", "password": "s3cret-$bus", "host": "rabbitmq.example.com", "port": "5671"}
}

// walkBroker goes through what a managed broker may lack.
func (w *novaWorld) walkBroker() {
	w.T.Helper()
	const reason = v1alpha1.ReasonWaitingForMessagingCredentials
	w.opens(func() { w.Foreign(render.KindRabbitmqCluster, "rabbitmq") },
		reason, fmt.Sprintf("RabbitmqCluster %s/rabbitmq has no status.defaultUser.secretReference.name yet", w.Namespace), derivedOnly...)
	w.opens(func() {
		w.Report(render.KindRabbitmqCluster, "rabbitmq", `{"defaultUser":{"secretReference":{"name":"rabbitmq-default-user"}}}`)
	}, reason, fmt.Sprintf("default-user Secret %s/rabbitmq-default-user not found", w.Namespace), derivedOnly...)
	for _, key := range []string{"username", "password", "host", "port"} {
		data := broker()
		delete(data, key)
		w.opens(func() { w.Secret("rabbitmq-default-user", data) },
			reason, fmt.Sprintf("default-user Secret %s/rabbitmq-default-user missing key %q", w.Namespace, key), derivedOnly...)
	}
}

func TestGates_CheckABrownfieldURL(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Inputs()
	w.run()
	n := w.Minimal()
	brownfield(n)
	w.Create(n)

	const waiting, rejected = v1alpha1.ReasonWaitingForMessagingCredentials, v1alpha1.ReasonTransportURLRejected
	noPort := "the transport URL must name an explicit port: nova expands its cell mapping from the parts of this URL, and a missing port becomes the word None"
	w.awaitGate(waiting, fmt.Sprintf("transport URL Secret %s/nova-bus not found", w.Namespace), derivedOnly...)
	for _, tc := range []struct {
		data            map[string]string
		reason, message string
	}{
		{map[string]string{"url": "rabbit://u:s3cret@bus:5672/"}, waiting, fmt.Sprintf(`transport URL Secret %s/nova-bus missing key "transport_url"`, w.Namespace)},
		{bus("rabbit://u:s3cret@bus/nova"), rejected, noPort},
		{bus("rabbit://u:s3cret@[2001:db8::1]:5672/nova"), rejected, "the transport URL must not use an IPv6 literal host: nova expands its cell mapping from the parts of this URL and drops the brackets; use a DNS name"},
		{bus("amqp://u:s3cret@bus:5672/nova"), rejected, `transport URL scheme "amqp" is not supported; use rabbit`},
		{bus("s3cret@bus"), rejected, "transport URL does not parse"},
		{bus("s3cret/x://u:p@bus:5672/"), rejected, "transport URL does not parse"},
		{bus(""), waiting, fmt.Sprintf(`transport URL Secret %s/nova-bus missing key "transport_url"`, w.Namespace)},
		{bus("rabbit://u:s3cret@one:5672,u:s3cret@two/nova"), rejected, noPort},
	} {
		w.opens(func() { w.Secret("nova-bus", tc.data) }, tc.reason, tc.message, derivedOnly...)
	}
	w.promptly(func() {
		w.Secret("nova-bus", bus("rabbit://u:s3cret@one:5672,u:s3cret@two:5672/nova"))
		w.AwaitReason(v1alpha1.ConditionSecretsReady, v1alpha1.ReasonSecretsAvailable)
	})
	w.AwaitReady()
}

func bus(url string) map[string]string { return map[string]string{"transport_url": url} }

// brownfield moves databases and bus out of the cluster.
func brownfield(n *v1alpha1.Nova) {
	n.Spec.Messaging = v1alpha1.MessagingSpec{SecretRef: &v1alpha1.SecretRefSpec{Name: "nova-bus"}}
	for _, db := range []*v1alpha1.DatabaseSpec{&n.Spec.APIDatabase, &n.Spec.Database} {
		db.ClusterRef, db.Host = nil, "db.example.com"
	}
}

func TestGates_RefuseAClusterStoreWithANamespacedOperator(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Inputs()
	var asked atomic.Int32
	w.run(func(c *rest.Config, _ *operator.Options) {
		c.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return world.RoundTripper(func(r *http.Request) (*http.Response, error) {
				if strings.Contains(r.URL.Path, "clustersecretstores") {
					asked.Add(1)
				}
				return next.RoundTrip(r)
			})
		})
	})
	n := w.Minimal()
	n.Spec.SecretStoreRef = nil
	w.Create(n)
	w.awaitGate(v1alpha1.ReasonClusterSecretStoreUnsupported, fmt.Sprintf(
		`ClusterSecretStore "openbao-cluster-store" cannot be read by a namespace-scoped operator; set spec.secretStoreRef to a SecretStore in namespace %q`, w.Namespace))
	if asked.Load() > 0 {
		t.Error("it asked for what it has no right to")
	}
	w.promptly(func() {
		w.Edit(func(n *v1alpha1.Nova) { n.Spec.SecretStoreRef = w.Minimal().Spec.SecretStoreRef })
		w.AwaitReason(v1alpha1.ConditionSecretsReady, v1alpha1.ReasonSecretsAvailable)
	})
	w.AwaitReady()
}

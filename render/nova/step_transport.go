package nova

import (
	"fmt"
	"strconv"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/facts"
	"github.com/c5c3/nova-operator/render/url"
)

// transportStep resolves the bus URL, and checks it before the derived Secret is
// written: a restarting pod reads that Secret.
func transportStep(p *pass) {
	raw, message := p.transportInput()
	if message != "" {
		p.Wait(v1alpha1.ReasonWaitingForMessagingCredentials, message, pollCredentials)
		p.HoldAfter("", v1alpha1.ReasonWaitingForMessagingCredentials)
		return
	}
	parsed, err := url.ParseTransport(raw)
	if err == nil {
		err = parsed.Check()
	}
	if err != nil {
		p.Wait(v1alpha1.ReasonTransportURLRejected, err.Error(), pollCredentials)
		p.HoldAfter("", v1alpha1.ReasonTransportURLRejected)
		return
	}
	p.credentials.transport = render.Sensitive(parsed.String())
	p.credentials.brokerPort = parsed.Port()
}

// transportInput returns the bus URL as the owner gives it, or why the pass waits.
func (p *pass) transportInput() (raw, waiting string) {
	if ref := p.nova.Spec.Messaging.SecretRef; ref != nil {
		return p.transportURL(*ref)
	}
	if p.nova.Spec.Messaging.ClusterRef == nil {
		return "", "spec.messaging names neither clusterRef nor secretRef"
	}
	return p.brokerURL(p.nova.Spec.Messaging.ClusterRef.Name)
}

// transportURL reads a Secret that holds a transport URL.
func (p *pass) transportURL(ref v1alpha1.SecretRefSpec) (value, waiting string) {
	key := transportKey(ref)
	data, ok := p.seen.Secrets[ref.Name]
	if !ok {
		return "", fmt.Sprintf("transport URL Secret %s/%s not found", p.nova.Namespace, ref.Name)
	}
	if data[key].Trimmed() == "" {
		return "", fmt.Sprintf("transport URL Secret %s/%s missing key %q", p.nova.Namespace, ref.Name, key)
	}
	return data[key].Trimmed().Reveal(), ""
}

// brokerURL builds the URL of a RabbitmqCluster's default user, on the root vhost.
func (p *pass) brokerURL(name string) (raw, waiting string) {
	cluster, ok := p.seen.RabbitmqClusters[name]
	if !ok {
		return "", fmt.Sprintf("RabbitmqCluster %s/%s not found", p.nova.Namespace, name)
	}
	if cluster.UserSecret == "" {
		return "", fmt.Sprintf("RabbitmqCluster %s/%s has no status.defaultUser.secretReference.name yet", p.nova.Namespace, name)
	}
	namespace := cluster.UserSecretNamespace
	if namespace == "" {
		namespace = p.nova.Namespace
	}
	data, ok := p.seen.Secrets[facts.SecretKey(p.nova.Namespace, namespace, cluster.UserSecret)]
	if !ok {
		return "", fmt.Sprintf("default-user Secret %s/%s not found", namespace, cluster.UserSecret)
	}
	for _, key := range brokerInput(p.nova, name, cluster).keys {
		if data[key].Trimmed() == "" {
			return "", fmt.Sprintf("default-user Secret %s/%s missing key %q", namespace, cluster.UserSecret, key)
		}
	}
	port, err := strconv.ParseInt(data[keyPort].Trimmed().Reveal(), 10, 32)
	if err != nil {
		port = 0
	}
	return url.Transport{Hosts: []url.Host{{
		User: data[keyUsername].Trimmed().Reveal(), Password: data[keyPassword].Trimmed().Reveal(), HasPassword: true,
		Name: data[keyHost].Trimmed().Reveal(), Port: int32(port),
	}}}.String(), ""
}

// remoteTransport resolves the URL for computes on another cluster. An error is a URL
// that will not do; waiting says what is missing.
func (p *pass) remoteTransport() (value render.Sensitive, waiting string, err error) {
	ref := p.nova.Spec.RemoteCompute.TransportURLSecretRef
	raw, waiting := p.transportURL(ref)
	if waiting != "" {
		return "", "spec.remoteCompute.transportURLSecretRef: " + waiting, nil
	}
	parsed, err := url.ParseTransport(raw)
	if err != nil {
		return "", "", fmt.Errorf("spec.remoteCompute.transportURLSecretRef: %w", err)
	}
	return render.Sensitive(parsed.String()), "", nil
}

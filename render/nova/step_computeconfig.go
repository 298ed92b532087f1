package nova

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/ini"
)

// Keys of a compute contract besides those of contractData.
const (
	contractFragment = "nova-compute.conf"
	contractCA       = "ca.crt"
	// cellName is the one real cell every pool joins.
	cellName = "cell1"
)

// contracts is what this pass publishes for computes.
type contracts struct {
	// transport is the bus URL of computes on another cluster.
	remoteTransport render.Sensitive
}

// computeConfigStep publishes the compute contracts. Waiting for the remote URL, or a
// fragment that can't be written, lets the pass go on and leaves what was published.
func computeConfigStep(p *pass) {
	n := p.nova
	if err := fragment(n, localView(n, contractMount+"/"+contractCA)).Check(); err != nil {
		p.Unready(v1alpha1.ReasonComputeConfigError, "in-cluster fragment: "+err.Error())
		p.HoldAfter("", v1alpha1.ReasonComputeConfigError)
		return
	}
	p.status.ComputeConfigSecretRef = &corev1.LocalObjectReference{Name: n.Name + suffixContract}
	if n.Spec.RemoteCompute == nil {
		p.status.RemoteComputeConfigSecretRef = nil
		p.Ready(v1alpha1.ReasonComputeConfigPublished, "")
		return
	}
	transport, waiting, err := p.remoteTransport()
	if err == nil {
		err = fragment(n, remoteView(n)).Check()
		var control *ini.ControlCharacterError
		if errors.As(err, &control) {
			p.Unready(v1alpha1.ReasonComputeConfigError, "remote fragment: "+err.Error())
			p.Hold(childRemoteContract, v1alpha1.ReasonComputeConfigError)
			return
		}
	}
	switch {
	case err != nil:
		p.Fail(v1alpha1.ReasonComputeConfigError, err)
		p.Hold(childRemoteContract, v1alpha1.ReasonComputeConfigError)
	case waiting != "":
		p.Unready(v1alpha1.ReasonWaitingForRemoteTransportURL, waiting)
		p.Hold(childRemoteContract, v1alpha1.ReasonWaitingForRemoteTransportURL)
	default:
		p.contract.remoteTransport = transport
		p.status.RemoteComputeConfigSecretRef = &corev1.LocalObjectReference{Name: n.Name + suffixRemote}
		p.Ready(v1alpha1.ReasonComputeConfigPublished, "")
	}
}

// fragment is the part of nova-compute.conf that the control plane decides. None of
// extraConfig enters it: it is loaded in another trust domain.
func fragment(n *v1alpha1.Nova, v view) ini.File { return serviceConf(n, v) }

// computeContract is the Secret in-cluster computes mount.
func computeContract(p *pass) (render.Resource, error) {
	n := p.nova
	return contractSecret(p, suffixContract, v1alpha1.ComponentComputeConfig,
		fragment(n, localView(n, contractMount+"/"+contractCA)), p.credentials.transport), nil
}

// remoteContract is the one for computes on another cluster.
func remoteContract(p *pass) (render.Resource, error) {
	if p.nova.Spec.RemoteCompute == nil {
		return nil, nil
	}
	return contractSecret(p, suffixRemote, v1alpha1.ComponentRemoteComputeConfig,
		fragment(p.nova, remoteView(p.nova)), p.contract.remoteTransport), nil
}

// contractSecret holds each credential as it is stored, and, where oslo.config reads
// it from a variable, in the encoded form the pods take (suffix _env).
func contractSecret(p *pass, suffix, component string, conf ini.File, transport render.Sensitive) render.Resource {
	c := p.credentials
	data := map[string]string{
		contractFragment:               conf.String(),
		keyTransportURL:                transport.Reveal(),
		keyPassword:                    c.servicePassword.Reveal(),
		"password_env":                 ini.Env(c.servicePassword.Reveal()),
		"metadata_proxy_shared_secret": c.metadataSecret.Reveal(),
		"cell_name":                    cellName,
	}
	if c.brokerCA != "" {
		data[contractCA] = c.brokerCA.Reveal()
	}
	raw := make(map[string][]byte, len(data))
	for key, value := range data {
		raw[key] = []byte(value)
	}
	return corev1ac.Secret(p.nova.Name+suffix, p.nova.Namespace).
		WithLabels(labelsOf(p.nova).Component(component)).
		WithType(corev1.SecretTypeOpaque).
		WithData(raw)
}

// unpublished takes a reference back that is in the status only because its contract is
// written: one that could not be written is not published.
func unpublished(ref func(*v1alpha1.NovaStatus) **corev1.LocalObjectReference) func(before, after *v1alpha1.Nova) {
	return func(before, after *v1alpha1.Nova) { *ref(&after.Status) = *ref(&before.Status) }
}

package nova

import (
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	networkingv1ac "k8s.io/client-go/applyconfigurations/networking/v1"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/pod"
)

// networkPolicyStep refuses a policy without a source: an empty list of peers allows
// everybody.
func networkPolicyStep(p *pass) {
	policy := p.nova.Spec.NetworkPolicy
	switch {
	case policy == nil:
		p.Ready(v1alpha1.ReasonNetworkPolicyNotRequired, "Network isolation is not configured")
	case len(policy.Ingress) == 0:
		p.Refuse(errors.New("spec.networkPolicy.ingress must not be empty: refusing to create NetworkPolicy that would allow all ingress"))
		p.HoldAfter("", "error")
	default:
		p.Ready(v1alpha1.ReasonNetworkPolicyReady, "NetworkPolicy is configured")
	}
}

// networkPolicy isolates every pod of the Nova, those of Jobs included.
func networkPolicy(p *pass) (render.Resource, error) {
	n := p.nova
	if n.Spec.NetworkPolicy == nil {
		return nil, nil
	}
	operator := p.in.Settings.OperatorNamespace
	if placed(n) { // then the probe comes from the API server
		operator = ""
	}
	peers, err := ingressPeers(n, operator)
	if err != nil {
		return nil, err
	}
	egress := egressRules(n, p.credentials.brokerPort)
	additional, err := pod.ConvertAll[networkingv1ac.NetworkPolicyEgressRuleApplyConfiguration](n.Spec.NetworkPolicy.AdditionalEgress)
	if err != nil {
		return nil, err
	}
	return networkingv1ac.NetworkPolicy(n.Name, n.Namespace).
		WithLabels(labelsOf(n).Common()).
		WithSpec(networkingv1ac.NetworkPolicySpec().
			WithPodSelector(metav1ac.LabelSelector().WithMatchLabels(labelsOf(n).Pods())).
			WithPolicyTypes(networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress).
			WithIngress(networkingv1ac.NetworkPolicyIngressRule().
				WithPorts(tcp(portAPI), tcp(portMetadata), tcp(portConsole)).
				WithFrom(peers...)).
			WithEgress(append(egress, additional...)...)), nil
}

// consolePolicy lets the proxy, and nothing else, reach the consoles of the servers.
// It is a policy of its own because policies add up per pod.
func consolePolicy(p *pass) (render.Resource, error) {
	n := p.nova
	if n.Spec.NetworkPolicy == nil || !consoleEnabled(n) {
		return nil, nil
	}
	return networkingv1ac.NetworkPolicy(n.Name+suffixConsoleProxy, n.Namespace).
		WithLabels(labelsOf(n).Common()).
		WithSpec(networkingv1ac.NetworkPolicySpec().
			WithPodSelector(metav1ac.LabelSelector().WithMatchLabels(labelsOf(n).Selector(consoleProxy.component))).
			WithPolicyTypes(networkingv1.PolicyTypeEgress).
			WithEgress(networkingv1ac.NetworkPolicyEgressRule().WithPorts(tcp(5900).WithEndPort(65535)))), nil
}

// ingressPeers are the spec's sources, the namespaces of the gateways, and the
// operator's own, from where the API is probed.
func ingressPeers(n *v1alpha1.Nova, operator string) ([]*networkingv1ac.NetworkPolicyPeerApplyConfiguration, error) {
	var peers []*networkingv1ac.NetworkPolicyPeerApplyConfiguration
	for i := range n.Spec.NetworkPolicy.Ingress {
		source := n.Spec.NetworkPolicy.Ingress[i]
		peer, err := pod.Convert[networkingv1ac.NetworkPolicyPeerApplyConfiguration](networkingv1.NetworkPolicyPeer{
			NamespaceSelector: &source.NamespaceSelector, PodSelector: source.PodSelector,
		})
		if err != nil {
			return nil, err
		}
		peers = append(peers, peer)
	}
	var namespaces []string
	for _, r := range []*route{&apiRoute, &metadataRoute, &consoleRoute} {
		if g := r.gateway(n); g != nil {
			namespace := g.ParentRef.Namespace
			if namespace == "" {
				namespace = n.Namespace
			}
			namespaces = append(namespaces, namespace)
		}
	}
	namespaces = append(namespaces, operator)
	seen := map[string]bool{"": true}
	for _, namespace := range namespaces {
		if !seen[namespace] {
			seen[namespace] = true
			peers = append(peers, networkingv1ac.NetworkPolicyPeer().WithNamespaceSelector(
				metav1ac.LabelSelector().WithMatchLabels(map[string]string{corev1.LabelMetadataName: namespace})))
		}
	}
	return peers, nil
}

// egressRules are the ports the pods call, derived from the spec. Destinations are
// open: the services' addresses are not known here.
func egressRules(n *v1alpha1.Nova, brokerPort int32) []*networkingv1ac.NetworkPolicyEgressRuleApplyConfiguration {
	rules := []*networkingv1ac.NetworkPolicyEgressRuleApplyConfiguration{
		networkingv1ac.NetworkPolicyEgressRule().WithPorts(port(corev1.ProtocolUDP, 53), tcp(53)),
		egress(databasePort(&n.Spec.APIDatabase)),
		egress(databasePort(&n.Spec.Database)),
	}
	if ports := cachePorts(n); len(ports) > 0 {
		rules = append(rules, egress(ports...))
	}
	rules = append(rules, egress(urlPort(n.Spec.KeystoneEndpoint)), egress(siblingPorts(n)...))
	if brokerPort != 0 {
		rules = append(rules, egress(brokerPort))
	}
	return rules
}

func egress(ports ...int32) *networkingv1ac.NetworkPolicyEgressRuleApplyConfiguration {
	rule := networkingv1ac.NetworkPolicyEgressRule()
	for _, number := range ports {
		rule.WithPorts(tcp(number))
	}
	return rule
}

func tcp(number int32) *networkingv1ac.NetworkPolicyPortApplyConfiguration {
	return port(corev1.ProtocolTCP, number)
}

func port(protocol corev1.Protocol, number int32) *networkingv1ac.NetworkPolicyPortApplyConfiguration {
	return networkingv1ac.NetworkPolicyPort().WithProtocol(protocol).WithPort(intstr.FromInt32(number))
}

// cachePorts are the memcached ports in the order they are named.
func cachePorts(n *v1alpha1.Nova) []int32 {
	var ports []int32
	for _, server := range cacheServers(n) {
		number := int32(11211)
		if at := strings.LastIndexByte(server, ':'); at > strings.LastIndexByte(server, ']') {
			if v, err := strconv.ParseUint(server[at+1:], 10, 16); err == nil && v > 0 {
				number = int32(v)
			}
		}
		if !slices.Contains(ports, number) {
			ports = append(ports, number)
		}
	}
	return ports
}

// siblingPorts are the ports of the services nova calls, sorted: the well-known one,
// or that of an override.
func siblingPorts(n *v1alpha1.Nova) []int32 {
	e := n.Spec.Endpoints
	var ports []int32
	for _, s := range []struct {
		enabled  bool
		override string
		known    int32
	}{
		{true, e.Placement.Override, 8778},
		{true, e.Neutron.Override, 9696},
		{true, e.Glance.Override, 9292},
		{e.Cinder.Enabled, e.Cinder.Override, 8776},
		{e.Barbican.Enabled, e.Barbican.Override, 9311},
	} {
		switch {
		case !s.enabled:
		case s.override != "":
			ports = append(ports, urlPort(s.override))
		default:
			ports = append(ports, s.known)
		}
	}
	slices.Sort(ports)
	return slices.Compact(ports)
}

// urlPort is the port a URL names, or its scheme's; 443 for one that does not parse.
// What cinder's template fills in (%(project_id)s) is behind the port.
func urlPort(raw string) int32 {
	raw, _, _ = strings.Cut(raw, "%(")
	u, err := url.Parse(raw)
	if err != nil {
		return 443
	}
	if v, err := strconv.ParseUint(u.Port(), 10, 16); err == nil && v > 0 {
		return int32(v)
	}
	if u.Scheme == "http" {
		return 80
	}
	return 443
}

package nova

import (
	"errors"
	"strings"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/url"
)

// Veiled is an observation without credentials, of which a decision about the Nova takes
// the same turns: what was empty stays empty, and a URL that was refused is refused. It
// can be handed on in a bug report.
func (o Observed) Veiled(n *v1alpha1.Nova) Observed {
	o = o.clone()
	urls := map[string]bool{}
	if ref := n.Spec.Messaging.SecretRef; ref != nil {
		urls[ref.Name+"/"+keyOr(ref.Key, v1alpha1.DefaultTransportURLKey)] = true
	}
	if remote := n.Spec.RemoteCompute; remote != nil {
		urls[remote.TransportURLSecretRef.Name+"/"+keyOr(remote.TransportURLSecretRef.Key, v1alpha1.DefaultTransportURLKey)] = true
	}
	broker := o.brokerSecret(n)
	for name, data := range o.Secrets {
		veiled := SecretData{}
		for key, value := range data {
			switch {
			case urls[name+"/"+key]:
				veiled[key] = veiledURL(value)
			case name == broker && (key == keyHost || key == keyPort):
				veiled[key] = value // an address
			default:
				veiled[key] = standIn(key, value)
			}
		}
		o.Secrets[name] = veiled
	}
	return o
}

// brokerSecret is the key of the Secret of the broker's default user; "" without one.
func (o Observed) brokerSecret(n *v1alpha1.Nova) string {
	ref := n.Spec.Messaging.ClusterRef
	if ref == nil {
		return ""
	}
	cluster := o.RabbitmqClusters[ref.Name]
	return SecretKey(n, keyOr(cluster.UserSecretNamespace, n.Namespace), cluster.UserSecret)
}

// standIn has of a credential what decisions look at: whether it is empty, breaks its
// line, or holds a slash.
func standIn(key string, value render.Sensitive) render.Sensitive {
	text := value.Trimmed().Reveal()
	out := ""
	if text != "" {
		out = "placeholder-" + key
	}
	if strings.ContainsAny(text, "\n\r") {
		out += "\n-of-two-lines"
	} else if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		out += "\x01"
	}
	if strings.Contains(text, "/") {
		out += "/"
	}
	return render.Sensitive(out + value.Reveal()[len(text):])
}

// veiledURL keeps brokers and virtual host of a transport URL.
func veiledURL(value render.Sensitive) render.Sensitive {
	if value.Trimmed() == "" {
		return value
	}
	t, err := url.ParseTransport(value.Trimmed().Reveal())
	var scheme *url.SchemeError
	switch {
	case errors.As(err, &scheme):
		return render.Sensitive(scheme.Scheme + "://placeholder")
	case err != nil:
		return "placeholder"
	}
	for i := range t.Hosts {
		t.Hosts[i].User = standIn("user", render.Sensitive(t.Hosts[i].User)).Reveal()
		t.Hosts[i].Password = standIn("password", render.Sensitive(t.Hosts[i].Password)).Reveal()
	}
	t.Query = ""
	return render.Sensitive(t.String())
}

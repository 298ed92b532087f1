package nova

import (
	"errors"
	"strings"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/facts"
	"github.com/c5c3/nova-operator/render/url"
)

// Mask replaces the credentials in the observation by placeholders with which a decision
// takes the same turns: what was empty stays empty, and a URL that was refused is refused.
// It can then be handed on in a bug report.
func (in *Input) Mask() {
	n := in.Nova
	in.Observed = in.Observed.clone()
	o := &in.Observed
	urls := map[string]bool{}
	for _, row := range inputs(n) {
		if row.url {
			urls[row.name+"/"+row.keys[0]] = true
		}
	}
	broker := o.brokerSecret(n)
	for name, data := range o.Secrets {
		masked := facts.SecretData{}
		for key, value := range data {
			switch {
			case urls[name+"/"+key]:
				masked[key] = maskedURL(value)
			case name == broker && address(key):
				masked[key] = value
			default:
				masked[key] = standIn(key, value)
			}
		}
		o.Secrets[name] = masked
	}
}

// brokerSecret is the key of the Secret of the broker's default user; "" without one.
func (o *Observed) brokerSecret(n *v1alpha1.Nova) string {
	ref := n.Spec.Messaging.ClusterRef
	if ref == nil {
		return ""
	}
	return brokerInput(n, ref.Name, o.RabbitmqClusters[ref.Name]).name
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

// maskedURL keeps brokers and virtual host of a transport URL.
func maskedURL(value render.Sensitive) render.Sensitive {
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

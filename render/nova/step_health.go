package nova

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render/openstack"
)

// HealthTTL is how long a healthy answer is believed, and after which the API is
// asked again: nothing else wakes a Nova whose API fails while its pods stay ready.
const HealthTTL = 30 * time.Second

// healthTimeout bounds one probe of the API.
const healthTimeout = 10 * time.Second

// maxBody is how much of an error answer a condition quotes, in bytes.
const maxBody = 256

// healthQuestion asks the API of a Nova for its version document, which needs no token. One
// that is not well is asked sooner.
func healthQuestion(n *v1alpha1.Nova, last *openstack.Answer) openstack.Question {
	q := openstack.Question{
		Request: openstack.Request{Method: http.MethodGet, URL: HealthURL(n)},
		Words:   "whether the Nova API answers", MaxAge: HealthTTL, Timeout: healthTimeout,
	}
	if last != nil && !last.OK() {
		q.MaxAge = pollHealth
	}
	return q
}

// Fold takes the newest answer to a question into the observation. It reports whether that
// says anything new.
func (in *Input) Fold(_ openstack.Question, a openstack.Answer) bool {
	if in.Observed.Health != nil && *in.Observed.Health == a {
		return false
	}
	in.Observed.Health = &a
	return true
}

// Tell takes the outcome of a call in: a Nova makes none.
func (in *Input) Tell(openstack.Outcome) {}

// healthStep asks the API how it is, and reports what it answered last. Until the first
// answer comes, what the last pass said still holds.
func healthStep(p *pass) {
	h := p.seen.Health
	p.Ask(healthQuestion(p.nova, h))
	switch {
	case p.status.Endpoint == "":
		p.Unready(v1alpha1.ReasonEndpointNotReady, "endpoint not yet configured")
	case h == nil:
		if !p.Recall() {
			p.Unready(v1alpha1.ReasonEndpointNotReady, "endpoint not yet configured")
		}
	case h.OK():
		p.Ready(v1alpha1.ReasonAPIHealthy, "Nova API is responding at "+HealthURL(p.nova))
		p.Again(HealthTTL)
		return
	case h.Class != "":
		p.Unready(unanswered(h))
	default:
		message := fmt.Sprintf("Nova API returned HTTP %d", h.Code)
		if h.Body != "" {
			message += ": " + oneLine(h.Body)
		}
		p.Unready(v1alpha1.ReasonAPIUnhealthy, message)
	}
	p.Again(pollHealth)
}

// unanswered words a probe without an answer.
func unanswered(h *openstack.Answer) (reason, message string) {
	switch h.Class {
	case openstack.ClassTimeout:
		return v1alpha1.ReasonHealthCheckTimeout, "health check timed out"
	case openstack.ClassUnresolved:
		return v1alpha1.ReasonEndpointNotReady, "endpoint not resolvable"
	case openstack.ClassRefused:
		return v1alpha1.ReasonConnectionFailed, "connection failed: " + h.Error
	default:
		return v1alpha1.ReasonHealthCheckFailed, "health check failed: " + h.Error
	}
}

func oneLine(body string) string {
	body = body[:min(len(body), maxBody)]
	return strings.ToValidUTF8(strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ").Replace(body), "")
}

package nova

import (
	"fmt"
	"strings"
	"time"

	"github.com/c5c3/nova-operator/api/v1alpha1"
)

// HealthTTL is how long a healthy answer is believed, and after which the API is
// asked again: nothing else wakes a Nova whose API fails while its pods stay ready.
const HealthTTL = 30 * time.Second

// maxBody is how much of an error answer a condition quotes, in bytes.
const maxBody = 256

// APIAvailable tells the observer whether there is an API to ask.
func APIAvailable(n *v1alpha1.Nova, seen Observed) bool {
	return seen.Deployments[n.Name].available()
}

// healthStep reports what the API answered.
func healthStep(p *pass) {
	h := p.seen.Health
	switch {
	case p.out.Status.Endpoint == "" || h == nil:
		p.unready(v1alpha1.ReasonEndpointNotReady, "endpoint not yet configured")
	case h.Failure != "":
		p.unready(healthReason(h), healthMessage(h))
	case h.Code >= 200 && h.Code < 300:
		p.ready(v1alpha1.ReasonAPIHealthy, "Nova API is responding at "+HealthURL(p.nova))
		p.requeue(HealthTTL)
		return
	default:
		message := fmt.Sprintf("Nova API returned HTTP %d", h.Code)
		if h.Body != "" {
			message += ": " + oneLine(h.Body)
		}
		p.unready(v1alpha1.ReasonAPIUnhealthy, message)
	}
	p.requeue(pollHealth)
}

// healthReason is the reason of a probe without an answer; one that is none reads as
// any other failure.
func healthReason(h *Health) string {
	switch h.Failure {
	case v1alpha1.ReasonHealthCheckTimeout, v1alpha1.ReasonEndpointNotReady, v1alpha1.ReasonConnectionFailed:
		return h.Failure
	default:
		return v1alpha1.ReasonHealthCheckFailed
	}
}

func healthMessage(h *Health) string {
	switch healthReason(h) {
	case v1alpha1.ReasonHealthCheckTimeout:
		return "health check timed out"
	case v1alpha1.ReasonEndpointNotReady:
		return "endpoint not resolvable"
	case v1alpha1.ReasonConnectionFailed:
		return "connection failed: " + h.Error
	default:
		return "health check failed: " + h.Error
	}
}

func oneLine(body string) string {
	body = body[:min(len(body), maxBody)]
	return strings.ToValidUTF8(strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ").Replace(body), "")
}

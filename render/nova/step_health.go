package nova

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// RecalledHealth is the last answer of the API as the condition tells it, for a preview,
// which can't ask: nil when nothing is known.
func RecalledHealth(n *v1alpha1.Nova) *Health {
	c := meta.FindStatusCondition(n.Status.Conditions, v1alpha1.ConditionNovaAPIReady)
	switch {
	case c == nil || c.Reason == v1alpha1.ReasonEndpointNotReady:
		return nil
	case c.Status == metav1.ConditionTrue:
		return &Health{Code: http.StatusOK}
	case c.Reason == v1alpha1.ReasonAPIUnhealthy:
		h := &Health{}
		if _, err := fmt.Sscanf(c.Message, "Nova API returned HTTP %d", &h.Code); err != nil {
			return nil
		}
		_, h.Body, _ = strings.Cut(c.Message, ": ")
		return h
	default:
		_, text, _ := strings.Cut(c.Message, ": ")
		return &Health{Failure: c.Reason, Error: text}
	}
}

func oneLine(body string) string {
	body = body[:min(len(body), maxBody)]
	return strings.ToValidUTF8(strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ").Replace(body), "")
}

package diff

import (
	"context"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/c5c3/nova-operator/render"
)

// A person is needed for what every retry meets again, and not for what others may change.
func TestError_NeedsPerson(t *testing.T) {
	want := map[Cause]bool{
		CauseForbidden: true, CauseImmutable: true, CauseForeign: true, CauseInvalid: true,
		CauseChanged: false, CauseMissingKind: false, CauseWebhook: false, CauseQuota: false, CauseTerminatingNamespace: false,
		CauseMissingNamespace: false, CauseUnavailable: false, CauseOther: false,
	}
	for cause := range remedies {
		if _, decided := want[cause]; !decided {
			t.Errorf("nobody decided about %s", cause)
		}
	}
	for cause, needs := range want {
		if got := (&Error{Cause: cause}).NeedsPerson(); got != needs {
			t.Errorf("%s: %t", cause, got)
		}
	}
}

// An answer about a Secret may quote its values. An interruption is no answer.
func TestNewError_WithholdsAnswersAboutSecrets(t *testing.T) {
	answer := apierrors.NewBadRequest("hunter2 is no good")
	for name, tc := range map[string]struct {
		kind string
		err  error
		want string
	}{
		"of a Secret":                  {"Secret", answer, "apply Secret ns/s: Invalid; the answer is withheld because it may quote values (correct the named fields)"},
		"of another kind":              {"ConfigMap", answer, "apply ConfigMap ns/s: hunter2 is no good (correct the named fields)"},
		"of a pass that was ended":     {"Secret", fmt.Errorf("patch: %w", context.Canceled), "apply Secret ns/s: patch: context canceled (retried)"},
		"of a call that took too long": {"Secret", context.DeadlineExceeded, "apply Secret ns/s: context deadline exceeded (retried)"},
	} {
		t.Run(name, func(t *testing.T) {
			key := render.Key{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: tc.kind}, Namespace: "ns", Name: "s"}
			if got := NewError("apply", key, tc.err).Error(); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}

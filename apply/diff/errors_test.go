package diff

import "testing"

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

package diff

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/c5c3/nova-operator/render"
)

// Cause is the class of a failure; conditions, events and metrics carry it.
type Cause string

// The classes of failure.
const (
	// CauseChanged: the object changed or was replaced between read and write.
	CauseChanged Cause = "Changed"
	// CauseForbidden: the credential lacks a permission.
	CauseForbidden Cause = "Forbidden"
	// CauseMissingKind: the cluster does not serve the kind.
	CauseMissingKind Cause = "MissingKind"
	// CauseWebhook: an admission webhook or policy refused, or could not be called.
	CauseWebhook Cause = "WebhookRefusal"
	// CauseImmutable: a changed field cannot change.
	CauseImmutable Cause = "Immutable"
	// CauseQuota: a resource quota is used up.
	CauseQuota Cause = "QuotaExceeded"
	// CauseTerminatingNamespace: the namespace is being deleted.
	CauseTerminatingNamespace Cause = "TerminatingNamespace"
	// CauseMissingNamespace: the namespace does not exist.
	CauseMissingNamespace Cause = "MissingNamespace"
	// CauseForeign: the object belongs to somebody else.
	CauseForeign Cause = "ForeignOwner"
	// CauseInvalid: the API server calls the object invalid.
	CauseInvalid Cause = "Invalid"
	// CauseUnavailable: the API server did not answer, or asked to come back.
	CauseUnavailable Cause = "Unavailable"
	// CauseOther is everything else.
	CauseOther Cause = "Other"
)

// remedies say what a person can do, in one clause.
var remedies = map[Cause]string{
	CauseChanged:              "the next pass decides on the new state",
	CauseForbidden:            "grant the permission to the operator's account on that cluster",
	CauseMissingKind:          "install the definition of this kind",
	CauseWebhook:              "look at the webhook or policy it names",
	CauseImmutable:            "delete the object to let it be created anew, or revert the change",
	CauseQuota:                "raise the quota of the namespace or lower the request",
	CauseTerminatingNamespace: "wait until the namespace is gone and create it again",
	CauseMissingNamespace:     "create the namespace",
	CauseInvalid:              "correct the named fields",
	CauseUnavailable:          "retried",
}

// Error is what went wrong with one object. It never quotes a value of a Secret.
type Error struct {
	Key render.Key
	// Op is what was tried: read, apply, replace, delete, prune.
	Op    string
	Cause Cause
	// Paths are the fields concerned, as the API server names them.
	Paths []string
	// Remedy is what a person can do about it; "" if nobody knows.
	Remedy string
	// Err is the API server's answer. For a Secret it is stripped of every message.
	Err error
}

// Error names the operation, the object, the answer and the remedy.
func (e *Error) Error() string {
	msg := fmt.Sprintf("%s %s: %s", e.Op, e.Key, brief(e.Err))
	if e.Remedy != "" {
		msg += " (" + e.Remedy + ")"
	}
	return msg
}

// Unwrap gives errors.Is and errors.As the answer.
func (e *Error) Unwrap() error { return e.Err }

// NeedsPerson reports whether every retry meets the same answer until a person acts. A
// kind that is missing, a quota that is used up and a webhook that can't be called may
// change without one.
func (e *Error) NeedsPerson() bool {
	switch e.Cause {
	case CauseForbidden, CauseImmutable, CauseForeign, CauseInvalid:
		return true
	default:
		return false
	}
}

// brief is the text of an answer without the object dumps the API server puts into
// "Invalid value" causes: the head and the tail of each cause say it.
func brief(err error) string {
	const head, tail = 60, 140 // characters; a longer cause is cut in the middle
	var status apierrors.APIStatus
	if !errors.As(err, &status) || !apierrors.IsInvalid(err) || status.Status().Details == nil {
		return err.Error()
	}
	var causes []string
	for _, c := range status.Status().Details.Causes {
		text := c.Message
		if text == "" {
			return err.Error() // scrubbed
		}
		if len(text) > head+tail {
			text = text[:head] + " ... " + text[len(text)-tail:]
		}
		text = strings.TrimPrefix(c.Field+": "+text, ": ")
		if !slices.Contains(causes, text) { // some validations run twice
			causes = append(causes, text)
		}
	}
	if len(causes) == 0 {
		return err.Error()
	}
	return strings.Join(causes, "; ")
}

// NewError classifies err. An *Error passes unchanged.
func NewError(op string, key render.Key, err error) *Error {
	var known *Error
	if errors.As(err, &known) {
		return known
	}
	cause := CauseOf(err)
	e := &Error{Key: key, Op: op, Cause: cause, Paths: paths(err), Remedy: remedies[cause], Err: err}
	if sensitive(key.GroupKind()) {
		e.Err = scrub(err, cause, e.Paths)
	}
	return e
}

// ForeignError refuses an object for being somebody else's.
func ForeignError(op string, key render.Key, reason, remedy string) *Error {
	return &Error{Key: key, Op: op, Cause: CauseForeign, Remedy: remedy, Err: errors.New(reason)}
}

// The API server has no status cause for these; the texts are its own and have been
// stable since the features came (admission/errors and webhook/errors in
// k8s.io/apiserver, resourcequota in k8s.io/apiserver).
var (
	webhookText   = regexp.MustCompile(`admission webhook ".*" denied the request|failed calling webhook|ValidatingAdmissionPolicy '.*' with binding '.*' denied request|violates PodSecurity`)
	quotaText     = regexp.MustCompile(`exceeded quota:|failed quota:`)
	immutableText = regexp.MustCompile(`(?i)immutable|may not change once set|may not be changed|cannot be (changed|updated|modified)|updates to \w+ spec for fields other than|cannot change roleRef`)
)

// CauseOf classifies an answer of the API server; "" for nil.
func CauseOf(err error) Cause {
	switch {
	case err == nil:
		return ""
	case meta.IsNoMatchError(err):
		return CauseMissingKind
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return CauseTerminatingNamespace
	case webhookText.MatchString(err.Error()):
		return CauseWebhook
	case apierrors.IsForbidden(err) && quotaText.MatchString(err.Error()):
		return CauseQuota
	case apierrors.IsInvalid(err) && slices.Contains(paths(err), "metadata.uid"):
		return CauseChanged // our precondition: another object has the name
	case apierrors.IsInvalid(err) && immutable(err):
		return CauseImmutable
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return CauseForbidden
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return CauseInvalid
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		return CauseChanged
	case apierrors.IsNotFound(err):
		return notFoundCause(err)
	case apierrors.IsServerTimeout(err), apierrors.IsTimeout(err), apierrors.IsTooManyRequests(err),
		apierrors.IsServiceUnavailable(err), apierrors.IsInternalError(err), apierrors.ReasonForError(err) == metav1.StatusReasonUnknown:
		return CauseUnavailable
	}
	return CauseOther
}

// notFoundCause tells a missing namespace, a kind that is no longer served, and an
// object that went away, apart by the details of the answer.
func notFoundCause(err error) Cause {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return CauseMissingKind
	}
	d := status.Status().Details
	switch {
	case d.Kind == "namespaces" && d.Group == "":
		return CauseMissingNamespace
	case slices.ContainsFunc(d.Causes, func(c metav1.StatusCause) bool { return c.Type == metav1.CauseTypeUnexpectedServerResponse }):
		return CauseMissingKind
	}
	return CauseChanged
}

func immutable(err error) bool { return immutableText.MatchString(err.Error()) }

// paths lists the fields an answer names, in its order, each once.
func paths(err error) []string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	var out []string
	for _, c := range status.Status().Details.Causes {
		if c.Field != "" && !slices.Contains(out, c.Field) {
			out = append(out, c.Field)
		}
	}
	return out
}

// sensitiveKinds hold credentials; the API server quotes values in validation errors.
var sensitiveKinds = map[schema.GroupKind]bool{{Kind: "Secret"}: true}

func sensitive(gk schema.GroupKind) bool { return sensitiveKinds[gk] }

// scrub replaces the answer to a write of a Secret by one that names its reason and
// fields only. Code and reason stay, so apierrors.IsX still works.
func scrub(err error, cause Cause, fields []string) error {
	if meta.IsNoMatchError(err) || wait.Interrupted(err) {
		return err // made on this side, from names only
	}
	text := string(cause)
	if len(fields) > 0 {
		text += " at " + strings.Join(fields, ", ")
	}
	text += "; the answer is withheld because it may quote values"
	out := &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Message: text, Code: http.StatusInternalServerError}}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		s := status.Status()
		out.ErrStatus.Code, out.ErrStatus.Reason = s.Code, s.Reason
		if s.Details != nil {
			d := &metav1.StatusDetails{Name: s.Details.Name, Group: s.Details.Group, Kind: s.Details.Kind}
			for _, c := range s.Details.Causes {
				d.Causes = append(d.Causes, metav1.StatusCause{Type: c.Type, Field: c.Field})
			}
			out.ErrStatus.Details = d
		}
	}
	return out
}

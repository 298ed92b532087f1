package nova_test

import (
	"context"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/test/cluster"
)

// The credentials of every test are marked and looked for at its end. These are the
// ways on which somebody else quotes them to the operator.
func TestLeak_ErrorsThatQuoteASecret(t *testing.T) {
	t.Parallel()
	w := everything(t)
	marked := map[string]map[string]string{
		"nova-api-db":           {"username": "s3cret-user", "password": "s3cret-$api"},
		"nova-db":               {"username": "s3cret-user", "password": "s3cret-,cell"},
		"nova-service":          {"password": "s3cret-service"},
		"nova-shared":           {"shared_secret": "s3cret-metadata"},
		"nova-ca":               {"ca.crt": "s3cret-authority"},
		"nova-remote":           bus("rabbit://s3cret-user:s3cret@bus.example.com:5671/s3cret-host"),
		"rabbitmq-default-user": {"username": "s3cret-user", "password": "s3cret", "host": "bus.example.com", "port": "5671"},
	}

	// An admission policy that quotes what it refuses.
	w.refuseSecrets()
	for name, data := range marked {
		w.Secret(name, data)
	}
	c := w.AwaitReason(v1alpha1.ConditionSecretsReady, v1alpha1.ReasonConfigError)
	if !strings.Contains(c.Message, "withheld") {
		t.Errorf("the message does not come from the policy: %s", c.Message)
	}
	w.AwaitReason(v1alpha1.ConditionReady, v1alpha1.ReasonNotAllReady)
	w.allowSecrets()
	w.AwaitReady()

	// A derived Secret that somebody froze.
	frozen := w.Get(render.KindSecret, "nova-db-connection")
	if err := w.Client.Patch(t.Context(), frozen, client.RawPatch("application/merge-patch+json", []byte(`{"immutable":true}`))); err != nil {
		t.Fatal(err)
	}
	w.Secret("nova-db", map[string]string{"username": "s3cret-user", "password": "s3cret-next"})
	c = w.AwaitReason(v1alpha1.ConditionSecretsReady, v1alpha1.ReasonConfigError)
	if !strings.Contains(c.Message, "nova-db-connection") {
		t.Errorf("message %q", c.Message)
	}
	w.Remove(render.KindSecret, "nova-db-connection")
	w.AwaitReady()

	// Drift of a Secret, and a manager that claims a value.
	claim := []byte(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"nova-service-user-env"},"data":{"password":"czNjcmV0LWNsYWlt"}}`)
	if err := w.Client.Patch(t.Context(), w.Get(render.KindSecret, "nova-service-user-env"), client.RawPatch("application/apply-patch+yaml", claim),
		client.FieldOwner("somebody"), client.ForceOwnership); err != nil {
		t.Fatal(err)
	}
	w.AwaitEvent(v1alpha1.EventFieldConflict, "nova-service-user-env")
	w.AwaitEvent(v1alpha1.EventDriftCorrected, "nova-service-user-env")

	// URLs that will not do.
	for _, url := range []string{
		"rabbit://s3cret-user:s3cret@bus.example.com", "s3cret", "s3cret://bus", "rabbit://s3cret:s3cret:s3cret@[::1]", "rabbit://s3cret-%zz@bus:99999/",
	} {
		w.Secret("nova-bus", bus(url))
		w.Edit(func(n *v1alpha1.Nova) {
			n.Spec.Messaging = v1alpha1.MessagingSpec{SecretRef: &v1alpha1.SecretRefSpec{Name: "nova-bus"}, TLS: n.Spec.Messaging.TLS}
		})
		w.pass()
		w.AwaitReason(v1alpha1.ConditionSecretsReady, v1alpha1.ReasonTransportURLRejected)
		w.Secret("nova-remote", bus(url))
		w.pass()
	}
}

// refuseSecrets installs a policy for this namespace, and waits until it acts.
func (w *novaWorld) refuseSecrets() {
	w.T.Helper()
	name := w.Namespace
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: name}},
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
					Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"secrets"}},
				}}},
			},
			MatchConditions: []admissionv1.MatchCondition{{Name: "derived", Expression: "object.metadata.name in ['nova-service-user-env', 'probe']"}},
			Validations:     []admissionv1.Validation{{Expression: "false", MessageExpression: "'refused: ' + string(object.data['password'])"}},
		},
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}
	for _, o := range []client.Object{policy, binding} {
		w.Create(o)
		w.T.Cleanup(func() { _ = w.Client.Delete(context.Background(), o) })
	}
	cluster.Eventually(w.T, "the policy to act", func(ctx context.Context) (bool, error) { return w.refused(ctx), nil })
}

// allowSecrets takes the policy away again.
func (w *novaWorld) allowSecrets() {
	w.T.Helper()
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}}
	if err := w.Client.Delete(w.T.Context(), binding); err != nil {
		w.T.Fatal(err)
	}
	cluster.Eventually(w.T, "the policy to be gone", func(ctx context.Context) (bool, error) { return !w.refused(ctx), nil })
}

// refused tells whether the policy refuses a Secret, and quotes it.
func (w *novaWorld) refused(ctx context.Context) bool {
	probe := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "probe", Namespace: w.Namespace}, Data: map[string][]byte{"password": []byte("quoted")}}
	err := w.Client.Create(ctx, probe, client.DryRunAll)
	return err != nil && strings.Contains(err.Error(), "refused: ")
}

package apply

import (
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/nova-operator/apply/diff"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/test/cluster"
)

// webhook runs a real mutating webhook in this process for ConfigMaps, Secrets and
// Deployments of the namespace that carry the label hook=on: it upper-cases data.k,
// adds data.injected and a sidecar in first place, and denies hook-deny=on.
func (e *env) webhook() {
	e.t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(serveWebhook))
	e.t.Cleanup(server.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	config := &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: e.ns},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name:                    "mutate.test.c5c3.io",
			AdmissionReviewVersions: []string{"v1"},
			ClientConfig:            admissionregistrationv1.WebhookClientConfig{URL: &server.URL, CABundle: ca},
			SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
			FailurePolicy:           new(admissionregistrationv1.Fail),
			NamespaceSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": e.ns}},
			ObjectSelector:          &metav1.LabelSelector{MatchLabels: map[string]string{"hook": "on"}},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{"CREATE", "UPDATE"},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{"", "apps"}, APIVersions: []string{"v1"}, Resources: []string{"configmaps", "secrets", "deployments"},
				},
			}},
		}},
	}
	if err := e.admin.Create(e.t.Context(), config); err != nil {
		e.t.Fatal(err)
	}
	e.t.Cleanup(func() { _ = e.admin.Delete(contextT(e.t.Context()), config) })
	probe := e.raw(`{apiVersion: v1, kind: ConfigMap, metadata: {name: hook-probe, labels: {hook: "on"}}, data: {k: v}}`)
	cluster.Eventually(e.t, "webhook in force", func(ctx contextT) (bool, error) {
		_ = e.admin.Delete(ctx, keyed(render.KeyOf(probe)))
		u := probe.DeepCopy()
		if err := e.admin.Create(ctx, u); err != nil {
			return false, err
		}
		v, _, err := unstructured.NestedString(u.Object, "data", "k")
		return v == "V", err
	})
}

func serveWebhook(w http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var u unstructured.Unstructured
	if err := json.Unmarshal(review.Request.Object.Raw, &u.Object); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answer := &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: u.GetLabels()["hook-deny"] != "on"}
	if !answer.Allowed {
		answer.Result = &metav1.Status{Message: fmt.Sprint("the test says no to ", u.Object["data"]), Code: http.StatusForbidden}
	}
	var patch []string
	if k, found, _ := unstructured.NestedString(u.Object, "data", "k"); found && u.GetKind() == "ConfigMap" {
		patch = append(patch,
			fmt.Sprintf(`{"op":"replace","path":"/data/k","value":%q}`, strings.ToUpper(k)),
			`{"op":"add","path":"/data/injected","value":"yes"}`)
	}
	containers, _, _ := unstructured.NestedSlice(u.Object, "spec", "template", "spec", "containers")
	if len(containers) > 0 && containers[0].(map[string]any)["name"] != "sidecar" {
		patch = append(patch, `{"op":"add","path":"/spec/template/spec/containers/0","value":{"name":"sidecar","image":"mesh"}}`)
	}
	if len(patch) > 0 {
		answer.Patch = []byte("[" + strings.Join(patch, ",") + "]")
		answer.PatchType = new(admissionv1.PatchTypeJSONPatch)
	}
	review.Response, review.Request = answer, nil
	_ = json.NewEncoder(w).Encode(review)
}

func TestApply_WebhookRewritesAndRefuses(t *testing.T) {
	e := newEnv(t)
	e.webhook()
	set := desired(
		e.obj(render.StageConfig, render.Policy{}, `{apiVersion: v1, kind: ConfigMap, metadata: {name: config, labels: {hook: "on"}}, data: {k: v}}`),
		e.obj(render.StageWorkloads, render.Policy{}, strings.Replace(deploymentDoc, "labels: {app: api}}\nspec", "labels: {app: api, hook: \"on\"}}\nspec", 1)),
	)
	e.must(set)
	if v, _, _ := unstructured.NestedString(e.live(set.Desired[0].Key()).Object, "data", "k"); v != "V" {
		t.Fatalf("data.k is %q: the webhook did not run", v)
	}
	e.calls.take()
	wantActions(t, e.must(set), "config:unchanged api:unchanged")
	e.wantCalls("")

	// After a restart the rewritten field cannot be proved: one call, then none.
	e.restart()
	wantActions(t, e.must(set), "config:unchanged api:unchanged")
	e.wantCalls("PATCH")
	r := e.must(set)
	e.wantCalls("")
	if len(r.Drifts) != 0 {
		t.Errorf("drifts %+v", r.Drifts)
	}

	_, err := e.run(desired(e.obj(render.StageConfig, render.Policy{}, `{apiVersion: v1, kind: ConfigMap, metadata: {name: denied, labels: {hook: "on", hook-deny: "on"}}, data: {k: v}}`)))
	wantError(t, err, diff.CauseWebhook, "mutate.test.c5c3.io", "the test says no")

	// The webhook quotes what it refuses: of a Secret, nothing of that comes through.
	_, err = e.run(desired(e.obj(render.StageConfig, render.Policy{}, `{apiVersion: v1, kind: Secret, metadata: {name: denied, labels: {hook: "on", hook-deny: "on"}}, stringData: {k: hunter2}}`)))
	wantError(t, err, diff.CauseWebhook, "Secret", "withheld")
	var typed *diff.Error
	if !errors.As(err, &typed) {
		t.Fatal(err)
	}
	if text := fmt.Sprintf("%v %#v", err, typed.Err); strings.Contains(text, "aHVudGVyMg") || strings.Contains(text, "the test says") {
		t.Errorf("a value shows in %s", text)
	}
}

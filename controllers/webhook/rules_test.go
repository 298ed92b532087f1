package webhook_test

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/api/v1alpha1/apitest"
)

// Every case of the pure functions, with the same answer from the API server: each
// violation under its path and in one go, and the warnings beside.
func TestNova_AnswersLikeThePureRules(t *testing.T) {
	novas := newClient(t, "novas")
	run(t, novas, v1alpha1.KindNova, apitest.NovaCreate, func(t *testing.T, tc apitest.NovaCase) exchange {
		sent := changed(apitest.MinimalNova(), tc.Change)
		errs, _ := v1alpha1.ValidateNova(reread(t, sent), nil)
		return exchange{sent: object(t, v1alpha1.KindNova, sent), errs: errs, want: tc.Want, warnings: tc.Warnings}
	})
	run(t, novas, v1alpha1.KindNova, apitest.NovaUpdate, func(t *testing.T, tc apitest.NovaCase) exchange {
		stored, sent := changed(apitest.MinimalNova(), tc.Old), changed(apitest.MinimalNova(), tc.Change)
		errs, _ := v1alpha1.ValidateNova(reread(t, sent), reread(t, stored))
		return exchange{
			stored: object(t, v1alpha1.KindNova, stored), deleted: sent.DeletionTimestamp != nil,
			sent: object(t, v1alpha1.KindNova, sent), errs: errs, want: tc.Want, warnings: tc.Warnings,
		}
	})
}

func TestNovaCompute_AnswersLikeThePureRules(t *testing.T) {
	novas, computes := newClient(t, "novas"), newClient(t, "novacomputes")
	run(t, computes, v1alpha1.KindNovaCompute, apitest.ComputeCreate, func(t *testing.T, tc apitest.ComputeCase) exchange {
		joined(t, novas, tc.Release)
		sent := changed(apitest.MinimalCompute(), tc.Change)
		errs, _ := v1alpha1.ValidateNovaCompute(reread(t, sent), nil, tc.Release)
		return exchange{sent: object(t, v1alpha1.KindNovaCompute, sent), errs: errs, want: tc.Want, warnings: tc.Warnings}
	})
	run(t, computes, v1alpha1.KindNovaCompute, apitest.ComputeUpdate, func(t *testing.T, tc apitest.ComputeCase) exchange {
		joined(t, novas, tc.Release)
		stored, sent := changed(apitest.MinimalCompute(), tc.Old), changed(apitest.MinimalCompute(), tc.Change)
		errs, _ := v1alpha1.ValidateNovaCompute(reread(t, sent), reread(t, stored), tc.Release)
		return exchange{
			stored: object(t, v1alpha1.KindNovaCompute, stored), deleted: sent.DeletionTimestamp != nil,
			sent: object(t, v1alpha1.KindNovaCompute, sent), errs: errs, want: tc.Want, warnings: tc.Warnings,
		}
	})
}

// exchange is one request and the answer to expect.
type exchange struct {
	// stored is the object of an update; nil creates. Deleted holds it by a finalizer,
	// which the request takes off.
	stored  *unstructured.Unstructured
	deleted bool
	sent    *unstructured.Unstructured
	errs    field.ErrorList
	// want are the same errors in the words of the table.
	want, warnings []string
}

// run makes every case's request.
func run[C any](t *testing.T, c *client, kind string, cases map[string]C, prepare func(*testing.T, C) exchange) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		t.Run(kind+" "+name, func(t *testing.T) {
			x := prepare(t, cases[name])
			if diff := cmp.Diff(x.want, apitest.Complaints(x.errs)); diff != "" {
				t.Fatalf("the pure rules do not say what the case wants: %s", diff)
			}
			var want []string
			for _, err := range x.errs {
				want = append(want, err.Field+": "+err.ErrorBody())
			}
			err := x.request(t, c)
			if diff := cmp.Diff(want, answer(t, err)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(x.warnings, c.take()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// request asks the API server without storing the outcome.
func (x *exchange) request(t *testing.T, c *client) error {
	t.Helper()
	if x.stored == nil {
		_, err := c.Create(t.Context(), x.sent, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
	x.stored.SetLabels(map[string]string{unchecked: ""})
	if x.deleted {
		x.stored.SetFinalizers([]string{"test.c5c3.io/hold"})
	}
	stored := plant(t, c, x.stored)
	if x.deleted {
		err := c.Delete(t.Context(), stored.GetName(), metav1.DeleteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if stored, err = c.Get(t.Context(), stored.GetName(), metav1.GetOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	x.sent.SetResourceVersion(stored.GetResourceVersion())
	c.take()
	_, err := c.Update(t.Context(), x.sent, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

// plant stores an object past the webhooks and removes it with the test.
func plant(t *testing.T, c *client, u *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	stored, err := c.Create(t.Context(), u, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { remove(t, c, u.GetName()) })
	return stored
}

// remove deletes an object and whatever holds it. The patch leaves the label on, so that
// no webhook is asked.
func remove(t *testing.T, c *client, name string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	if _, err := c.Patch(ctx, name, "application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
		t.Error(err)
	}
	if err := c.Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		t.Error(err)
	}
}

// joined makes the Nova of the pools exist in a release, or not at all.
func joined(t *testing.T, novas *client, release string) {
	t.Helper()
	if release == "" {
		return
	}
	nova := apitest.MinimalNova()
	nova.Spec.OpenStackRelease, nova.Labels = release, map[string]string{unchecked: ""}
	plant(t, novas, object(t, v1alpha1.KindNova, nova))
}

func changed[T any](object *T, change func(*T)) *T {
	if change != nil {
		change(object)
	}
	return object
}

// reread is a resource as the webhook reads it.
func reread[T any](t *testing.T, typed *T) *T {
	t.Helper()
	raw, err := json.Marshal(typed)
	if err != nil {
		t.Fatal(err)
	}
	out := new(T)
	if err := json.Unmarshal(raw, out); err != nil {
		t.Fatal(err)
	}
	return out
}

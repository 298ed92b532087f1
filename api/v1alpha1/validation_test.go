// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"pgregory.net/rapid"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/api/v1alpha1/apitest"
)

func TestValidateNova_Create(t *testing.T) {
	for name, tc := range apitest.NovaCreate {
		t.Run(name, func(t *testing.T) {
			nova := apitest.MinimalNova()
			tc.Change(nova)
			errs, warnings := v1alpha1.ValidateNova(nova, nil)
			compare(t, tc.Want, tc.Warnings, errs, warnings)
		})
	}
}

func TestValidateNova_Update(t *testing.T) {
	for name, tc := range apitest.NovaUpdate {
		t.Run(name, func(t *testing.T) {
			nova, old := apitest.MinimalNova(), apitest.MinimalNova()
			if tc.Old != nil {
				tc.Old(old)
			}
			if tc.Change != nil {
				tc.Change(nova)
			}
			errs, warnings := v1alpha1.ValidateNova(nova, old)
			compare(t, tc.Want, tc.Warnings, errs, warnings)
		})
	}
}

func compare(t *testing.T, want, wantWarnings []string, errs field.ErrorList, warnings []string) {
	t.Helper()
	if diff := cmp.Diff(want, apitest.Complaints(errs)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(wantWarnings, warnings); diff != "" {
		t.Error(diff)
	}
}

func TestValidateNova_CollectsEverything(t *testing.T) {
	errs, _ := v1alpha1.ValidateNova(&v1alpha1.Nova{}, nil)
	want := []string{
		"spec.image.repository: repository must be set",
		"spec.image: exactly one of image.tag or image.digest must be set",
		"spec.apiDatabase: exactly one of clusterRef or host must be set",
		"spec.database: exactly one of clusterRef or host must be set",
		"spec: apiDatabase and database must name different schemas",
		"spec.cache: exactly one of clusterRef or servers must be set",
		"spec.messaging: exactly one of clusterRef or secretRef must be set",
		"spec.api.deployment.replicas: replicas must be at least 1",
		"spec.metadata.deployment.replicas: replicas must be at least 1",
		"spec.scheduler.deployment.replicas: replicas must be at least 1",
		"spec.conductor.deployment.replicas: replicas must be at least 1",
		"spec.keystoneEndpoint: keystoneEndpoint must be set",
		"spec.serviceUser.secretRef.name: secretRef.name must be set: it carries the Keystone service-user password",
		"spec.metadata.sharedSecretRef.name: sharedSecretRef.name must be set: it carries the secret the Neutron metadata agent signs proxied requests with",
	}
	if diff := cmp.Diff(want, apitest.Complaints(errs)); diff != "" {
		t.Error(diff)
	}
}

func TestDefault_StoresWhatTheWebhookStores(t *testing.T) {
	nova := apitest.MinimalNova()
	again := nova.DeepCopy()
	again.Default()
	if diff := cmp.Diff(nova, again); diff != "" {
		t.Errorf("not idempotent: %s", diff)
	}
	replicas := []int32{
		nova.Spec.API.Deployment.Replicas, nova.Spec.Metadata.Deployment.Replicas, nova.Spec.Scheduler.Deployment.Replicas,
		nova.Spec.Conductor.Deployment.Replicas, nova.Spec.ConsoleProxy.Deployment.Replicas,
	}
	if diff := cmp.Diff([]int32{3, 1, 1, 1, 1}, replicas); diff != "" {
		t.Error(diff)
	}
	uwsgi := &v1alpha1.UWSGISpec{Processes: 2, Threads: 1, HTTPKeepAlive: new(true)}
	for _, pair := range []struct{ want, got any }{
		{uwsgi, nova.Spec.API.UWSGI},
		{uwsgi, nova.Spec.Metadata.UWSGI},
		{new(int32(2)), nova.Spec.Scheduler.Workers},
		{new(int32(2)), nova.Spec.Conductor.Workers},
		{new(true), nova.Spec.ConsoleProxy.Enabled},
		{"dogpile.cache.pymemcache", nova.Spec.Cache.Backend},
		{&v1alpha1.LoggingSpec{Format: "text", Level: "INFO", Debug: new(false)}, nova.Spec.Logging},
		{v1alpha1.ServiceUserSpec{
			Username: "nova", ProjectName: "service", UserDomainName: "Default", ProjectDomainName: "Default",
			SecretRef: v1alpha1.SecretRefSpec{Name: "nova-user", Key: "password"},
		}, nova.Spec.ServiceUser},
		{"shared_secret", nova.Spec.Metadata.SharedSecretRef.Key},
		{(*v1alpha1.DBArchiveSpec)(nil), nova.Spec.DBArchive},
		{"", nova.Spec.KeystonePublicEndpoint},
		{(*int64)(nil), nova.Spec.Scheduler.Deployment.TerminationGracePeriodSeconds},
	} {
		if diff := cmp.Diff(pair.want, pair.got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestDefault_FollowsSwitches(t *testing.T) {
	nova := apitest.MinimalNova()
	nova.Spec.ConsoleProxy.Enabled = new(false)
	nova.Spec.RemoteCompute = &v1alpha1.NovaRemoteComputeSpec{}
	nova.Spec.Database.TLS, nova.Spec.APIDatabase.TLS = &v1alpha1.DatabaseTLSSpec{}, &v1alpha1.DatabaseTLSSpec{Mode: v1alpha1.DatabaseTLSDisabled}
	nova.Default()
	if nova.Spec.ConsoleProxy.Deployment != nil {
		t.Error("a disabled proxy keeps its deployment block")
	}
	if nova.Spec.RemoteCompute.TransportURLSecretRef.Key != "transport_url" {
		t.Error("the key of the remote transport URL has no default")
	}
	if nova.Spec.Database.TLS.Mode != "require" || nova.Spec.APIDatabase.TLS.Mode != "disabled" {
		t.Error("an empty TLS mode is require, and no other")
	}
	nova.Spec.ConsoleProxy = v1alpha1.NovaConsoleProxySpec{Deployment: &v1alpha1.DeploymentSpec{}}
	nova.Default()
	if nova.Spec.ConsoleProxy.Deployment.Replicas != 3 {
		t.Error("a present console block without replicas takes the shared default")
	}
}

func TestValidateNova_NeverPanicsAndIsStable(t *testing.T) {
	text := rapid.OneOf(rapid.Just(""), rapid.SampledFrom([]string{"http://a", "2026.1", "nova", "\n", "@daily", "TZ=0", "\x00", "a$b"}), rapid.String())
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) string { return text.Draw(t, name) }
		number := func(name string) *int32 { return rapid.Ptr(rapid.Int32(), true).Draw(t, name) }
		nova := apitest.MinimalNova()
		nova.Name, nova.Spec.OpenStackRelease, nova.Spec.KeystoneEndpoint = draw("name"), draw("release"), draw("url")
		nova.Spec.Database.Database, nova.Spec.APIDatabase.Host, nova.Spec.Region = draw("database"), draw("host"), draw("region")
		nova.Spec.DBArchive = &v1alpha1.DBArchiveSpec{Schedule: draw("schedule"), MaxRows: number("rows"), RetentionDays: number("days")}
		nova.Spec.Autoscaling = &v1alpha1.AutoscalingSpec{MaxReplicas: rapid.Int32().Draw(t, "max"), MinReplicas: number("min"), TargetCPUUtilization: number("cpu"), TargetMemoryUtilization: number("memory")}
		quantity := rapid.Map(rapid.Int64(), func(n int64) resource.Quantity { return *resource.NewMilliQuantity(n, resource.DecimalSI) })
		amounts := rapid.MapOf(rapid.SampledFrom([]corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, "x"}), quantity)
		nova.Spec.API.Deployment.Resources = apitest.Resources(amounts.Draw(t, "requests"), amounts.Draw(t, "limits"))
		nova.Spec.API.Deployment.Tolerations = []corev1.Toleration{{
			Key: draw("key"), Operator: corev1.TolerationOperator(draw("operator")), Value: draw("value"), Effect: corev1.TaintEffect(draw("effect")),
		}}
		nova.Spec.API.Deployment.NodeSelector = map[string]string{draw("label"): draw("labelValue"), "b": "c"}
		nova.Spec.ExtraConfig = v1alpha1.ExtraConfig{draw("section"): {draw("option"): v1alpha1.SingleValue(draw("setting")), "x": {List: true}}}
		if rapid.Bool().Draw(t, "default") {
			nova.Default()
		}
		old := rapid.SampledFrom([]*v1alpha1.Nova{nil, apitest.MinimalNova(), {}}).Draw(t, "old")
		before := nova.DeepCopy()
		errs, warnings := v1alpha1.ValidateNova(nova, old)
		if diff := cmp.Diff(before, nova); diff != "" {
			t.Fatalf("changed its input: %s", diff)
		}
		againErrs, againWarnings := v1alpha1.ValidateNova(nova, old)
		if diff := cmp.Diff(apitest.Complaints(errs), apitest.Complaints(againErrs)); diff != "" {
			t.Fatal(diff)
		}
		if diff := cmp.Diff(warnings, againWarnings); diff != "" {
			t.Fatal(diff)
		}
	})
}

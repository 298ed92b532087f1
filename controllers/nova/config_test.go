package nova_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/test/cluster"
)

// region changes what is in nova.conf, and waits until every role mounts it.
func (w *novaWorld) region(name string) {
	w.T.Helper()
	before := w.mounted("nova")
	w.Edit(func(n *v1alpha1.Nova) { n.Spec.Region = name })
	cluster.Eventually(w.T, "every role to mount a new configuration", func(context.Context) (bool, error) {
		now := w.mounted("nova")
		return now != before && !slices.ContainsFunc(roles, func(role string) bool { return w.mounted(role) != now }), nil
	})
	w.AwaitReady()
}

// extra sets one option of extraConfig.
func extra(n *v1alpha1.Nova, section, key, value string) {
	n.Spec.ExtraConfig = v1alpha1.ExtraConfig{section: {key: v1alpha1.SingleValue(value)}}
}

// mounted is the ConfigMap of a Deployment.
func (w *novaWorld) mounted(name string) string {
	w.T.Helper()
	for _, v := range w.deployment(name).Spec.Template.Spec.Volumes {
		if v.Name == "config" {
			return v.ConfigMap.Name
		}
	}
	return ""
}

// configs are the names of the live generations.
func (w *novaWorld) configs() []string {
	w.T.Helper()
	list := &corev1.ConfigMapList{}
	if err := w.Client.List(w.T.Context(), list, client.InNamespace(w.Namespace), client.HasLabels{v1alpha1.LabelConfigBase}); err != nil {
		w.T.Fatal(err)
	}
	var names []string
	for _, cm := range list.Items {
		names = append(names, cm.Name)
	}
	slices.Sort(names)
	return names
}

func TestConfig_KeepsThreeGenerationsAndWhatIsMounted(t *testing.T) {
	t.Parallel()
	w := ready(t)
	stranger := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name: "nova-config-00000000", Namespace: w.Namespace, Labels: map[string]string{v1alpha1.LabelConfigBase: "nova-config"},
	}}
	w.Create(stranger)
	generations := []string{w.mounted("nova")}
	// A run of the archive that lasts keeps the generation it mounts.
	w.archiveRun("nova-db-archive-long", "hang")
	for i := range 6 {
		w.region(fmt.Sprintf("Region%d", i))
		generations = append(generations, w.mounted("nova"))
	}
	want := append(slices.Clone(generations[3:]), generations[0], stranger.Name)
	slices.Sort(want)
	cluster.Eventually(t, "the older generations to go", func(context.Context) (bool, error) {
		if diff := cmp.Diff(want, w.configs()); diff != "" {
			return false, fmt.Errorf("of %v: %s", generations, diff)
		}
		return true, nil
	})

	// The Job goes, but its pod runs on with what it mounted.
	w.Remove(render.KindJob, "nova-db-archive-long", client.PropagationPolicy(metav1.DeletePropagationOrphan))
	w.pass()
	w.pass()
	if !slices.Contains(w.configs(), generations[0]) {
		t.Error("the configuration of a pod that runs is gone")
	}
	if err := w.Client.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace(w.Namespace), client.MatchingLabels{batchv1.JobNameLabel: "nova-db-archive-long"}); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "the unmounted generation to go", func(context.Context) (bool, error) {
		w.pass()
		return !slices.Contains(w.configs(), generations[0]), nil
	})
}

// archiveRun starts a run of the archive as its CronJob would; mark is one of
// devcluster's for pods, or empty.
func (w *novaWorld) archiveRun(name, mark string) {
	w.T.Helper()
	cron := w.cronJob()
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: w.Namespace, Labels: cron.Spec.JobTemplate.Labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(cron, render.KindCronJob)},
		},
		Spec: *cron.Spec.JobTemplate.Spec.DeepCopy(),
	}
	job.Spec.BackoffLimit = new(int32(0))
	if mark != "" {
		metav1.SetMetaDataAnnotation(&job.Spec.Template.ObjectMeta, "devcluster.c5c3.io/"+mark, "true")
	}
	w.Create(job)
	// The CronJob controller lists what runs, and takes it out when it has ended.
	cluster.Eventually(w.T, "the run to be listed", func(ctx context.Context) (bool, error) {
		cron := w.cronJob()
		cron.Status.Active = append(cron.Status.Active, corev1.ObjectReference{
			APIVersion: "batch/v1", Kind: "Job", Name: job.Name, Namespace: job.Namespace, UID: job.UID,
		})
		err := w.Client.Status().Update(ctx, cron)
		return err == nil, err
	})
}

func TestConfig_TextThatBreaksOutOfItsLineOnAFirstInstall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Inputs()
	w.run()
	n := w.Minimal()
	extra(n, "workarounds", "example", "one\n[DEFAULT]\ndebug = true")
	w.Create(n)
	c := w.AwaitReason(v1alpha1.ConditionSecretsReady, v1alpha1.ReasonConfigError)
	if !strings.Contains(c.Message, "workarounds") {
		t.Errorf("message %q does not name the section", c.Message)
	}
	w.AwaitSays(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonWaitingForConfig, "Waiting for the rendered config before provisioning the database schema")
	for _, entry := range w.inventory() {
		for _, kind := range []string{"ConfigMap/", "Deployment/", "Job/", "CronJob/", "Service/"} {
			if strings.HasPrefix(entry, kind) {
				t.Errorf("%s exists without a configuration", entry)
			}
		}
	}
	w.promptly(func() {
		w.Edit(func(n *v1alpha1.Nova) { n.Spec.ExtraConfig = nil })
		w.AwaitReason(v1alpha1.ConditionSecretsReady, v1alpha1.ReasonSecretsAvailable)
	})
	w.AwaitReady()
}

func TestConfig_TextThatBreaksOutOfItsLineLater(t *testing.T) {
	t.Parallel()
	w := ready(t)
	good, before := w.mounted("nova"), map[string]int64{}
	for _, name := range roles {
		before[name] = w.deployment(name).Generation
	}
	synced, contract := w.dbSync(), w.data("nova-compute-config")
	for what, spoil := range map[string]func(*v1alpha1.Nova){
		"an option": func(n *v1alpha1.Nova) { extra(n, "workarounds", "example", "one\r") },
		"the spec":  func(n *v1alpha1.Nova) { n.Spec.Region = "One\n[DEFAULT]\ndebug = true" },
	} {
		w.Edit(func(n *v1alpha1.Nova) {
			n.Spec.ExtraConfig, n.Spec.Region = nil, ""
			spoil(n)
		})
		w.AwaitReason(v1alpha1.ConditionSecretsReady, v1alpha1.ReasonConfigError)
		w.AwaitReason(v1alpha1.ConditionReady, v1alpha1.ReasonNotAllReady)
		w.AwaitReason(v1alpha1.ConditionNovaAPIReady, v1alpha1.ReasonAPIHealthy) // the pass went on to its end
		if what == "the spec" {
			w.AwaitReason(v1alpha1.ConditionComputeConfigReady, v1alpha1.ReasonComputeConfigError)
		}
		w.pass()
		for _, name := range roles {
			if w.deployment(name).Generation != before[name] || w.mounted(name) != good {
				t.Errorf("%s was touched over %s", name, what)
			}
		}
		if w.dbSync() != synced {
			t.Errorf("db-sync ran again over %s", what)
		}
		if diff := cmp.Diff([]string{good}, w.configs()); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(contract, w.data("nova-compute-config")); diff != "" {
			t.Error(diff)
		}
	}
	w.Edit(func(n *v1alpha1.Nova) {
		n.Spec.Region = ""
		extra(n, "DEFAULT", "cpu_allocation_ratio", "4.0")
	})
	w.AwaitReady()
	if w.mounted("nova") == good {
		t.Error("the repaired configuration is not mounted")
	}
}

func TestConfig_AnOverriddenOptionIsToldOnceAndHonoured(t *testing.T) {
	t.Parallel()
	// The first write of the status after the edit is lost, and the pass repeated.
	w := newWorld(t)
	w.Inputs()
	w.run(w.losing(1, "PATCH", "/novas/nova/status", `"reason":"OwnedKeysOverridden"`))
	w.Create(w.Minimal())
	w.AwaitReady()
	w.Edit(func(n *v1alpha1.Nova) { extra(n, "DEFAULT", "debug", "true") })
	c := w.AwaitReason(v1alpha1.ConditionExtraConfigHealthy, v1alpha1.ReasonOwnedKeysOverridden)
	if !strings.HasPrefix(c.Message, "spec.extraConfig overrides operator-owned keys: [DEFAULT] debug") {
		t.Errorf("message %q", c.Message)
	}
	w.AwaitReady()
	w.pass()
	w.AwaitReady()
	if got := w.AwaitEvent(v1alpha1.EventExtraConfigOwnedKeyOverride); got != c.Message {
		t.Errorf("event %q, condition %q", got, c.Message)
	}
	if events := w.said(v1alpha1.EventExtraConfigOwnedKeyOverride); events != 1 {
		t.Errorf("%d events about one override", events)
	}
	cm := w.Get(render.KindConfigMap, w.mounted("nova"))
	if data, _ := cm.Object["data"].(map[string]any); !strings.Contains(fmt.Sprint(data["nova.conf"]), "debug = true\n") {
		t.Errorf("nova.conf: %s", data["nova.conf"])
	}
	w.Edit(func(n *v1alpha1.Nova) { n.Spec.ExtraConfig = nil })
	w.AwaitSays(v1alpha1.ConditionExtraConfigHealthy, v1alpha1.ReasonNoOwnedKeysOverridden, "spec.extraConfig overrides no operator-owned keys")
}

// A value that no decoder of the operator reads, let in without admission, concerns
// the Nova that has it and no other.
func TestConfig_AnUnreadableValueConcernsItsNovaAlone(t *testing.T) {
	t.Parallel()
	w := ready(t)
	u := w.Get(v1alpha1.GroupVersion.WithKind(v1alpha1.KindNova), "nova")
	extra := map[string]any{"DEFAULT": map[string]any{"debug": map[string]any{"a": "b"}}, "vnc": int64(5)}
	if err := unstructured.SetNestedMap(u.Object, extra, "spec", "extraConfig"); err != nil {
		t.Fatal(err)
	}
	if err := w.Client.Update(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	c := w.AwaitReason(v1alpha1.ConditionSecretsReady, v1alpha1.ReasonConfigError)
	if !strings.Contains(c.Message, "spec.extraConfig[DEFAULT][debug]") {
		t.Errorf("message %q", c.Message)
	}
	w.Edit(func(n *v1alpha1.Nova) { n.Spec.ExtraConfig = nil })
	w.AwaitReady()
}

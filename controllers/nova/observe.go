package nova

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/apply"
	"github.com/c5c3/nova-operator/controllers/pass"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/facts"
	rendernova "github.com/c5c3/nova-operator/render/nova"
	"github.com/c5c3/nova-operator/render/pipeline"
)

// observe returns the state of the world for one Nova. A read that fails is an error: an
// empty value in its place would roll pods.
func observe(ctx context.Context, from pass.Reads, n *v1alpha1.Nova) (*rendernova.Input, error) {
	in := &rendernova.Input{Nova: n, Settings: from.Settings, Observed: rendernova.Observed{
		GatewayAPI: from.Capabilities.GatewayAPI, VPA: from.Capabilities.VPA,
	}}
	o := observer{Reads: from, in: in}
	for _, part := range []func(context.Context) error{o.store, o.secrets, o.broker, o.servers, o.children, o.claims, o.archive, o.history} {
		if err := part(ctx); err != nil {
			return nil, err
		}
	}
	return in, nil
}

// observer fills one observation. It writes nothing.
type observer struct {
	pass.Reads
	in *rendernova.Input
}

// get reads one object; nil when there is none, which includes a kind the cluster does
// not serve.
func (o *observer) get(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	u, err := apply.Get(ctx, o.Cached, render.Key{GroupVersionKind: gvk, Namespace: namespace, Name: name})
	switch {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return nil, nil //nolint:nilnil // absence is an answer, not an error
	case err != nil:
		return nil, fmt.Errorf("read %s %s/%s: %w", gvk.Kind, namespace, name, err)
	}
	return u, nil
}

// ready reads whether an object is ready, into a map of the observation.
func (o *observer) ready(ctx context.Context, into *map[string]facts.Readiness, gvk schema.GroupVersionKind, name string) error {
	u, err := o.get(ctx, gvk, o.in.Nova.Namespace, name)
	if err != nil || u == nil {
		return err
	}
	if *into == nil {
		*into = map[string]facts.Readiness{}
	}
	(*into)[name], err = facts.ReadinessOf(u)
	return err
}

// store reads the secret store, unless it is one a namespaced operator must not read.
func (o *observer) store(ctx context.Context) error {
	ref := rendernova.StoreRef(o.in.Nova)
	kind, namespace := render.KindClusterSecretStore, ""
	if ref.Kind == v1alpha1.SecretStoreKindNamespaced {
		kind, namespace = render.KindSecretStore, o.in.Nova.Namespace
	} else if o.Settings.NamespaceScoped {
		return nil
	}
	u, err := o.get(ctx, kind, namespace, ref.Name)
	if err != nil || u == nil {
		return err
	}
	r, err := facts.ReadinessOf(u)
	o.in.Observed.Store = &r
	return err
}

// secrets reads every Secret the spec names, and the ExternalSecret behind one that
// is missing or incomplete: it only words the wait.
func (o *observer) secrets(ctx context.Context) error {
	n := o.in.Nova
	for _, name := range rendernova.SecretRefs(n) {
		if err := o.secret(ctx, n.Namespace, name); err != nil {
			return err
		}
	}
	for _, name := range rendernova.Waiting(n, o.in.Observed) {
		if err := o.ready(ctx, &o.in.Observed.ExternalSecrets, render.KindExternalSecret, name); err != nil {
			return err
		}
	}
	return nil
}

func (o *observer) secret(ctx context.Context, namespace, name string) error {
	u, err := o.get(ctx, render.KindSecret, namespace, name)
	if err != nil || u == nil {
		return err
	}
	data, err := facts.SecretDataOf(u)
	if o.in.Observed.Secrets == nil {
		o.in.Observed.Secrets = map[string]facts.SecretData{}
	}
	o.in.Observed.Secrets[facts.SecretKey(o.in.Nova.Namespace, namespace, name)] = data
	return err
}

// broker reads the RabbitmqCluster and the Secret of its default user.
func (o *observer) broker(ctx context.Context) error {
	n := o.in.Nova
	ref := n.Spec.Messaging.ClusterRef
	if ref == nil {
		return nil
	}
	u, err := o.get(ctx, render.KindRabbitmqCluster, n.Namespace, ref.Name)
	if err != nil || u == nil {
		return err
	}
	broker := facts.RabbitmqClusterOf(u)
	o.in.Observed.RabbitmqClusters = map[string]facts.RabbitmqCluster{ref.Name: broker}
	if broker.UserSecret == "" {
		return nil
	}
	return o.secret(ctx, cmp.Or(broker.UserSecretNamespace, n.Namespace), broker.UserSecret)
}

// servers reads the referenced MariaDBs.
func (o *observer) servers(ctx context.Context) error {
	for _, db := range []*v1alpha1.DatabaseSpec{&o.in.Nova.Spec.APIDatabase, &o.in.Nova.Spec.Database} {
		if !db.Managed() {
			continue
		}
		if err := o.ready(ctx, &o.in.Observed.MariaDBs, render.KindMariaDB, db.ClusterRef.Name); err != nil {
			return err
		}
	}
	return nil
}

// children reads the live children whose state decisions depend on. A child of somebody
// else is not ours to observe: the applier refuses its name.
func (o *observer) children(ctx context.Context) error {
	n, seen := o.in.Nova, &o.in.Observed
	owner := pass.OwnerOf(rendernova.About(), n)
	live := map[string]*unstructured.Unstructured{}
	for _, key := range rendernova.ObservedChildren(n) {
		if key.GroupVersionKind == render.KindHTTPRoute && !seen.GatewayAPI.Served {
			continue
		}
		u, err := o.get(ctx, key.GroupVersionKind, key.Namespace, key.Name)
		if err != nil {
			return err
		}
		if u == nil || !owner.Owns(u) {
			continue
		}
		if err := seen.Absorb(u); err != nil {
			return err
		}
		if key.GroupVersionKind == render.KindJob {
			live[key.Name] = u
		}
	}
	for name, job := range seen.Jobs {
		if err := o.pods(ctx, live[name], &job); err != nil {
			return err
		}
		seen.Jobs[name] = job
	}
	return nil
}

// claims reads what others claim of the schemas of the Nova. Databases are listed past the
// cache while one of its own is still to be made.
func (o *observer) claims(ctx context.Context) error {
	n := o.in.Nova
	novas := &v1alpha1.NovaList{}
	if o.Resources != nil {
		err := o.Resources.List(ctx, novas, client.UnsafeDisableDeepCopy)
		if apierrors.IsForbidden(err) { // a person who previews in a namespace
			err = o.Resources.List(ctx, novas, client.InNamespace(n.Namespace), client.UnsafeDisableDeepCopy)
		}
		if err != nil {
			return fmt.Errorf("list Novas: %w", err)
		}
	}
	var databases []rendernova.DatabaseClaim
	made := map[string]metav1.Time{}
	if n.Spec.APIDatabase.Managed() || n.Spec.Database.Managed() {
		from := o.Cached
		if len(o.in.Observed.Databases) < rendernova.ManagedSchemas(n) {
			from = o.Uncached
		}
		items, err := apply.List(ctx, from, render.KindDatabase, n.Namespace)
		if err != nil && !meta.IsNoMatchError(err) {
			return err
		}
		about, names := rendernova.About(), rendernova.DatabaseNames(n)
		owner := pass.OwnerOf(about, n)
		for _, u := range items {
			switch _, own := o.in.Observed.Databases[u.GetName()]; {
			case own || owner.Owns(u):
				made[u.GetName()] = u.GetCreationTimestamp()
			case !slices.Contains(names, u.GetName()) && !ofNova(about, u, novas.Items):
				databases = append(databases, claimOf(u))
			}
		}
	}
	o.in.Observed.Claims = rendernova.Claims(n, novas.Items, databases, func(name string) metav1.Time { return made[name] })
	return nil
}

// ofNova reports whether a Database belongs to one of the Novas, which then claims it.
func ofNova(about pipeline.Kind, u *unstructured.Unstructured, novas []v1alpha1.Nova) bool {
	for i := range novas {
		if pass.OwnerOf(about, &novas[i]).Owns(u) {
			return true
		}
	}
	return false
}

func claimOf(u *unstructured.Unstructured) rendernova.DatabaseClaim {
	server, _, _ := unstructured.NestedString(u.Object, "spec", "mariaDbRef", "name")
	schema, _, _ := unstructured.NestedString(u.Object, "spec", "name")
	return rendernova.DatabaseClaim{
		Name: u.GetName(), Server: server, Schema: cmp.Or(schema, u.GetName()), Created: u.GetCreationTimestamp(),
	}
}

// history lists the generations of the configuration.
func (o *observer) history(ctx context.Context) error {
	n := o.in.Nova
	items, err := apply.List(ctx, o.Cached, render.KindConfigMap, n.Namespace,
		client.MatchingLabels{v1alpha1.LabelConfigBase: rendernova.ConfigBase(n)})
	if err != nil {
		return err
	}
	owner := pass.OwnerOf(rendernova.About(), n)
	for _, u := range items {
		if owner.Owns(u) && u.GetDeletionTimestamp() == nil {
			o.in.Observed.ConfigMaps = append(o.in.Observed.ConfigMaps, facts.ConfigMapOf(u))
		}
	}
	if rendernova.Outgrown(o.in) {
		return o.mounts(ctx)
	}
	return nil
}

// mounts reads what still mounts a generation, past the cache: nothing may start an
// informer for pods, and a stale answer would cost a pod its configuration.
func (o *observer) mounts(ctx context.Context) error {
	mounted := map[string]bool{}
	for _, gvk := range []schema.GroupVersionKind{render.KindReplicaSet, render.KindPod, render.KindJob} {
		items, err := apply.List(ctx, o.Uncached, gvk, o.in.Nova.Namespace, client.MatchingLabels(rendernova.PodLabels(o.in.Nova)))
		if apierrors.IsForbidden(err) { // a target cluster whose role is of an older version
			o.in.Observed.MountsUnknown = true
			return nil
		}
		if err != nil {
			return err
		}
		for _, u := range items {
			if name := facts.MountedConfigMap(u); name != "" && facts.KeepsConfig(u) {
				mounted[name] = true
			}
		}
	}
	o.in.Observed.MountedConfigMaps = slices.Sorted(maps.Keys(mounted))
	return nil
}

// archive lists the runs of the archive CronJob.
func (o *observer) archive(ctx context.Context) error {
	n, seen := o.in.Nova, &o.in.Observed
	cron, err := o.get(ctx, render.KindCronJob, n.Namespace, rendernova.ArchiveName(n))
	if err != nil || cron == nil {
		return err
	}
	seen.ArchiveConfigMap = facts.MountedConfigMap(cron)
	items, err := apply.List(ctx, o.Cached, render.KindJob, n.Namespace, client.MatchingLabels(rendernova.ArchiveLabels(n)))
	if err != nil {
		return err
	}
	for _, u := range items {
		if ref := metav1.GetControllerOf(u); ref == nil || ref.UID != cron.GetUID() {
			continue
		}
		job, err := facts.JobOf(u)
		if err != nil {
			return err
		}
		seen.ArchiveJobs = append(seen.ArchiveJobs, job)
	}
	return nil
}

// pods reads of the pods of a Job what the decision needs: of one that has ended the
// termination message, of another one whether anything of it ever ran. Pods are read past
// the cache, because nothing may start an informer for them.
func (o *observer) pods(ctx context.Context, u *unstructured.Unstructured, job *facts.Job) error {
	if job.Deleting || job.Ended() && !rendernova.WantsMessage(o.in.Nova, *job) {
		return nil
	}
	list := &corev1.PodList{}
	selected := client.MatchingLabels{batchv1.JobNameLabel: job.Name}
	if err := o.Uncached.List(ctx, list, client.InNamespace(o.in.Nova.Namespace), selected); err != nil {
		return err
	}
	pods := slices.DeleteFunc(list.Items, func(p corev1.Pod) bool {
		owner := metav1.GetControllerOf(&p)
		return owner == nil || string(owner.UID) != job.UID
	})
	if !job.Ended() {
		var err error
		job.Unstarted, err = facts.Unstarted(u, pods)
		return err
	}
	job.Message = message(pods)
	return nil
}

// message is the termination message of the pods of a Job: that of the succeeded one, else
// of the newest.
func message(pods []corev1.Pod) string {
	var picked *corev1.Pod
	for i := range pods {
		p := &pods[i]
		better := picked == nil || p.Status.Phase == corev1.PodSucceeded ||
			picked.Status.Phase != corev1.PodSucceeded && picked.CreationTimestamp.Before(&p.CreationTimestamp)
		if better {
			picked = p
		}
	}
	if picked == nil || len(picked.Status.ContainerStatuses) == 0 {
		return ""
	}
	state := picked.Status.ContainerStatuses[0]
	switch {
	case state.State.Terminated != nil:
		return state.State.Terminated.Message
	case state.LastTerminationState.Terminated != nil:
		return state.LastTerminationState.Terminated.Message
	default:
		return ""
	}
}

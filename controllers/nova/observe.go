package nova

import (
	"cmp"
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/apply"
	rendernova "github.com/c5c3/nova-operator/render/nova"
)

// Capabilities are the optional kinds a cluster serves.
type Capabilities struct {
	GatewayAPI, VPA rendernova.Capability
}

// Err is why a question could not be answered.
func (c Capabilities) Err() error {
	if why := cmp.Or(c.GatewayAPI.Error, c.VPA.Error); why != "" {
		return errors.New(why)
	}
	return nil
}

// observer reads what a decision about a Nova needs. It writes nothing.
type observer struct {
	// reader is a cache; uncached reads pods, for which there is no informer.
	reader, uncached client.Reader
	capabilities     func() Capabilities
	namespaceScoped  bool
}

// observe returns the state of the world for one Nova. A read that fails is an error:
// an empty value in its place would roll pods.
func (o *observer) observe(ctx context.Context, n *v1alpha1.Nova) (rendernova.Observed, error) {
	capabilities := o.capabilities()
	seen := rendernova.Observed{GatewayAPI: capabilities.GatewayAPI, VPA: capabilities.VPA}
	for _, part := range []func(context.Context, *v1alpha1.Nova, *rendernova.Observed) error{
		o.store, o.secrets, o.broker, o.servers, o.children, o.history, o.archive,
	} {
		if err := part(ctx, n, &seen); err != nil {
			return rendernova.Observed{}, err
		}
	}
	return seen, nil
}

// store reads the secret store, unless it is one a namespaced operator must not read.
func (o *observer) store(ctx context.Context, n *v1alpha1.Nova, seen *rendernova.Observed) error {
	ref := rendernova.StoreRef(n)
	kind, namespace := kindClusterSecretStore, ""
	if ref.Kind == v1alpha1.SecretStoreKindNamespaced {
		kind, namespace = kindSecretStore, n.Namespace
	} else if o.namespaceScoped {
		return nil
	}
	u, err := get(ctx, o.reader, kind, namespace, ref.Name)
	if u != nil {
		r := readiness(u)
		seen.Store = &r
	}
	return err
}

// secrets reads every Secret the spec names, and the ExternalSecret behind one that
// is missing or incomplete: it only words the wait.
func (o *observer) secrets(ctx context.Context, n *v1alpha1.Nova, seen *rendernova.Observed) error {
	seen.Secrets = map[string]rendernova.SecretData{}
	seen.ExternalSecrets = map[string]rendernova.Readiness{}
	for _, name := range rendernova.SecretRefs(n) {
		if err := o.secret(ctx, n, seen, n.Namespace, name); err != nil {
			return err
		}
	}
	for _, name := range rendernova.Waiting(n, *seen) {
		u, err := get(ctx, o.reader, kindExternalSecret, n.Namespace, name)
		if err != nil {
			return err
		}
		if u != nil {
			seen.ExternalSecrets[name] = readiness(u)
		}
	}
	return nil
}

func (o *observer) secret(ctx context.Context, n *v1alpha1.Nova, seen *rendernova.Observed, namespace, name string) error {
	u, err := get(ctx, o.reader, kindSecret, namespace, name)
	if err != nil || u == nil {
		return err
	}
	data, err := secretData(u)
	seen.Secrets[rendernova.SecretKey(n, namespace, name)] = data
	return err
}

// broker reads the RabbitmqCluster and the Secret of its default user.
func (o *observer) broker(ctx context.Context, n *v1alpha1.Nova, seen *rendernova.Observed) error {
	ref := n.Spec.Messaging.ClusterRef
	if ref == nil {
		return nil
	}
	u, err := get(ctx, o.reader, kindRabbitmqCluster, n.Namespace, ref.Name)
	if err != nil || u == nil {
		return err
	}
	cluster := rabbitmqCluster(u)
	seen.RabbitmqClusters = map[string]rendernova.RabbitmqCluster{ref.Name: cluster}
	if cluster.UserSecret == "" {
		return nil
	}
	return o.secret(ctx, n, seen, cmp.Or(cluster.UserSecretNamespace, n.Namespace), cluster.UserSecret)
}

func rabbitmqCluster(u *unstructured.Unstructured) (c rendernova.RabbitmqCluster) {
	c.UserSecret, _, _ = unstructured.NestedString(u.Object, "status", "defaultUser", "secretReference", "name")
	c.UserSecretNamespace, _, _ = unstructured.NestedString(u.Object, "status", "defaultUser", "secretReference", "namespace")
	return c
}

// servers reads the referenced MariaDBs.
func (o *observer) servers(ctx context.Context, n *v1alpha1.Nova, seen *rendernova.Observed) error {
	seen.MariaDBs = map[string]rendernova.Readiness{}
	for _, db := range []*v1alpha1.DatabaseSpec{&n.Spec.APIDatabase, &n.Spec.Database} {
		if !db.Managed() {
			continue
		}
		u, err := get(ctx, o.reader, kindMariaDB, n.Namespace, db.ClusterRef.Name)
		if err != nil {
			return err
		}
		if u != nil {
			seen.MariaDBs[db.ClusterRef.Name] = readiness(u)
		}
	}
	return nil
}

// children reads the live children whose state decisions depend on.
func (o *observer) children(ctx context.Context, n *v1alpha1.Nova, seen *rendernova.Observed) error {
	for _, key := range rendernova.ObservedChildren(n) {
		if key.Kind == "HTTPRoute" && !seen.GatewayAPI.Served {
			continue
		}
		u, err := get(ctx, o.reader, key.GroupVersionKind, key.Namespace, key.Name)
		if err != nil {
			return err
		}
		if u == nil {
			continue
		}
		if err := absorb(seen, OwnerOf(n), u); err != nil {
			return err
		}
	}
	for name, job := range seen.Jobs {
		if rendernova.WantsReport(n, job) {
			report, err := o.report(ctx, n.Namespace, job)
			if err != nil {
				return err
			}
			job.Report = report
			seen.Jobs[name] = job
		}
	}
	return nil
}

// history lists the generations of the configuration.
func (o *observer) history(ctx context.Context, n *v1alpha1.Nova, seen *rendernova.Observed) error {
	items, err := apply.List(ctx, o.reader, rendernova.KindConfigMap, n.Namespace, client.MatchingLabels{v1alpha1.LabelConfigBase: rendernova.ConfigBase(n)})
	if err != nil {
		return err
	}
	owner := OwnerOf(n)
	for _, u := range items {
		if owner.Owns(u) && u.GetDeletionTimestamp() == nil {
			seen.ConfigMaps = append(seen.ConfigMaps, configMapOf(u))
		}
	}
	return nil
}

// archive lists the runs of the archive CronJob.
func (o *observer) archive(ctx context.Context, n *v1alpha1.Nova, seen *rendernova.Observed) error {
	cron, err := get(ctx, o.reader, rendernova.KindCronJob, n.Namespace, rendernova.ArchiveName(n))
	if err != nil || cron == nil {
		return err
	}
	seen.ArchiveConfigMap = mountedConfigMap(cron.Object, "spec", "jobTemplate", "spec", "template", "spec", "volumes")
	items, err := apply.List(ctx, o.reader, rendernova.KindJob, n.Namespace, client.MatchingLabels(rendernova.ArchiveLabels(n)))
	if err != nil {
		return err
	}
	for _, u := range items {
		if !controlledBy(u, cron.GetUID()) {
			continue
		}
		job, err := jobOf(u)
		if err != nil {
			return err
		}
		seen.ArchiveJobs = append(seen.ArchiveJobs, job)
	}
	return nil
}

func controlledBy(u *unstructured.Unstructured, uid types.UID) bool {
	for _, ref := range u.GetOwnerReferences() {
		if ref.Controller != nil && *ref.Controller {
			return ref.UID == uid
		}
	}
	return false
}

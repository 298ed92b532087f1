package nova

import (
	"cmp"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
)

// dbBlock is one of the two databases of the spec.
type dbBlock struct {
	spec *v1alpha1.DatabaseSpec
	// instance is the name of its MariaDB objects, and of the SQL user in Static mode.
	instance string
	// budget is the connection limit of that user.
	budget int32
}

func apiBlock(n *v1alpha1.Nova) dbBlock {
	return dbBlock{spec: &n.Spec.APIDatabase, instance: n.Name + suffixAPIDatabase, budget: 2*processes(n) + 4}
}

func cellBlock(n *v1alpha1.Nova) dbBlock {
	b := dbBlock{spec: &n.Spec.Database, instance: n.Name, budget: 2*processes(n) + 4}
	if consoleEnabled(n) {
		b.budget += 2 * (n.Spec.ConsoleProxy.Deployment.Replicas + 1)
	}
	return b
}

// processes counts the threads that may hold a connection to a schema while every
// role surges by one pod. The limit is twice that, for a second pooled connection
// each, and four for a Job: the server's own default of 10 is too small before the
// first request.
func processes(n *v1alpha1.Nova) int32 {
	api, meta := n.Spec.API.UWSGI, n.Spec.Metadata.UWSGI
	return (upperAPIReplicas(n)+1)*max(api.Processes, 1)*max(api.Threads, 1) +
		(n.Spec.Metadata.Deployment.Replicas+1)*max(meta.Processes, 1)*max(meta.Threads, 1) +
		(n.Spec.Scheduler.Deployment.Replicas+1)**n.Spec.Scheduler.Workers +
		(n.Spec.Conductor.Deployment.Replicas+1)**n.Spec.Conductor.Workers
}

// static reports whether the operator makes the login of the block.
func (b dbBlock) static() bool {
	return b.spec.Managed() && b.spec.EffectiveCredentialsMode() == v1alpha1.CredentialsModeStatic
}

// mariadbObject is the frame of the three kinds.
func mariadbObject(p *pass, kind schema.GroupVersionKind, name string, b dbBlock, spec map[string]any) map[string]any {
	spec["mariaDbRef"] = map[string]any{"name": b.spec.ClusterRef.Name}
	labels := map[string]any{}
	for key, value := range labelsOf(p.nova).Common() {
		labels[key] = value
	}
	return map[string]any{
		"apiVersion": kind.GroupVersion().String(),
		"kind":       kind.Kind,
		"metadata":   map[string]any{"name": name, "namespace": p.nova.Namespace, "labels": labels},
		"spec":       spec,
	}
}

// database provisions a schema of a block, named where the schema is not the block's
// own.
func database(block func(*v1alpha1.Nova) dbBlock, name, schema func(*v1alpha1.Nova) string) builder {
	return func(p *pass) (render.Resource, error) {
		b := block(p.nova)
		if !b.spec.Managed() {
			return nil, nil
		}
		spec := map[string]any{"characterSet": "utf8", "collate": "utf8_general_ci", "name": schema(p.nova)}
		if retained(p.nova) {
			// Whoever deletes the object, the schema stays.
			spec["cleanupPolicy"] = cleanupSkip
		}
		object := mariadbObject(p, render.KindDatabase, name(p.nova), b, spec)
		if release := cmp.Or(p.status.InstalledRelease, p.seen.Databases[name(p.nova)].Release); release != "" {
			object["metadata"].(map[string]any)["annotations"] = map[string]any{v1alpha1.AnnotationSchemaRelease: release}
		}
		return object, nil
	}
}

// cleanupSkip is the policy with which the MariaDB operator leaves the schema of a
// Database that is deleted. It is read then, and may be changed at any time before.
const cleanupSkip = "Skip"

// retained reports whether the Databases stay when the Nova is deleted.
func retained(n *v1alpha1.Nova) bool { return n.Spec.DatabaseDeletionPolicy != v1alpha1.DatabaseDelete }

func user(block func(*v1alpha1.Nova) dbBlock) builder {
	return func(p *pass) (render.Resource, error) {
		b := block(p.nova)
		if !b.static() {
			return nil, nil
		}
		return mariadbObject(p, render.KindUser, b.instance, b, map[string]any{
			"passwordSecretKeyRef": map[string]any{"name": b.spec.SecretRef.Name, "key": keyPassword},
			"maxUserConnections":   b.budget,
		}), nil
	}
}

func grant(block func(*v1alpha1.Nova) dbBlock, name, schema func(*v1alpha1.Nova) string) builder {
	return func(p *pass) (render.Resource, error) {
		b := block(p.nova)
		if !b.static() {
			return nil, nil
		}
		return mariadbObject(p, render.KindGrant, name(p.nova), b, map[string]any{
			"privileges": []any{"ALL PRIVILEGES"}, "database": schema(p.nova), "table": "*", "username": b.instance,
		}), nil
	}
}

func apiSchema(n *v1alpha1.Nova) string  { return n.Spec.APIDatabase.Database }
func cellSchema(n *v1alpha1.Nova) string { return n.Spec.Database.Database }

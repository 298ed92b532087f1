package nova

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
)

// Settle decides about a Nova in a world where everything works: whatever the decision
// wants comes up, and every gate opens. Secrets of the input are used; those that are
// missing get placeholders, whose names it returns sorted. Its events are those of every
// pass on the way. It is what an offline preview shows when no observation is given.
func Settle(in Input) (Result, []string) {
	in, placeholders := Assume(in)
	f := Foresee(in)
	last := f.Last
	last.Events = f.Events()
	return last, placeholders
}

// Assume opens the gates on what the resource refers to, and returns the names of the
// placeholders that stand in for credentials, as secret/key, sorted.
func Assume(in Input) (Input, []string) {
	in.Observed = in.Observed.clone()
	placeholders := in.assumeInputs()
	return in, placeholders
}

func (o Observed) clone() Observed {
	o.Secrets = cloneMap(o.Secrets)
	o.RabbitmqClusters = cloneMap(o.RabbitmqClusters)
	o.MariaDBs = cloneMap(o.MariaDBs)
	o.Databases, o.Users, o.Grants = cloneMap(o.Databases), cloneMap(o.Users), cloneMap(o.Grants)
	o.Deployments, o.Jobs, o.Routes = cloneMap(o.Deployments), cloneMap(o.Jobs), cloneMap(o.Routes)
	return o
}

// With is a copy of an observation that has seen more Secrets.
func (o Observed) With(secrets map[string]SecretData) Observed {
	o = o.clone()
	maps.Copy(o.Secrets, secrets)
	return o
}

func cloneMap[V any](m map[string]V) map[string]V {
	out := make(map[string]V, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}

// assumeInputs opens the gates on what the resource refers to.
func (in *Input) assumeInputs() []string {
	n := in.Nova.DeepCopy()
	n.Default()
	seen := &in.Observed
	seen.Store = &Readiness{Ready: true}
	seen.GatewayAPI, seen.VPA = Capability{Served: true}, Capability{Served: true}
	seen.Health = &Health{Code: 200}
	for _, db := range []*v1alpha1.DatabaseSpec{&n.Spec.APIDatabase, &n.Spec.Database} {
		if db.Managed() {
			seen.MariaDBs[db.ClusterRef.Name] = Readiness{Ready: true}
		}
	}
	var made []string
	need := func(name, key, value string) {
		data := SecretData{}
		for k, v := range seen.Secrets[name] {
			data[k] = v
		}
		if data[key].Trimmed() == "" {
			data[key] = render.Sensitive(value)
			made = append(made, name+"/"+key)
		}
		seen.Secrets[name] = data
	}
	for _, gate := range credentialGates(n) {
		for _, key := range gate.keys {
			need(gate.secret.Name, key, "placeholder-"+key)
		}
	}
	if ref := n.Spec.Messaging.SecretRef; ref != nil {
		need(ref.Name, keyOr(ref.Key, v1alpha1.DefaultTransportURLKey), "rabbit://placeholder:placeholder@placeholder:5672/")
	}
	if ref := n.Spec.Messaging.ClusterRef; ref != nil {
		if seen.RabbitmqClusters[ref.Name].UserSecret == "" {
			seen.RabbitmqClusters[ref.Name] = RabbitmqCluster{UserSecret: ref.Name + "-default-user"}
		}
		cluster := seen.RabbitmqClusters[ref.Name]
		secret := SecretKey(n, keyOr(cluster.UserSecretNamespace, n.Namespace), cluster.UserSecret)
		need(secret, keyUsername, "placeholder")
		need(secret, keyPassword, "placeholder")
		need(secret, keyHost, ref.Name+"."+n.Namespace+".svc")
		need(secret, keyPort, "5672")
	}
	if remote := n.Spec.RemoteCompute; remote != nil {
		ref := remote.TransportURLSecretRef
		need(ref.Name, keyOr(ref.Key, v1alpha1.DefaultTransportURLKey), "rabbit://placeholder:placeholder@placeholder:5671/")
	}
	slices.Sort(made)
	return made
}

func keyOr(key, fallback string) string {
	if key == "" {
		return fallback
	}
	return key
}

// assumeOutcome makes everything a decision wants come up but what can't be written, and
// what it removes go.
func (in *Input) assumeOutcome(result Result, refused ...render.Key) {
	seen := &in.Observed
	for name, job := range seen.Jobs {
		if !job.terminal() && !job.Deleting {
			job.Complete = true
			seen.Jobs[name] = job
		}
	}
	for _, gone := range result.Set.Absent {
		seen.forget(gone.Key)
	}
	for _, o := range result.Set.Desired {
		if !slices.Contains(refused, o.Key()) {
			seen.assume(o)
		}
	}
	if seen.Health == nil {
		seen.Health = &Health{Code: 200}
	}
}

// forget drops an object that was deleted.
func (o *Observed) forget(key render.Key) {
	switch key.GroupVersionKind {
	case KindHTTPRoute:
		delete(o.Routes, key.Name)
	case KindJob:
		delete(o.Jobs, key.Name)
	case KindDeployment:
		delete(o.Deployments, key.Name)
	}
}

// assume makes one applied object come up.
func (o *Observed) assume(object render.Object) {
	name, content := object.Content.GetName(), object.Content
	switch object.Key().GroupVersionKind {
	case KindDatabase:
		o.Databases[name] = Readiness{Ready: true}
	case KindUser:
		o.Users[name] = Readiness{Ready: true}
	case KindGrant:
		o.Grants[name] = Readiness{Ready: true}
	case KindHTTPRoute:
		o.Routes[name] = Route{Accepted: true}
	case KindConfigMap:
		if !slices.ContainsFunc(o.ConfigMaps, func(cm ConfigMap) bool { return cm.Name == name }) {
			o.ConfigMaps = append(slices.Clone(o.ConfigMaps), ConfigMap{Name: name})
		}
	case KindJob:
		if _, live := o.Jobs[name]; !live {
			_, configMap := templateOf(content)
			o.Jobs[name] = Job{
				Name: name, UID: "assumed", Complete: true, TemplateHash: content.GetAnnotations()[v1alpha1.AnnotationPodSpecHash], ConfigMap: configMap,
			}
		}
	case KindCronJob:
		o.ArchiveConfigMap = configMapOf(content, "spec", "jobTemplate", "spec", "template", "spec", "volumes")
	case KindDeployment:
		before, live := o.Deployments[name]
		o.Deployments[name] = assumedDeployment(content, before, live)
	}
}

// assumedDeployment is a Deployment that came up as it was applied. A count that the
// payload leaves to others stays.
func assumedDeployment(u *unstructured.Unstructured, before Deployment, live bool) Deployment {
	replicas, owns := before.wanted(), false
	if count, ok, err := unstructured.NestedInt64(u.Object, "spec", "replicas"); ok && err == nil {
		replicas, owns = int32(count), before.OwnsReplicas || !live
	}
	image, configMap := templateOf(u)
	return Deployment{
		Generation: 1, ObservedGeneration: 1, Replicas: &replicas, OwnsReplicas: owns, TotalReplicas: replicas,
		UpdatedReplicas: replicas, ReadyReplicas: replicas, AvailableReplicas: replicas, Available: true,
		Image: image, ConfigMap: configMap,
	}
}

// templateOf is the image of the first container of a pod template and what its volume
// `config` mounts.
func templateOf(u *unstructured.Unstructured) (image, configMap string) {
	containers, _, _ := unstructured.NestedSlice(u.Object, "spec", "template", "spec", "containers")
	for _, c := range containers[:min(1, len(containers))] {
		image, _, _ = unstructured.NestedString(c.(map[string]any), "image")
	}
	return image, configMapOf(u, "spec", "template", "spec", "volumes")
}

// configMapOf is what volume `config` mounts.
func configMapOf(u *unstructured.Unstructured, path ...string) (name string) {
	volumes, _, _ := unstructured.NestedSlice(u.Object, path...)
	for _, v := range volumes {
		if volume := v.(map[string]any); volume["name"] == "config" {
			name, _, _ = unstructured.NestedString(volume, "configMap", "name")
		}
	}
	return name
}

package nova_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/apply"
	"github.com/c5c3/nova-operator/controllers/clusters"
	"github.com/c5c3/nova-operator/controllers/operator"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/test/cluster"
	"github.com/c5c3/nova-operator/test/world"
)

// placed is a namespace on two clusters: the Nova is at home, its children and what they
// refer to are on the target.
type placed struct {
	home, target *novaWorld
	// edge names the registration, which lies in the namespace of the test.
	edge string
}

// newPlaced makes the namespace on both clusters, and starts a manager at home.
func newPlaced(t *testing.T, elsewhere *cluster.Cluster, change ...func(*operator.Options)) *placed {
	t.Helper()
	p := &placed{home: newWorld(t), edge: "edge"}
	there := world.In(t, elsewhere, p.home.Namespace)
	there.Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: there.Namespace}})
	there.Play(there.Namespace)
	p.target = &novaWorld{Subject: world.Of(there, world.Novas)}
	p.target.Inputs()
	p.home.run(func(_ *rest.Config, o *operator.Options) {
		o.ClustersNamespace = p.home.Namespace
		o.HTTP = p.target.Surroundings.Network.Client()
		for _, c := range change {
			c(o)
		}
	})
	return p
}

func (p *placed) nova() *v1alpha1.Nova {
	n := p.home.Minimal()
	n.Spec.TargetClusterRef = &v1alpha1.TargetClusterRefSpec{Name: p.edge}
	return n
}

// registers makes the target known under its name.
func (p *placed) registers(namespaces ...string) {
	p.home.T.Helper()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: p.edge, Namespace: p.home.Namespace, Labels: map[string]string{clusters.Label: "true"}},
		Data:       map[string][]byte{"kubeconfig": kubeconfigOf(p.home.T, p.target.Cluster.Config)},
	}
	if len(namespaces) > 0 {
		secret.Data["namespaces"] = []byte(strings.Join(namespaces, ", "))
	}
	p.home.Create(secret)
}

func (p *placed) deregisters() {
	p.home.T.Helper()
	p.home.Remove(render.KindSecret, p.edge)
}

// kubeconfigOf writes a client configuration with everything in it.
func kubeconfigOf(t *testing.T, config *rest.Config) []byte {
	t.Helper()
	config = rest.CopyConfig(config)
	if err := rest.LoadTLSFiles(config); err != nil {
		t.Fatal(err)
	}
	raw, err := clientcmd.Write(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"c": {Server: config.Host, CertificateAuthorityData: config.CAData, TLSServerName: config.ServerName}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"u": {Token: config.BearerToken, ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}},
		Contexts:       map[string]*clientcmdapi.Context{"x": {Cluster: "c", AuthInfo: "u"}},
		CurrentContext: "x",
	})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// labelled lists what carries the marks of a Nova on a cluster, as kind/name, whoever
// controls it.
func (w *novaWorld) labelled() (names []string) {
	w.T.Helper()
	w.EachChild(func(u *unstructured.Unstructured) {
		if u.GetLabels()[apply.LabelOwnerName] == "nova" {
			names = append(names, u.GetKind()+"/"+u.GetName())
		}
	})
	return names
}

func TestPlacement(t *testing.T) {
	t.Parallel()
	elsewhere := cluster.StartFor(t, options())
	t.Run("cases", func(t *testing.T) { // they end before the cluster does
		for name, test := range map[string]func(*testing.T, *cluster.Cluster){
			"comes up there and goes":                  placedLife,
			"is not registered":                        placedNowhere,
			"waits, then leaves its children behind":   placedAbandons,
			"what is not ours there is not touched":    placedBesideOthers,
			"a name that no label holds":               placedWithALongName,
			"a registration that leaves its space out": placedOutOfScope,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, elsewhere)
			})
		}
	})
}

func placedLife(t *testing.T, elsewhere *cluster.Cluster) {
	p := newPlaced(t, elsewhere)
	p.registers(p.home.Namespace)
	p.home.Create(p.nova())
	p.home.AwaitReady()
	n := p.home.MustLive()
	if got := fmt.Sprint(n.Finalizers); got != fmt.Sprint([]string{v1alpha1.FinalizerNova, v1alpha1.FinalizerRemoteChildren}) {
		t.Errorf("finalizers %s", got)
	}
	if got := p.home.labelled(); len(got) > 0 || p.home.inventory() != nil {
		t.Errorf("children at home: %v", got)
	}
	if got := len(p.target.labelled()); got < 15 {
		t.Errorf("%d children on the target", got)
	}
	p.target.EachChild(func(u *unstructured.Unstructured) {
		if u.GetLabels()[apply.LabelOwnerName] == "" {
			return
		}
		if refs := u.GetOwnerReferences(); len(refs) > 0 {
			t.Errorf("%s/%s has owner references %v", u.GetKind(), u.GetName(), refs)
		}
		template, _, _ := unstructured.NestedMap(u.Object, "spec", "template", "metadata", "labels")
		if _, marked := template[apply.LabelOwnerName]; marked {
			t.Errorf("%s/%s marks its pods", u.GetKind(), u.GetName())
		}
	})

	before := p.versions()
	p.home.settled()
	p.home.Edit(func(n *v1alpha1.Nova) { metav1.SetMetaDataAnnotation(&n.ObjectMeta, "look", "again") })
	p.home.settled()
	if after := p.versions(); fmt.Sprint(before) != fmt.Sprint(after) {
		t.Errorf("a pass without a change wrote: %v, then %v", before, after)
	}

	p.home.promptly(func() { // drift
		u := p.target.Get(render.KindService, "nova-metadata")
		if err := p.target.Client.Patch(t.Context(), u, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"app.kubernetes.io/name":"mine"}}}`))); err != nil {
			t.Fatal(err)
		}
		p.home.AwaitEvent(v1alpha1.EventDriftCorrected, "nova-metadata")
	})
	p.home.promptly(func() { // an input
		p.target.Secret("nova-service", map[string]string{"password": "marked-s3cret-rotated"})
		cluster.Eventually(t, "a new digest", func(context.Context) (bool, error) {
			return fmt.Sprint(p.versions()["Deployment/nova"]) != fmt.Sprint(before["Deployment/nova"]), nil
		})
	})
	p.home.AwaitReady()

	p.home.Delete()
	p.home.AwaitGone()
	cluster.Eventually(t, "nothing but the Databases on the target", func(context.Context) (bool, error) {
		left := p.target.labelled()
		slices.Sort(left)
		if diff := cmp.Diff([]string{"Database/nova", "Database/nova-api", "Database/nova-nova-cell0"}, left); diff != "" {
			return false, fmt.Errorf("%s", diff)
		}
		return true, nil
	})
	p.home.AwaitEvent(v1alpha1.EventDatabaseFinalized)
}

// versions are the generations of what is on the target.
func (p *placed) versions() map[string]int64 {
	p.home.T.Helper()
	out := map[string]int64{}
	p.target.EachChild(func(u *unstructured.Unstructured) {
		if u.GetLabels()[apply.LabelOwnerName] != "" {
			out[u.GetKind()+"/"+u.GetName()] = u.GetGeneration()
		}
	})
	return out
}

func placedNowhere(t *testing.T, elsewhere *cluster.Cluster) {
	p := newPlaced(t, elsewhere)
	p.home.Create(p.nova())
	p.home.AwaitSays(v1alpha1.ConditionSecretsReady, v1alpha1.ReasonTargetClusterUnavailable, "cluster not found")
	p.home.AwaitReason(v1alpha1.ConditionReady, v1alpha1.ReasonNotAllReady)
	p.home.settled()
	n := p.home.MustLive()
	if len(n.Finalizers) > 0 {
		t.Errorf("finalizers %v on a Nova whose children are out of reach", n.Finalizers)
	}
	if got := p.home.inventory(); got != nil {
		t.Errorf("created at home: %v", got)
	}
	if got := p.target.labelled(); got != nil {
		t.Errorf("created on the target: %v", got)
	}
	p.home.promptly(func() {
		p.registers()
		p.home.AwaitReason(v1alpha1.ConditionSecretsReady, v1alpha1.ReasonSecretsAvailable)
	})
	p.deregisters()
	p.home.AwaitSays(v1alpha1.ConditionSecretsReady, v1alpha1.ReasonTargetClusterUnavailable, "cluster not found")
	if len(p.target.labelled()) == 0 {
		t.Error("the children went with the registration")
	}
	p.registers()
	p.home.AwaitReady()
}

func placedAbandons(t *testing.T, elsewhere *cluster.Cluster) {
	const limit = 10 * time.Second
	p := newPlaced(t, elsewhere, func(o *operator.Options) { o.AbandonAfter = limit })
	p.registers()
	p.home.Create(p.nova())
	p.home.AwaitReady()
	p.deregisters()
	p.home.AwaitSays(v1alpha1.ConditionSecretsReady, v1alpha1.ReasonTargetClusterUnavailable, "cluster not found")
	start := time.Now()
	p.home.Delete()
	cluster.Eventually(t, "the wait to be told", func(ctx context.Context) (bool, error) {
		n, err := p.home.Live(ctx)
		if err != nil {
			return false, err
		}
		return strings.Contains(fmt.Sprint(n.Status.Conditions), "target cluster edge does not resolve; waiting at least 5m0s before abandoning its children"), nil
	})
	p.home.AwaitEvent(v1alpha1.EventRemoteChildrenAbandoned, "MariaDB Databases, Users, and Grants")
	p.home.AwaitEvent(v1alpha1.EventRemoteChildrenAbandoned, "labelled as owned by this Nova")
	p.home.AwaitGone()
	if took := time.Since(start); took < limit-2*time.Second { // a deletion timestamp has whole seconds
		t.Errorf("abandoned after %s", took)
	}
	if len(p.target.labelled()) == 0 {
		t.Error("the children went, too")
	}
}

func placedBesideOthers(t *testing.T, elsewhere *cluster.Cluster) {
	p := newPlaced(t, elsewhere)
	theirs := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "nova-metadata", Namespace: p.target.Namespace, Labels: map[string]string{"team": "blue"}},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
	}
	other := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "bystander", Namespace: p.target.Namespace, Labels: map[string]string{
		apply.LabelOwnerKind: "NovaCompute", apply.LabelOwnerName: "nova", apply.LabelOwnerNamespace: p.target.Namespace,
	}}}
	for _, o := range []client.Object{theirs, other} {
		p.target.Create(o)
	}
	p.registers()
	p.home.Create(p.nova())
	c := p.home.AwaitReason(v1alpha1.ConditionMetadataReady, v1alpha1.ReasonApplyError)
	if !strings.Contains(c.Message, "have it adopted on the target cluster: kubectl annotate") {
		t.Errorf("it says %s", c.Message)
	}
	p.home.Delete()
	p.home.AwaitGone()
	for _, o := range []client.Object{theirs, other} {
		uid := o.GetUID()
		if err := p.target.Client.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil || o.GetUID() != uid || o.GetDeletionTimestamp() != nil {
			t.Errorf("%s of somebody else: %v", o.GetName(), err)
		}
	}
	if theirs.Spec.Ports[0].Port != 80 || theirs.Labels["app.kubernetes.io/name"] != "" {
		t.Errorf("it was changed: %+v", theirs)
	}
}

func placedWithALongName(t *testing.T, elsewhere *cluster.Cluster) {
	p := newPlaced(t, elsewhere)
	p.registers()
	n := p.nova()
	n.Name = strings.Repeat("n", 64)
	p.home.Create(n)
	cluster.Eventually(t, "the refusal", func(ctx context.Context) (bool, error) {
		if err := p.home.Client.Get(ctx, client.ObjectKeyFromObject(n), n); err != nil {
			return false, err
		}
		return strings.Contains(fmt.Sprint(n.Status.Conditions), "the name has 64 characters"), nil
	})
	if err := p.home.Client.Delete(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "the Nova to go", func(ctx context.Context) (bool, error) {
		err := p.home.Client.Get(ctx, client.ObjectKeyFromObject(n), n)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
}

func placedOutOfScope(t *testing.T, elsewhere *cluster.Cluster) {
	p := newPlaced(t, elsewhere)
	p.registers("kube-system")
	p.home.Create(p.nova())
	cluster.Eventually(t, "the scope to be told", func(ctx context.Context) (bool, error) {
		n, err := p.home.Live(ctx)
		if err != nil {
			return false, err
		}
		text := fmt.Sprint(n.Status.Conditions)
		return strings.Contains(text, "unknown namespace for the cache") && strings.Contains(text, v1alpha1.ReasonTargetClusterUnavailable), nil
	})
	if got := p.target.labelled(); got != nil {
		t.Errorf("created: %v", got)
	}
}

package operations_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/test/cluster"
	"github.com/c5c3/nova-operator/test/world"
)

const (
	// targetAccess is what a target cluster is given; its folder namespace is for each
	// namespace that receives Novas.
	targetAccess = root + "/kustomize/target-cluster-access"
	// account is the one the registration stands for, and the namespace it is in.
	account = "target-cluster-access"
)

// stays are the resources of the operator that have no counterpart on a target cluster:
// the Novas themselves, what is told about them, and what admission looks up.
var stays = map[string]bool{"novas": true, "novas/status": true, "novas/finalizers": true, "events": true, "leases": true, "priorityclasses": true}

// Where children lie elsewhere, the operator does there what it does at home.
func TestTargetAccess_AllowsWhatTheOperatorMayDoAtHome(t *testing.T) {
	want := map[access]bool{{"", "services/proxy", "get"}: true}
	for a := range (&installation{objects: build(t, root+"/kustomize/rbac")}).rules(t) {
		if !stays[a.resource] {
			want[a] = true
		}
	}
	everywhere := (&installation{objects: build(t, targetAccess)}).rules(t)
	got := (&installation{objects: build(t, targetAccess+"/namespace")}).rules(t)
	for a := range everywhere {
		if a.resource != "clustersecretstores" {
			t.Errorf("%s in every namespace", a)
		}
		got[a] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A person names the namespace in a kustomization; the account stays where it is.
func TestTargetAccess_BindsTheAccountOfItsOwnNamespace(t *testing.T) {
	dir := t.TempDir()
	kustomization(t, dir, "a", "namespace: cloud-a\nresources: [ACCESS/namespace]\n")
	kustomization(t, dir, "all", "resources: [ACCESS, ACCESS/namespace, ../a]\n")
	kustomization(t, dir, "moved", "namespace: cloud-b\nresources: [ACCESS, ACCESS/namespace]\n")
	const here = account + " of " + account
	cases := map[string]struct {
		folder string
		want   []string
	}{
		"as it is":                             {targetAccess + "/namespace", []string{"openstack: " + here}},
		"in a namespace of its own":            {filepath.Join(dir, "a"), []string{"cloud-a: " + here}},
		"beside the account":                   {filepath.Join(dir, "all"), []string{"cloud-a: " + here, "openstack: " + here, ": " + here}},
		"moved together with the account":      {filepath.Join(dir, "moved"), []string{"cloud-b: " + account + " of cloud-b", ": " + account + " of cloud-b"}},
		"the account and what is cluster-wide": {targetAccess, []string{": " + here}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, o := range build(t, tc.folder) {
				if !strings.HasSuffix(o.GetKind(), "RoleBinding") {
					continue
				}
				subjects, _, err := unstructured.NestedSlice(o.Object, "subjects")
				if err != nil || len(subjects) != 1 {
					t.Fatalf("%d subjects, %v", len(subjects), err)
				}
				subject := subjects[0].(map[string]any)
				got = append(got, fmt.Sprintf("%s: %s of %s", o.GetNamespace(), subject["name"], subject["namespace"]))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// kustomization writes one into a folder of dir and returns its path. ACCESS in the text
// stands for the manifests of a target cluster.
func kustomization(t *testing.T, dir, folder, text string) string {
	t.Helper()
	base, err := filepath.Abs(targetAccess)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, folder)
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
	from, err := filepath.Rel(path, base)
	if err != nil {
		t.Fatal(err)
	}
	text = "kind: Kustomization\n" + strings.ReplaceAll(text, "ACCESS", from)
	if err := os.WriteFile(filepath.Join(path, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// grant gives a target cluster's account access to a namespace, and returns a kubeconfig
// of it that goes through the given server.
func grant(t *testing.T, c *cluster.Cluster, namespace string, server *apiServer) []byte {
	t.Helper()
	apply(t, c, build(t, targetAccess))
	apply(t, c, build(t, kustomization(t, t.TempDir(), "one", "namespace: "+namespace+"\nresources: [ACCESS/namespace]\n")))
	cl := clientFor(t, c)
	token := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: account, Name: account + "-token"}}
	cluster.Eventually(t, "the token", func(ctx context.Context) (bool, error) {
		err := cl.Get(ctx, client.ObjectKeyFromObject(token), token)
		return err == nil && len(token.Data[corev1.ServiceAccountTokenKey]) > 0, err
	})
	config := clientcmdapi.NewConfig()
	config.Clusters["edge"] = &clientcmdapi.Cluster{Server: server.URL, CertificateAuthorityData: server.CA}
	config.AuthInfos[account] = &clientcmdapi.AuthInfo{Token: string(token.Data[corev1.ServiceAccountTokenKey])}
	config.Contexts["edge"] = &clientcmdapi.Context{Cluster: "edge", AuthInfo: account}
	config.CurrentContext = "edge"
	raw, err := clientcmd.Write(*config)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// A Nova lives on another cluster with what the manifests grant there, and nothing else.
func TestTargetAccess_IsEnoughForAPlacedNova(t *testing.T) {
	c, elsewhere := cluster.Shared(t), cluster.StartFor(t, options())
	i := install(t, c, root+"/kustomize/overlays/cluster")
	removeWebhooks(t, c)
	home := &novaWorld{world.Of(world.In(t, c, c.Namespace(t)), world.Novas)}
	namespaces := func(names ...string) (objects []*unstructured.Unstructured) {
		for _, name := range names {
			u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
			u.SetName(name)
			objects = append(objects, u)
		}
		return objects
	}
	apply(t, c, namespaces("c5c3-clusters"))
	apply(t, elsewhere, namespaces(home.Namespace))
	target := newWorld(t, elsewhere, home.Namespace)
	target.inputs()
	there := newAPIServer(t, elsewhere.Config)
	there.network = target.Surroundings.Network
	registration := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "c5c3-clusters", Name: "edge", Labels: map[string]string{"sigs.k8s.io/multicluster-runtime-kubeconfig": "true"}},
		Data:       map[string][]byte{"kubeconfig": grant(t, elsewhere, home.Namespace, there), "namespaces": []byte(home.Namespace)},
	}
	home.Create(registration)
	t.Cleanup(func() { // the next operator would ask for a cluster that has gone
		if err := home.Client.Delete(context.Background(), registration); err != nil {
			t.Error(err)
		}
	})
	i.freeLease(t, c)
	o := i.start(t, c, target.Surroundings.Network, "--enable-webhooks=false")
	o.awaitReady(t)

	n := home.Minimal()
	n.Spec.TargetClusterRef = &v1alpha1.TargetClusterRefSpec{Name: "edge"}
	home.Create(n)
	home.AwaitReady()
	home.patch(everything)
	home.AwaitReady()
	home.patch(nothing)
	home.AwaitReady()
	home.remove()
	target.EachChild(func(u *unstructured.Unstructured) {
		if u.GetLabels()["openstack.c5c3.io/owner-name"] == "nova" && u.GetDeletionTimestamp() == nil {
			t.Errorf("%s/%s is left", u.GetKind(), u.GetName())
		}
	})
	there.mustAllow(t)
	o.api.mustAllow(t)
	o.mustLog(t)
	for a, in := range there.used() {
		want := []string{home.Namespace}
		if a.resource == "clustersecretstores" {
			want = []string{""}
		}
		if diff := cmp.Diff(want, in); diff != "" {
			t.Errorf("%s: %s", a, diff)
		}
	}
	if there.used()[access{"", "services/proxy", "get"}] == nil {
		t.Error("the API was not asked for its health through the API server")
	}
}

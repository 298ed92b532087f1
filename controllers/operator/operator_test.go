package operator

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	webhookserver "sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/c5c3/nova-operator/api/v1alpha1"
)

// server is an API server that knows the kinds of this group and the core ones it is asked
// for, and has no object. broken answers every question with an error.
func server(t *testing.T, broken bool) *rest.Config {
	t.Helper()
	list := func(groupVersion string, kinds map[string]string) metav1.APIResourceList {
		out := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: groupVersion}
		for name, kind := range kinds {
			out.APIResources = append(out.APIResources, metav1.APIResource{Name: name, Kind: kind, Namespaced: true})
		}
		return out
	}
	ours := metav1.GroupVersionForDiscovery{GroupVersion: v1alpha1.GroupVersion.String(), Version: v1alpha1.GroupVersion.Version}
	answers := map[string]any{
		"/api": metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions", APIVersion: "v1"}, Versions: []string{"v1"}},
		"/apis": metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{
			{Name: v1alpha1.GroupVersion.Group, Versions: []metav1.GroupVersionForDiscovery{ours}, PreferredVersion: ours},
		}},
		"/api/v1": list("v1", map[string]string{"configmaps": "ConfigMap", "secrets": "Secret", "services": "Service"}),
		"/apis/" + v1alpha1.GroupVersion.String(): list(v1alpha1.GroupVersion.String(), map[string]string{"novas": v1alpha1.KindNova, "novacomputes": v1alpha1.KindNovaCompute}),
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, ok := answers[r.URL.Path]
		switch {
		case broken:
			http.Error(w, "no answer", http.StatusInternalServerError)
		case !ok:
			http.NotFound(w, r)
		default:
			w.Header().Set("Content-Type", runtime.ContentTypeJSON)
			_ = json.NewEncoder(w).Encode(answer)
		}
	}))
	t.Cleanup(s.Close)
	return &rest.Config{Host: s.URL}
}

// quiet are options of a manager that opens no port and of which there may be several.
func quiet(change func(*Options)) Options {
	o := Options{MetricsAddress: "0", ProbeAddress: "0", Reused: true}
	if change != nil {
		change(&o)
	}
	return o
}

func TestNew_Refuses(t *testing.T) {
	for name, tc := range map[string]struct {
		options Options
		broken  bool
		want    string
	}{
		"an address that is none": {
			options: quiet(func(o *Options) { o.ProbeAddress = "nowhere" }), want: "build manager: ",
		},
		"an election outside of a cluster, without a namespace": {
			options: quiet(func(o *Options) { o.LeaderElect = true }), want: "build manager: ",
		},
		"a cluster that does not say what it serves": {
			options: quiet(nil), broken: true, want: "add the controllers: ask for ",
		},
		"a second manager, but for tests": {
			options: quiet(func(o *Options) { o.Reused = false }), want: "add the controllers: Nova: build controller: controller with name nova already exists",
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := server(t, tc.broken)
			if strings.HasPrefix(tc.want, "add the controllers: Nova") {
				if _, err := New(cfg, tc.options); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := New(cfg, tc.options); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("error %v, want %s", err, tc.want)
			}
		})
	}
	if _, err := New(nil, quiet(nil)); err == nil || !strings.HasPrefix(err.Error(), "build manager: ") {
		t.Errorf("without a configuration: %v", err)
	}
}

func TestNew_Takes(t *testing.T) {
	for name, tc := range map[string]struct {
		options Options
		broken  bool
	}{
		"everything at home":         {options: quiet(nil)},
		"target clusters":            {options: quiet(func(o *Options) { o.ClustersNamespace = "nova-clusters" })},
		"one namespace":              {options: quiet(func(o *Options) { o.Namespace = "openstack" })},
		"webhooks beside it":         {options: quiet(func(o *Options) { o.Webhooks = &Webhooks{CertDir: t.TempDir()} })},
		"an election where it runs":  {options: quiet(func(o *Options) { o.LeaderElect, o.OwnNamespace = true, "nova-operator" })},
		"an election where it works": {options: quiet(func(o *Options) { o.LeaderElect, o.Namespace = true, "openstack" })},
		"webhooks alone take part in no election and ask nothing": {
			options: quiet(func(o *Options) {
				o.LeaderElect, o.WebhooksOnly, o.Webhooks = true, true, &Webhooks{CertDir: t.TempDir()}
			}), broken: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			mgr, err := New(server(t, tc.broken), tc.options)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range []runtime.Object{&v1alpha1.Nova{}, &v1alpha1.NovaCompute{}, &corev1.Secret{}} {
				if _, err := apiutil.GVKForObject(r, mgr.GetScheme()); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestNew_ServesAdmissionWhereItIsTold(t *testing.T) {
	dir := t.TempDir()
	mgr, err := New(server(t, false), quiet(func(o *Options) {
		o.WebhooksOnly, o.Webhooks = true, &Webhooks{Host: "127.0.0.1", Port: 9999, CertDir: dir}
	}))
	if err != nil {
		t.Fatal(err)
	}
	got := mgr.GetWebhookServer().(*webhookserver.DefaultServer).Options
	if got.Host != "127.0.0.1" || got.Port != 9999 || got.CertDir != dir {
		t.Errorf("%+v", got)
	}
	for path, served := range map[string]bool{"/validate-nova-openstack-c5c3-io-v1alpha1-nova": true, "/mutate-nova-openstack-c5c3-io-v1alpha1-novacompute": true, "/nothing": false} {
		if _, pattern := mgr.GetWebhookServer().WebhookMux().Handler(httptest.NewRequest(http.MethodPost, path, nil)); (pattern == path) != served {
			t.Errorf("%s is served as %q", path, pattern)
		}
	}
}

// Every row of the table is a controller of its own, with all that the shell calls.
func TestKinds_AreWhole(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	once := func(what, name, kind string) {
		if name == "" || seen[what+name] != "" {
			t.Errorf("%s of %s is %q, as of %q", what, kind, name, seen[what+name])
		}
		seen[what+name] = kind
	}
	for _, row := range kinds {
		k := row.row(false)
		name := k.Kind.Kind
		once("the recorder", row.recorder, name)
		once("the name", k.Name, name)
		once("the kind", name, name)
		once("the finalizer", k.Finalizer, name)
		if gvk, err := apiutil.GVKForObject(k.New(), scheme); err != nil || gvk != k.GroupVersionKind {
			t.Errorf("New makes %s: %v", gvk, err)
		}
		if gvk, err := apiutil.GVKForObject(k.NewList(), scheme); err != nil || gvk.Kind != name+"List" {
			t.Errorf("NewList makes %s: %v", gvk, err)
		}
		if k.Observe == nil || k.Lost == nil || k.Teardown == nil || k.Abandoned == nil || k.Series == nil || k.Sources == nil {
			t.Errorf("%s lacks a function", name)
		}
		if len(k.Steps) == 0 || len(k.Children) == 0 || len(k.Conditions) == 0 {
			t.Errorf("%s has %d steps, %d kinds of children, %d conditions", name, len(k.Steps), len(k.Children), len(k.Conditions))
		}
	}
}

// A process has its metrics once, however many managers tests make in it.
func TestNew_RegistersMetricsOnce(t *testing.T) {
	for range 3 {
		if _, err := New(server(t, false), quiet(nil)); err != nil {
			t.Fatal(err)
		}
	}
	families, err := ctrlmetrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	ours := 0
	for _, f := range families {
		if strings.HasPrefix(f.GetName(), "nova_operator_") {
			ours++
		}
	}
	if ours == 0 {
		t.Error("no metric is registered")
	}
}

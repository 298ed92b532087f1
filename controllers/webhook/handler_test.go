package webhook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	ctrlwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/api/v1alpha1/apitest"
	"github.com/c5c3/nova-operator/controllers/webhook"
)

// reader answers every read alike and counts.
type reader struct {
	ctrlclient.Reader
	err   error
	reads int
	// novas are those of the cluster; mayList is the namespace in which they may be listed,
	// "" for all.
	novas   []v1alpha1.Nova
	mayList string
}

func (r *reader) List(_ context.Context, list ctrlclient.ObjectList, opts ...ctrlclient.ListOption) error {
	in := (&ctrlclient.ListOptions{}).ApplyOptions(opts).Namespace
	if r.err != nil {
		return r.err
	}
	if r.mayList != "" && in != r.mayList {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "novas"}, "", nil)
	}
	for _, n := range r.novas {
		if in == "" || in == n.Namespace {
			list.(*v1alpha1.NovaList).Items = append(list.(*v1alpha1.NovaList).Items, n)
		}
	}
	return nil
}

func (r *reader) Get(context.Context, ctrlclient.ObjectKey, ctrlclient.Object, ...ctrlclient.GetOption) error {
	r.reads++
	return r.err
}

// ask posts a review to the registered path and returns the answer.
func ask(t *testing.T, r ctrlclient.Reader, path string, object, old any) *admissionv1.AdmissionResponse {
	t.Helper()
	server := ctrlwebhook.NewServer(ctrlwebhook.Options{})
	webhook.Register(server, r)
	review := admissionv1.AdmissionReview{Request: &admissionv1.AdmissionRequest{UID: "1", Name: "a", Operation: admissionv1.Create, Object: raw(t, object)}}
	review.SetGroupVersionKind(admissionv1.SchemeGroupVersion.WithKind("AdmissionReview"))
	if old != nil {
		review.Request.Operation, review.Request.OldObject = admissionv1.Update, raw(t, old)
	}
	body, err := json.Marshal(review)
	if err != nil {
		t.Fatal(err)
	}
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, bytes.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	recorder := httptest.NewRecorder()
	server.WebhookMux().ServeHTTP(recorder, request)
	var answer admissionv1.AdmissionReview
	if err := json.Unmarshal(recorder.Body.Bytes(), &answer); err != nil || answer.Response == nil {
		t.Fatalf("%d %s: %v", recorder.Code, recorder.Body, err)
	}
	return answer.Response
}

func raw(t *testing.T, object any) runtime.RawExtension {
	t.Helper()
	if text, ok := object.(string); ok {
		return runtime.RawExtension{Raw: []byte(text)}
	}
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return runtime.RawExtension{Raw: text}
}

const (
	validateNova    = "/validate-nova-openstack-c5c3-io-v1alpha1-nova"
	validateCompute = "/validate-nova-openstack-c5c3-io-v1alpha1-novacompute"
)

func TestValidate_Reads(t *testing.T) {
	classes := func(name string) *v1alpha1.Nova {
		n := apitest.MinimalNova()
		for _, d := range []*v1alpha1.DeploymentSpec{
			&n.Spec.API.Deployment, &n.Spec.Metadata.Deployment, &n.Spec.Scheduler.Deployment, &n.Spec.Conductor.Deployment, n.Spec.ConsoleProxy.Deployment,
		} {
			d.PriorityClassName = &name
		}
		n.Spec.Jobs = &v1alpha1.JobSpec{PriorityClassName: &name}
		return n
	}
	pool := func(extra v1alpha1.ExtraConfig) *v1alpha1.NovaCompute {
		c := apitest.MinimalCompute()
		c.Spec.ExtraConfig = extra
		return c
	}
	option := v1alpha1.ExtraConfig{"libvirt": {"live_migration_bandwidth": v1alpha1.SingleValue("5")}}
	nameless := pool(option)
	nameless.Spec.NovaRef.Name = ""
	off := apitest.MinimalNova()
	off.Spec.ConsoleProxy.Enabled, off.Spec.ConsoleProxy.Deployment.PriorityClassName = new(false), new("high")
	broken := errors.New("the network is down")
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "novas"}, "a", nil)
	for name, tc := range map[string]struct {
		path    string
		object  any
		old     any
		err     error
		reads   int
		code    int32
		message string
	}{
		"a class that is named everywhere is read once":    {path: validateNova, object: classes("high"), reads: 1},
		"an empty name is not read":                        {path: validateNova, object: classes("")},
		"no name is not read":                              {path: validateNova, object: apitest.MinimalNova()},
		"a console that is off needs no class":             {path: validateNova, object: off, code: 422, message: "consoleProxy.deployment must not be set"},
		"a class that cannot be read fails the request":    {path: validateNova, object: classes("high"), err: broken, reads: 1, code: 500, message: "read PriorityClass high: the network is down"},
		"a pool without options reads no Nova":             {path: validateCompute, object: pool(nil), err: broken},
		"a pool whose options stay reads no Nova":          {path: validateCompute, object: pool(option), old: pool(option), err: broken},
		"a pool whose options changed reads its Nova":      {path: validateCompute, object: pool(option), old: pool(nil), reads: 1},
		"a Nova that cannot be read fails the request":     {path: validateCompute, object: pool(option), err: broken, reads: 1, code: 500, message: "read Nova openstack/nova: the network is down"},
		"a Nova that may not be read fails the request":    {path: validateCompute, object: pool(option), err: forbidden, reads: 1, code: 500, message: "read Nova openstack/nova: novas \"a\" is forbidden"},
		"a pool that names no Nova is told so":             {path: validateCompute, object: nameless, err: broken, code: 422, message: "novaRef.name must be set"},
		"a resource that does not decode is a bad request": {path: validateNova, object: `{"spec": {"image": "a"}}`, code: 400, message: "cannot unmarshal"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &reader{err: tc.err}
			answer := ask(t, r, tc.path, tc.object, tc.old)
			if answer.Allowed != (tc.code == 0) || r.reads != tc.reads {
				t.Errorf("allowed %t after %d reads: %+v", answer.Allowed, r.reads, answer.Result)
			}
			if tc.code != 0 && (answer.Result.Code != tc.code || !strings.Contains(answer.Result.Message, tc.message)) {
				t.Errorf("answer %+v", answer.Result)
			}
		})
	}
	for path, object := range map[string]any{validateNova: classes("high"), validateCompute: pool(option)} {
		if answer := ask(t, nil, path, object, nil); !answer.Allowed {
			t.Errorf("without a reader: %+v", answer.Result)
		}
	}
}

// Two Novas on one schema would undo, and in the end drop, each other's. A Nova that is
// there keeps being edited, whatever else is there.
func TestValidate_OneSchemaOneNova(t *testing.T) {
	other := func(namespace, name string) v1alpha1.Nova {
		n := apitest.MinimalNova()
		n.Namespace, n.Name = namespace, name
		return *n
	}
	same := apitest.MinimalNova()
	refused := "spec.apiDatabase.database: Invalid value: \"schema nova_api on MariaDB db\": belongs to Nova other: each Nova needs schemas of its own"
	for name, tc := range map[string]struct {
		reader  reader
		old     any
		message string
	}{
		"nobody else":                           {reader: reader{novas: []v1alpha1.Nova{*same}}},
		"another one of the namespace":          {reader: reader{novas: []v1alpha1.Nova{other(same.Namespace, "other")}}, message: refused},
		"a MariaDB of another namespace":        {reader: reader{novas: []v1alpha1.Nova{other("elsewhere", "other")}}},
		"an edit":                               {reader: reader{novas: []v1alpha1.Nova{other(same.Namespace, "other")}}, old: same},
		"where only the namespace may be asked": {reader: reader{novas: []v1alpha1.Nova{other(same.Namespace, "other")}, mayList: same.Namespace}, message: refused},
		"where nothing may be asked":            {reader: reader{err: errors.New("the network is down")}, message: "list Novas: the network is down"},
	} {
		t.Run(name, func(t *testing.T) {
			answer := ask(t, &tc.reader, validateNova, same, tc.old)
			if answer.Allowed != (tc.message == "") || tc.message != "" && !strings.Contains(answer.Result.Message, tc.message) {
				t.Errorf("%+v", answer.Result)
			}
		})
	}
}

// The patch holds the defaults and nothing else: what somebody wrote keeps its notation.
func TestMutate_PatchesDefaultsOnly(t *testing.T) {
	for name, tc := range map[string]struct {
		// object is a merge patch on a Nova that has every default; not one when it is no
		// map.
		object string
		want   []string
	}{
		"nothing to default": {object: `{}`},
		"other notations of what is given": {
			object: `{"spec": {"jobs": {"resources": {"requests": {"cpu": 0.5, "memory": "1024Mi"}}}, "networkPolicy": {"ingress": []},
				"extraConfig": {"DEFAULT": {"debug": true, "max_logfile_count": 1}}, "secretStoreRef": {"name": "a", "kind": ""}}}`,
		},
		"a default beside other notations": {
			object: `{"spec": {"cache": {"backend": null}, "api": {"uwsgi": null, "deployment": {"resources": {"limits": {"cpu": 2}}}}, "logging": {}}}`,
			want:   []string{"add /spec/api/uwsgi", "add /spec/cache/backend"},
		},
		"a default beside an option that has no line": {
			object: `{"spec": {"cache": {"backend": ""}, "extraConfig": {"DEFAULT": {"debug": null}, "pci": 5}}}`,
			want:   []string{"replace /spec/cache/backend"},
		},
		"a whole block that is missing": {
			object: `{"spec": {"cache": null, "serviceUser": null}}`,
			want:   []string{"add /spec/cache", "add /spec/serviceUser"},
		},
		"a console that is switched off": {
			object: `{"spec": {"consoleProxy": {"enabled": false}}}`,
			want:   []string{"remove /spec/consoleProxy/deployment"},
		},
		"a field of another type": {object: `{"spec": {"image": 5, "cache": {"backend": ""}}}`},
		"not even an object":      {object: `[]`},
	} {
		t.Run(name, func(t *testing.T) {
			object := tc.object
			if strings.HasPrefix(object, "{") {
				merged, err := jsonpatch.MergePatch(raw(t, apitest.MinimalNova()).Raw, []byte(object))
				if err != nil {
					t.Fatal(err)
				}
				object = string(merged)
			}
			answer := ask(t, nil, "/mutate-nova-openstack-c5c3-io-v1alpha1-nova", object, nil)
			if !answer.Allowed {
				t.Fatalf("%+v", answer.Result)
			}
			var patch []struct{ Op, Path string }
			if answer.Patch != nil {
				if err := json.Unmarshal(answer.Patch, &patch); err != nil {
					t.Fatal(err)
				}
			}
			var got []string
			for _, p := range patch {
				got = append(got, p.Op+" "+p.Path)
			}
			slices.Sort(got)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

package nova

import (
	"encoding/base64"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/nova-operator/api/v1alpha1"
)

func remoteCompute(n *v1alpha1.Nova) {
	busTLS(n)
	n.Spec.RemoteCompute = &v1alpha1.NovaRemoteComputeSpec{
		KeystoneEndpoint:      "https://identity.example.com/v3",
		TransportURLSecretRef: v1alpha1.SecretRefSpec{Name: "nova-bus-outer"},
	}
}

var remoteOnly = []string{"remote-compute-config"}

var computeConfigCases = map[string]stepCase{
	"one contract": {want: outcome{Ready: true, Reason: v1alpha1.ReasonComputeConfigPublished}},
	"two contracts": {
		nova: remoteCompute,
		want: outcome{Ready: true, Reason: v1alpha1.ReasonComputeConfigPublished},
	},
	"the remote URL is not there yet, and the pass goes on": {
		nova: remoteCompute, change: drop("nova-bus-outer"),
		want: outcome{
			Reason: v1alpha1.ReasonWaitingForRemoteTransportURL, Held: remoteOnly,
			Message: "spec.remoteCompute.transportURLSecretRef: transport URL Secret openstack/nova-bus-outer not found",
		},
	},
	"the Secret of the remote URL lacks its key": {
		nova: remoteCompute, change: dropKey("nova-bus-outer", "transport_url"),
		want: outcome{
			Reason: v1alpha1.ReasonWaitingForRemoteTransportURL, Held: remoteOnly,
			Message: `spec.remoteCompute.transportURLSecretRef: transport URL Secret openstack/nova-bus-outer missing key "transport_url"`,
		},
	},
	"the remote URL is of another transport, and the pass ends": {
		nova: remoteCompute, change: setKey("nova-bus-outer", "transport_url", "amqp://u:hunter2@h:1/"),
		want: outcome{
			Reason: v1alpha1.ReasonComputeConfigError, Held: remoteOnly, Last: stepComputeConfig,
			Message: `spec.remoteCompute.transportURLSecretRef: transport URL scheme "amqp" is not supported; use rabbit`,
			Err:     `spec.remoteCompute.transportURLSecretRef: transport URL scheme "amqp" is not supported; use rabbit`,
		},
	},
	"the in-cluster fragment cannot be written, and the pass goes on": {
		change: all(mounted, func(in *Input) { in.Nova.Spec.Region = badRegion }),
		want: outcome{
			Reason: v1alpha1.ReasonComputeConfigError, Held: []string{"compute-config", "remote-compute-config"},
			Message: `in-cluster fragment: section "glance" holds a control character in its name, an option or a value`,
		},
	},
	"the remote fragment cannot be written, and the pass goes on": {
		nova:   remoteCompute,
		change: func(in *Input) { in.Nova.Spec.RemoteCompute.KeystoneEndpoint = "https://a\nb" },
		want: outcome{
			Reason: v1alpha1.ReasonComputeConfigError, Held: remoteOnly,
			Message: `remote fragment: section "keystone_authtoken" holds a control character in its name, an option or a value`,
		},
	},
}

func TestComputeConfig(t *testing.T) {
	runCases(t, v1alpha1.ConditionComputeConfigReady, computeConfigCases)
}

func TestComputeConfig_StatusFollowsTheBlocks(t *testing.T) {
	in := readyWorld(t, remoteCompute)
	if ref := in.Nova.Status.RemoteComputeConfigSecretRef; ref == nil || ref.Name != "nova-remote-compute-config" {
		t.Fatalf("published as %v", ref)
	}
	in.Nova.Spec.RemoteCompute = nil
	r := Decide(in)
	if statusOf(r).RemoteComputeConfigSecretRef != nil || statusOf(r).ComputeConfigSecretRef.Name != "nova-compute-config" {
		t.Errorf("status is %+v", statusOf(r))
	}
	if !goneIDs(in, r)["remote-compute-config"] {
		t.Error("the remote contract stays")
	}
}

// The raw keys are for programs that read a Secret, the encoded one for oslo.config.
func TestComputeConfig_HoldsTheCredentialsAsStored(t *testing.T) {
	in := readyWorld(t, busTLS)
	setKey("nova-service-user", "password", "a$b\n")(&in)
	setKey("nova-metadata", "shared_secret", "c$d\n")(&in)
	setKey("bus-ca", "ca.crt", "the anchor\n")(&in)
	r := Decide(in)
	got := map[string]string{}
	for _, o := range r.Set.Desired {
		if o.Content.GetName() == "nova-compute-config" {
			data, _, _ := unstructured.NestedStringMap(o.Content.Object, "data")
			for key, value := range data {
				raw, _ := base64.StdEncoding.DecodeString(value)
				if key != contractFragment {
					got[key] = string(raw)
				}
			}
		}
	}
	want := map[string]string{
		"password": "a$b", "password_env": `a\$b`, "metadata_proxy_shared_secret": "c$d", "cell_name": "cell1",
		"ca.crt": "the anchor\n", "transport_url": "rabbit://placeholder:placeholder@rabbitmq.openstack.svc:5672/",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

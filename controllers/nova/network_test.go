package nova_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/test/cluster"
)

func TestRoutes_WaitForTheGateway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Surroundings.Pause("HTTPRoute")
	w.Inputs()
	w.run()
	n := w.Minimal()
	gateway := func(host string) *v1alpha1.GatewaySpec {
		return &v1alpha1.GatewaySpec{ParentRef: v1alpha1.GatewayParentRefSpec{Name: "gw"}, Hostname: host}
	}
	n.Spec.Gateway = gateway("nova.example.com")
	n.Spec.Metadata.Gateway = gateway("metadata.example.com")
	n.Spec.ConsoleProxy.Gateway = gateway("console.example.com")
	w.Create(n)
	for _, r := range []struct{ condition, name string }{
		{v1alpha1.ConditionHTTPRouteReady, "nova"},
		{v1alpha1.ConditionMetadataHTTPRouteReady, "nova-metadata"},
		{v1alpha1.ConditionConsoleHTTPRouteReady, "nova-console"},
	} {
		w.AwaitSays(r.condition, v1alpha1.ReasonHTTPRouteNotAccepted, "HTTPRoute not yet accepted by Gateway")
		w.AwaitReason(v1alpha1.ConditionReady, v1alpha1.ReasonNotAllReady)
		w.promptly(func() {
			w.play(render.KindHTTPRoute, r.name)
			w.AwaitSays(r.condition, v1alpha1.ReasonHTTPRouteAccepted, "HTTPRoute accepted by Gateway")
		})
	}
	w.AwaitReady()
	w.awaitEndpoint("https://nova.example.com/")

	w.Edit(func(n *v1alpha1.Nova) {
		n.Spec.Gateway, n.Spec.Metadata.Gateway, n.Spec.ConsoleProxy.Gateway = nil, nil, nil
	})
	for condition, noun := range map[string]string{
		v1alpha1.ConditionHTTPRouteReady:         "Nova API",
		v1alpha1.ConditionMetadataHTTPRouteReady: "Nova metadata API",
		v1alpha1.ConditionConsoleHTTPRouteReady:  "Nova console proxy",
	} {
		w.AwaitSays(condition, v1alpha1.ReasonHTTPRouteNotRequired, "External "+noun+" exposure via Gateway API is not configured")
	}
	for _, name := range []string{"nova", "nova-metadata", "nova-console"} {
		cluster.Eventually(t, "route "+name+" to go", func(context.Context) (bool, error) {
			return w.Get(render.KindHTTPRoute, name) == nil, nil
		})
	}
	w.AwaitReady()
	w.awaitEndpoint("http://nova." + w.Namespace + ".svc.cluster.local:8774")
}

func (w *novaWorld) awaitEndpoint(want string) {
	w.T.Helper()
	cluster.Eventually(w.T, "the endpoint", func(ctx context.Context) (bool, error) {
		n, err := w.Live(ctx)
		if err == nil && n.Status.Endpoint != want {
			err = fmt.Errorf("it is %q", n.Status.Endpoint)
		}
		return err == nil, err
	})
}

func TestNetworkPolicy_ComesAndGoesWithItsBlock(t *testing.T) {
	t.Parallel()
	w := ready(t)
	w.AwaitSays(v1alpha1.ConditionNetworkPolicyReady, v1alpha1.ReasonNetworkPolicyNotRequired, "Network isolation is not configured")
	w.Edit(func(n *v1alpha1.Nova) {
		n.Spec.NetworkPolicy = &v1alpha1.NetworkPolicySpec{Ingress: []v1alpha1.NetworkPolicyIngressSource{{}}}
	})
	w.AwaitSays(v1alpha1.ConditionNetworkPolicyReady, v1alpha1.ReasonNetworkPolicyReady, "NetworkPolicy is configured")
	policies := func(want ...string) {
		t.Helper()
		cluster.Eventually(t, "the policies", func(context.Context) (bool, error) {
			var got []string
			for _, name := range []string{"nova", "nova-novncproxy"} {
				if w.Get(render.KindNetworkPolicy, name) != nil {
					got = append(got, name)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				return false, fmt.Errorf("%s", diff)
			}
			return true, nil
		})
	}
	policies("nova", "nova-novncproxy")
	w.Edit(func(n *v1alpha1.Nova) { n.Spec.NetworkPolicy = nil })
	w.AwaitReason(v1alpha1.ConditionNetworkPolicyReady, v1alpha1.ReasonNetworkPolicyNotRequired)
	policies()
	w.AwaitReady()
}

package nova

import (
	"fmt"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayv1ac "sigs.k8s.io/gateway-api/applyconfiguration/apis/v1"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
)

// route is one of the three HTTPRoutes.
type route struct {
	child, noun, field string
	name               func(*v1alpha1.Nova) string
	backend            *role
	gateway            func(*v1alpha1.Nova) *v1alpha1.GatewaySpec
}

var (
	apiRoute = route{
		child: "api/route", noun: "Nova API", field: "spec.gateway", name: instanceName, backend: &api,
		gateway: func(n *v1alpha1.Nova) *v1alpha1.GatewaySpec { return n.Spec.Gateway },
	}
	metadataRoute = route{
		child: "metadata/route", noun: "Nova metadata API", field: "spec.metadata.gateway", name: suffixed(suffixMetadata), backend: &metadata,
		gateway: func(n *v1alpha1.Nova) *v1alpha1.GatewaySpec { return n.Spec.Metadata.Gateway },
	}
	consoleRoute = route{
		child: "console/route", noun: "Nova console proxy", field: "spec.consoleProxy.gateway", name: suffixed(suffixConsoleRoute),
		backend: &consoleProxy,
		gateway: func(n *v1alpha1.Nova) *v1alpha1.GatewaySpec {
			if !consoleEnabled(n) {
				return nil
			}
			return n.Spec.ConsoleProxy.Gateway
		},
	}
)

// routeStep reports whether the Gateway accepted a route.
func routeStep(r *route) func(*pass) {
	return func(p *pass) {
		wanted := r.gateway(p.nova) != nil
		switch capability := p.seen.GatewayAPI; {
		case capability.Error != "":
			p.Fail(v1alpha1.ReasonCapabilityProbeFailed, fmt.Errorf("ask for gateway.networking.k8s.io/v1 HTTPRoute: %s", capability.Error))
			p.Hold(r.child, v1alpha1.ReasonCapabilityProbeFailed)
		case !capability.Served && wanted:
			p.Unready(v1alpha1.ReasonGatewayAPINotInstalled, fmt.Sprintf(
				"%s is set but the cluster does not serve gateway.networking.k8s.io/v1 HTTPRoute; install the Gateway API%s", r.field, askedAgain(p.nova)))
			p.Hold(r.child, v1alpha1.ReasonGatewayAPINotInstalled)
		case !wanted:
			if !capability.Served {
				p.Hold(r.child, "the cluster does not serve the kind")
			}
			p.Ready(v1alpha1.ReasonHTTPRouteNotRequired, "External "+r.noun+" exposure via Gateway API is not configured")
		case p.seen.Routes[r.name(p.nova)].Accepted:
			p.Ready(v1alpha1.ReasonHTTPRouteAccepted, "HTTPRoute accepted by Gateway")
		default:
			p.Unready(v1alpha1.ReasonHTTPRouteNotAccepted, "HTTPRoute not yet accepted by Gateway")
			p.Again(pollDeployment)
		}
	}
}

// httpRoute publishes one Service under the block's host name.
func httpRoute(r *route) builder {
	return func(p *pass) (render.Resource, error) {
		g := r.gateway(p.nova)
		if g == nil {
			return nil, nil
		}
		parent := gatewayv1ac.ParentReference().WithName(gatewayv1.ObjectName(g.ParentRef.Name))
		if g.ParentRef.Namespace != "" {
			parent.WithNamespace(gatewayv1.Namespace(g.ParentRef.Namespace))
		}
		if g.ParentRef.SectionName != "" {
			parent.WithSectionName(gatewayv1.SectionName(g.ParentRef.SectionName))
		}
		out := gatewayv1ac.HTTPRoute(r.name(p.nova), p.nova.Namespace).
			WithLabels(labelsOf(p.nova).Common()).
			WithSpec(gatewayv1ac.HTTPRouteSpec().
				WithParentRefs(parent).
				WithHostnames(gatewayv1.Hostname(g.Hostname)).
				WithRules(gatewayv1ac.HTTPRouteRule().
					WithMatches(gatewayv1ac.HTTPRouteMatch().
						WithPath(gatewayv1ac.HTTPPathMatch().WithType(gatewayv1.PathMatchPathPrefix).WithValue(routePath(g)))).
					WithBackendRefs(gatewayv1ac.HTTPBackendRef().
						WithName(gatewayv1.ObjectName(r.backend.name(p.nova))).
						WithPort(gatewayv1.PortNumber(r.backend.port)))))
		if len(g.Annotations) > 0 {
			out.WithAnnotations(g.Annotations)
		}
		return out, nil
	}
}

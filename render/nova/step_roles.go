package nova

import "github.com/c5c3/nova-operator/api/v1alpha1"

// rolledOut is the strict test of an upgrade: every pod is new, ready and available, on
// the image of the spec.
func (p *pass) rolledOut(r *role) bool {
	return p.seen.Deployments[r.name(p.nova)].RolledOut(p.nova.Spec.Image.Reference())
}

// rolling reports whether the roles roll onto the image of an upgrade.
func (p *pass) rolling() bool {
	return p.nova.Status.UpgradePhase == v1alpha1.UpgradePhaseRollingUpdate
}

// roleStep reports a role. It does not stop the pass, because its Deployment wakes
// the Nova when it turns ready; during the roll of an upgrade it does, so that the
// next role keeps the old image until this one is through.
func roleStep(r *role) func(*pass) {
	return func(p *pass) {
		if p.rolling() && !p.rolledOut(r) {
			p.Wait(r.waiting, "Waiting for the upgraded image to finish rolling out on the "+r.words, pollDeployment)
			return
		}
		if p.roleAvailable(r) {
			p.Ready(r.ready, "Nova "+r.words+" deployment is available")
			return
		}
		p.Unready(r.waiting, "Nova "+r.words+" deployment is not yet available")
	}
}

func (p *pass) roleAvailable(r *role) bool {
	return p.seen.Deployments[r.name(p.nova)].Serves()
}

// consoleProxyStep is the role's, or says that it is switched off.
func consoleProxyStep(p *pass) {
	if !consoleEnabled(p.nova) {
		p.Ready(v1alpha1.ReasonConsoleProxyDisabled, "spec.consoleProxy.enabled is false; the console proxy is not rendered")
		return
	}
	roleStep(&consoleProxy)(p)
}

// deploymentStep waits for the API: what is behind it only makes sense once it serves.
// In the roll of an upgrade it waits for every role, and turns the phase.
func deploymentStep(p *pass) {
	if p.rolling() {
		if !p.advance(stepDeployment) {
			p.Wait(v1alpha1.ReasonWaitingForDeployment,
				"Waiting for every role to finish rolling out the upgraded image before contracting the database schema", pollDeployment)
		}
		return
	}
	if !p.roleAvailable(&api) {
		p.Wait(v1alpha1.ReasonWaitingForDeployment, "Nova API deployment is not yet available", pollDeployment)
		return
	}
	p.status.Endpoint = endpoint(p.nova)
	p.Ready(v1alpha1.ReasonDeploymentReady, "Nova API deployment is available")
}

// endpoint is where clients reach the API.
func endpoint(n *v1alpha1.Nova) string {
	if n.Spec.Gateway != nil {
		return "https://" + n.Spec.Gateway.Hostname + "/"
	}
	return "http://" + n.Name + "." + n.Namespace + ".svc.cluster.local:" + itoa(portAPI)
}

// HealthURL is what the probe asks: always the Service, so that a gateway can't hide
// the state of the API itself.
func HealthURL(n *v1alpha1.Nova) string {
	return "http://" + n.Name + "." + n.Namespace + ".svc.cluster.local:" + itoa(portAPI) + "/"
}

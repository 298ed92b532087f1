package nova

import (
	"errors"
	"fmt"

	"github.com/c5c3/nova-operator/api/catalog"
	"github.com/c5c3/nova-operator/api/v1alpha1"
)

// releaseGate decides whether the schemas may be brought to the spec's release. It
// returns false when the pass ended.
func (p *pass) releaseGate() bool {
	if p.imageMismatch() {
		return false
	}
	installed, wanted := p.nova.Status.InstalledRelease, p.nova.Spec.OpenStackRelease
	if installed == "" || installed == wanted {
		return true
	}
	from, err := catalog.ParseRelease(installed)
	if err != nil {
		return p.refuseRelease(v1alpha1.ReasonVersionParseError, v1alpha1.EventVersionParseError,
			fmt.Sprintf("failed to parse installed release %q: %v", installed, err),
			fmt.Sprintf("Failed to parse installed release %q: %v", installed, err))
	}
	to, err := catalog.ParseRelease(wanted)
	if err != nil {
		return p.refuseRelease(v1alpha1.ReasonVersionParseError, v1alpha1.EventVersionParseError,
			fmt.Sprintf("failed to parse target release %q: %v", wanted, err),
			fmt.Sprintf("Failed to parse target release %q: %v", wanted, err))
	}
	switch {
	case to == from:
		return true
	case to.Compare(from) < 0:
		return p.refuseRelease(v1alpha1.ReasonDowngradeNotSupported, v1alpha1.EventDowngradeNotSupported,
			fmt.Sprintf("downgrade from %s to %s is not supported", installed, wanted),
			fmt.Sprintf("Downgrade from %s to %s is not supported", installed, wanted))
	case to != from.Next():
		return p.refuseRelease(v1alpha1.ReasonUpgradePathInvalid, v1alpha1.EventUpgradePathInvalid,
			fmt.Sprintf("upgrade from %s to %s is not sequential; only sequential upgrades are supported", installed, wanted),
			fmt.Sprintf("Upgrade from %s to %s is not sequential", installed, wanted))
	default:
		p.wait(v1alpha1.ReasonUpgradeNotSupported,
			fmt.Sprintf("upgrade from %s to %s is not supported yet; set spec.openStackRelease and spec.image back", installed, wanted), pollDatabase)
		p.holdAfter("cell0/grant", v1alpha1.ReasonUpgradeNotSupported)
		return false
	}
}

// refuseRelease ends the pass on a release that can't be reached; the event is sent
// when the message changes.
func (p *pass) refuseRelease(reason, event, message, eventMessage string) bool {
	last := p.condition(v1alpha1.ConditionDatabaseReady)
	if last == nil || last.Message != message {
		p.warn(event, eventMessage)
	}
	p.fail(reason, errors.New(message))
	p.holdAfter("cell0/grant", reason)
	return false
}

// imageMismatch refuses a tag that names another release than the spec: a release
// bump with an old image would sync nothing and report success. A digest, or a tag
// that names no release, is trusted.
func (p *pass) imageMismatch() bool {
	tag := p.nova.Spec.Image.Tag
	image, err := catalog.ParseRelease(tag)
	if err != nil || p.nova.Spec.Image.Digest != "" {
		return false
	}
	if wanted, err := catalog.ParseRelease(p.nova.Spec.OpenStackRelease); err != nil || wanted == image {
		return false
	}
	p.wait(v1alpha1.ReasonImageReleaseMismatch,
		fmt.Sprintf("spec.image.tag %q names OpenStack release %s but spec.openStackRelease is %q; bump spec.image in lockstep with spec.openStackRelease", tag, image, p.nova.Spec.OpenStackRelease), pollDatabase)
	p.holdAfter("cell0/grant", v1alpha1.ReasonImageReleaseMismatch)
	return true
}

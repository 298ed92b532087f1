package nova

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/pipeline"
)

// Decide says what should be on the cluster for a Nova, and what its status is. It
// never panics on a resource an API server would store, and equal inputs give equal
// decisions.
func Decide(in Input) pipeline.Decision {
	p := newPass(&in)
	index.Run(p.Pass, p.nova, p)
	p.prunable()
	index.Finish(p.Pass)
	p.Turn = turn(&in.Nova.Status, p.status)
	return p.Decision
}

// turn is the change of the upgrade phase between two statuses; nil for none.
func turn(before, after *v1alpha1.NovaStatus) *pipeline.Turn {
	if before.UpgradePhase == after.UpgradePhase {
		return nil
	}
	return &pipeline.Turn{
		From: string(before.UpgradePhase), To: string(after.UpgradePhase),
		Aborted: after.UpgradePhase == idle && after.InstalledRelease == before.InstalledRelease,
	}
}

// statusOf is the status of a decision about a Nova, without conditions.
func statusOf(d pipeline.Decision) v1alpha1.NovaStatus { return d.After.(*v1alpha1.Nova).Status }

// noUpgrade reports a Job this decision says nothing about: one of an upgrade while none
// runs. A finished one stays as the record of its upgrade.
func noUpgrade(p *pass) bool { return p.nova.Status.UpgradePhase == idle }

// prunable names the kinds whose leftovers may go: generations of the configuration,
// once a fresh one stands and nothing is left that can't be made.
func (p *pass) prunable() {
	if p.config.fresh && p.Err == nil && !p.seen.MountsUnknown {
		p.Set.Held = append(p.Set.Held, p.retained()...)
		p.Set.Prunable = []schema.GroupVersionKind{render.KindConfigMap}
	}
}

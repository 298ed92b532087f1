package nova

import (
	"cmp"
	"slices"

	"github.com/c5c3/nova-operator/render"
)

// history is how many generations of the configuration stay besides the current one,
// for a rollback by hand.
const history = 3

// Why a generation of the configuration stays.
const (
	GateHistory = "history"
	GateMounted = "a live pod template mounts it"
)

// retained are the generations to leave alone: the newest ones before the current,
// and every one a live pod template still names, whatever its age.
func (p *pass) retained() []render.Held {
	older := slices.DeleteFunc(slices.Clone(p.seen.ConfigMaps), func(cm ConfigMap) bool { return cm.Name == p.config.name || cm.Name == "" })
	slices.SortFunc(older, func(a, b ConfigMap) int {
		return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(b.Name, a.Name))
	})
	older = slices.CompactFunc(older, func(a, b ConfigMap) bool { return a.Name == b.Name })
	mounted := p.mountedConfigMaps()
	var held []render.Held
	for i, cm := range older {
		gate := ""
		switch {
		case mounted[cm.Name]:
			gate = GateMounted
		case i < history:
			gate = GateHistory
		default:
			continue
		}
		held = append(held, render.Held{Key: render.Key{GroupVersionKind: KindConfigMap, Namespace: p.nova.Namespace, Name: cm.Name}, Gate: gate})
	}
	return held
}

// mountedConfigMaps are the generations that live templates of this Nova name.
func (p *pass) mountedConfigMaps() map[string]bool {
	mounted := map[string]bool{p.seen.ArchiveConfigMap: true}
	for _, d := range p.seen.Deployments {
		mounted[d.ConfigMap] = true
	}
	for _, j := range p.seen.Jobs {
		mounted[j.ConfigMap] = true
	}
	for _, j := range p.seen.ArchiveJobs {
		mounted[j.ConfigMap] = true
	}
	delete(mounted, "")
	return mounted
}

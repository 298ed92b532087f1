package nova

import (
	"fmt"
	"maps"
	"slices"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/c5c3/nova-operator/api/catalog"
	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/facts"
	"github.com/c5c3/nova-operator/render/ini"
	"github.com/c5c3/nova-operator/render/workload"
)

// configuration is the ConfigMap the workloads of this pass mount.
type configuration struct {
	// name is empty while no usable one was ever rendered.
	name string
	// data is set when this pass rendered it; keys always.
	data map[string]string
	keys []string
	// fresh is true when this pass rendered it, false for the last good one.
	fresh bool
}

// has reports whether the ConfigMap carries a key.
func (c configuration) has(key string) bool { return slices.Contains(c.keys, key) }

// configStep renders the configuration. Text that would break out of its line keeps
// the last good ConfigMap and lets the pass go on with it.
func configStep(p *pass) {
	workload.ExtraConfigHealth(p.Pass, catalog.Overridden(catalog.NovaKeys, p.nova.Spec.ExtraConfig.Catalog()))
	data, err := configData(p.nova)
	if err != nil {
		p.config = p.lastGood()
		p.Unready(v1alpha1.ReasonConfigError, err.Error())
		p.Hold(childConfig, v1alpha1.ReasonConfigError)
		return
	}
	p.config = configuration{
		name: p.nova.Name + suffixConfig + "-" + workload.ContentHash(data),
		data: data, keys: slices.Sorted(maps.Keys(data)), fresh: true,
	}
}

// configData is the content of the ConfigMap.
func configData(n *v1alpha1.Nova) (map[string]string, error) {
	extra := n.Spec.ExtraConfig.Catalog()
	if findings := catalog.CheckKeys(catalog.NovaKeys, extra).Errors; len(findings) > 0 {
		f := findings[0]
		return nil, fmt.Errorf("spec.extraConfig[%s][%s]: %s", f.Section, f.Key, f.Message)
	}
	conf := merged(novaConf(n), extra)
	if err := conf.Check(); err != nil {
		return nil, err
	}
	data := map[string]string{"nova.conf": conf.String()}
	for key, overlay := range overlays(n) {
		data[key] = overlay.String()
	}
	if jsonLogging(n) {
		data[loggingFile] = loggingINI(n).String()
	}
	return data, nil
}

// merged lays extraConfig over the operator's options, key by key. Its values are in
// file form: `$name` interpolates, as everywhere in nova.conf. oslo.config finds a
// section in any case, so its names are folded onto ours. How a list is written is
// looked up in the newest catalog: the resource's release must not rename the
// ConfigMap.
func merged(conf ini.File, extra map[string]map[string]catalog.Value) ini.File {
	releases := catalog.Releases()
	newest := releases[len(releases)-1]
	for section, options := range extra {
		for option, value := range options {
			conf.SetRaw(catalog.Section(section), option, catalog.Lines(newest, section, option, value)...)
		}
	}
	return conf
}

// lastGood is the ConfigMap the live API Deployment mounts, with the keys of that
// ConfigMap itself.
func (p *pass) lastGood() configuration {
	name := p.seen.Deployments[p.nova.Name].ConfigMap
	for _, cm := range p.seen.ConfigMaps {
		if name != "" && cm.Name == name {
			return configuration{name: name, keys: cm.Keys}
		}
	}
	return configuration{}
}

// retained are the generations of the configuration to leave alone.
func (p *pass) retained() []render.Held {
	return workload.Older(p.seen.ConfigMaps, p.nova.Namespace, p.config.name, p.mountedConfigMaps())
}

// Outgrown reports whether a generation of the configuration would go, so that it matters
// what else mounts one.
func Outgrown(in *Input) bool {
	p := newPass(in)
	data, err := configData(p.nova)
	if err != nil {
		return false // none goes without a fresh one
	}
	p.config.name = p.nova.Name + suffixConfig + "-" + workload.ContentHash(data)
	stays := map[string]bool{p.config.name: true}
	for _, held := range p.retained() {
		stays[held.Name] = true
	}
	return slices.ContainsFunc(in.Observed.ConfigMaps, func(cm facts.ConfigMap) bool { return !stays[cm.Name] })
}

// mountedConfigMaps are the generations that live pods and templates of this Nova name.
func (p *pass) mountedConfigMaps() map[string]bool {
	mounted := map[string]bool{p.seen.ArchiveConfigMap: true}
	for _, name := range p.seen.MountedConfigMaps {
		mounted[name] = true
	}
	for _, d := range p.seen.Deployments {
		mounted[d.ConfigMap] = true
	}
	for _, j := range p.seen.Jobs {
		// The one that looked at the schemas stays for good, and runs once.
		if j.Name != p.nova.Name+suffixDBInspect || !j.Ended() {
			mounted[j.ConfigMap] = true
		}
	}
	for _, j := range p.seen.ArchiveJobs {
		mounted[j.ConfigMap] = true
	}
	delete(mounted, "")
	return mounted
}

// configMap is one immutable generation of the configuration.
func configMap(p *pass) (render.Resource, error) {
	labels := labelsOf(p.nova).Component(v1alpha1.ComponentConfig)
	labels[v1alpha1.LabelConfigBase] = p.nova.Name + suffixConfig
	return corev1ac.ConfigMap(p.config.name, p.nova.Namespace).
		WithLabels(labels).
		WithData(p.config.data).
		WithImmutable(true), nil
}

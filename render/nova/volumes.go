package nova

import (
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render/pod"
)

// volumes is a list of volumes with their mounts, in the order of the pod template.
type volumes struct {
	volumes []*corev1ac.VolumeApplyConfiguration
	mounts  []*corev1ac.VolumeMountApplyConfiguration
}

func (v *volumes) add(volume *corev1ac.VolumeApplyConfiguration, mount *corev1ac.VolumeMountApplyConfiguration) {
	v.volumes = append(v.volumes, volume)
	v.mounts = append(v.mounts, mount)
}

// workloadVolumes are what a role mounts.
func workloadVolumes(p *pass, r *role) volumes {
	n := p.nova
	var v volumes
	keys := []string{"nova.conf"}
	if p.config.has(loggingFile) {
		keys = append(keys, loggingFile)
	}
	if r.sameDir {
		keys = append(keys, r.overlay)
	}
	v.add(configVolume("config", p.config.name, keys...), pod.MountReadOnly("config", configDir))
	if r.overlay != "" && !r.sameDir {
		v.add(configVolume(r.component+"-overlay", p.config.name, r.overlay), pod.MountReadOnly(r.component+"-overlay", overlayDir(r.component)))
	}
	v.add(pod.EmptyDir("state"), pod.Mount("state", stateDir))
	v.add(pod.EmptyDir("tmp"), pod.Mount("tmp", "/tmp"))
	v.addDatabaseTLS(n)
	if n.Spec.Messaging.TLS != nil {
		v.add(corev1ac.Volume().WithName("rabbitmq-ca").WithSecret(corev1ac.SecretVolumeSource().
			WithSecretName(n.Spec.Messaging.TLS.CABundleSecretRef.Name).
			WithDefaultMode(0o444).
			WithItems(item(messagingCAKey(n), "ca.crt"))), pod.MountReadOnly("rabbitmq-ca", messagingCADir))
	}
	return v
}

// jobVolumes are what every Job and CronJob mounts: the whole ConfigMap.
func jobVolumes(p *pass) volumes {
	var v volumes
	v.add(configVolume("config", p.config.name), pod.MountReadOnly("config", configDir))
	v.add(pod.EmptyDir("tmp"), pod.Mount("tmp", "/tmp"))
	v.addDatabaseTLS(p.nova)
	return v
}

// addDatabaseTLS mounts the TLS files of each schema that uses them. Mode 0400 is
// what the client library demands; the pod's fsGroup makes the files readable.
func (v *volumes) addDatabaseTLS(n *v1alpha1.Nova) {
	for _, schema := range []struct {
		name, dir string
		tls       *v1alpha1.DatabaseTLSSpec
	}{
		{"api-db-tls", apiTLSDir, n.Spec.APIDatabase.TLS},
		{"cell-db-tls", cellTLSDir, n.Spec.Database.TLS},
	} {
		if !schema.tls.Enabled() {
			continue
		}
		v.add(corev1ac.Volume().WithName(schema.name).WithProjected(corev1ac.ProjectedVolumeSource().
			WithDefaultMode(0o400).
			WithSources(
				secretFiles(schema.tls.CABundleSecretRef.Name, "ca.crt"),
				secretFiles(schema.tls.ClientCertSecretRef.Name, "tls.crt", "tls.key"),
			)), pod.MountReadOnly(schema.name, schema.dir))
	}
}

func configVolume(name, configMap string, keys ...string) *corev1ac.VolumeApplyConfiguration {
	source := corev1ac.ConfigMapVolumeSource().WithName(configMap)
	for _, key := range keys {
		source.WithItems(item(key, key))
	}
	return corev1ac.Volume().WithName(name).WithConfigMap(source)
}

func secretFiles(name string, keys ...string) *corev1ac.VolumeProjectionApplyConfiguration {
	source := corev1ac.SecretProjection().WithName(name)
	for _, key := range keys {
		source.WithItems(item(key, key))
	}
	return corev1ac.VolumeProjection().WithSecret(source)
}

func item(key, path string) *corev1ac.KeyToPathApplyConfiguration {
	return corev1ac.KeyToPath().WithKey(key).WithPath(path)
}

package nova

import (
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render/pod"
)

// environment lists the variables of one container. The order is part of the pod
// template: another order rolls pods. Credentials come from derived Secrets, whose
// values oslo.config reads back as they are stored.
func environment(n *v1alpha1.Nova, set envSet, brokerPort int32) []*corev1ac.EnvVarApplyConfiguration {
	service := n.Name + suffixServiceUser
	env := []*corev1ac.EnvVarApplyConfiguration{
		pod.SecretEnv("OS_DEFAULT__TRANSPORT_URL", n.Name+suffixTransport, keyTransportURL),
		pod.SecretEnv("OS_DATABASE__CONNECTION", n.Name+suffixConnection, keyConnection),
	}
	if set.apiDatabase {
		env = append(env, pod.SecretEnv("OS_API_DATABASE__CONNECTION", n.Name+suffixAPIConnection, keyConnection))
	}
	env = append(env,
		pod.SecretEnv("OS_KEYSTONE_AUTHTOKEN__PASSWORD", service, keyPassword),
		pod.SecretEnv("OS_SERVICE_USER__PASSWORD", service, keyPassword),
		pod.SecretEnv("OS_PLACEMENT__PASSWORD", service, keyPassword),
		pod.SecretEnv("OS_NEUTRON__PASSWORD", service, keyPassword),
	)
	if n.Spec.Endpoints.Cinder.Enabled {
		env = append(env, pod.SecretEnv("OS_CINDER__PASSWORD", service, keyPassword))
	}
	if set.metadataSecret {
		env = append(env, pod.SecretEnv("OS_NEUTRON__METADATA_PROXY_SHARED_SECRET", n.Name+suffixMetadataKey, keySharedSecret))
	}
	if set.wsgi {
		// The paste file is first and absolute: nova loads the first entry as the
		// pipeline and joins the others with the directory.
		files := pasteFile + ";nova.conf"
		if set.metadataSecret {
			files += ";metadata.conf"
		}
		env = append(env, pod.Env("OS_NOVA_CONFIG_DIR", configDir), pod.Env("OS_NOVA_CONFIG_FILES", files))
	}
	if set.brokerPort {
		env = append(env, pod.Env("NOVA_AMQP_PORT", itoa(brokerPort)))
	}
	return env
}

// jobEnvironment is what every Job and CronJob gets.
func jobEnvironment(n *v1alpha1.Nova) []*corev1ac.EnvVarApplyConfiguration {
	return environment(n, envSet{apiDatabase: true}, 0)
}

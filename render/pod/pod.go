// Package pod holds what every pod of both kinds has in common: security settings,
// environment from Secrets, resources, placement and the pull policy.
//
// Input: blocks of the custom resources. Output: client-go apply configurations, so
// that an unset field is absent. It reads nothing and decides nothing about gates.
package pod

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/c5c3/nova-operator/api/v1alpha1"
)

// User is the numeric user and group of the nova images.
const User int64 = 42424

// Security makes group-readable what only the service user may read: files of
// mode 0400 reach the process through fsGroup alone.
func Security() *corev1ac.PodSecurityContextApplyConfiguration {
	return corev1ac.PodSecurityContext().WithFSGroup(User)
}

// ContainerSecurity is the restricted Pod Security profile for the service user.
func ContainerSecurity() *corev1ac.SecurityContextApplyConfiguration {
	return corev1ac.SecurityContext().
		WithRunAsUser(User).
		WithRunAsGroup(User).
		WithRunAsNonRoot(true).
		WithAllowPrivilegeEscalation(false).
		WithReadOnlyRootFilesystem(true).
		WithCapabilities(corev1ac.Capabilities().WithDrop("ALL")).
		WithSeccompProfile(corev1ac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault))
}

// SecretEnv is a variable read from one key of a Secret.
func SecretEnv(name, secret, key string) *corev1ac.EnvVarApplyConfiguration {
	return corev1ac.EnvVar().WithName(name).WithValueFrom(corev1ac.EnvVarSource().
		WithSecretKeyRef(corev1ac.SecretKeySelector().WithName(secret).WithKey(key)))
}

// Env is a variable with a plain value.
func Env(name, value string) *corev1ac.EnvVarApplyConfiguration {
	return corev1ac.EnvVar().WithName(name).WithValue(value)
}

// EmptyDir is a scratch volume.
func EmptyDir(name string) *corev1ac.VolumeApplyConfiguration {
	return corev1ac.Volume().WithName(name).WithEmptyDir(corev1ac.EmptyDirVolumeSource())
}

// Mount mounts a volume read-write.
func Mount(name, path string) *corev1ac.VolumeMountApplyConfiguration {
	return corev1ac.VolumeMount().WithName(name).WithMountPath(path)
}

// MountReadOnly mounts a volume read-only.
func MountReadOnly(name, path string) *corev1ac.VolumeMountApplyConfiguration {
	return Mount(name, path).WithReadOnly(true)
}

// PullPolicy resolves the pull policy of an image: its own, the operator's default,
// then IfNotPresent for a digest and Always for a tag.
func PullPolicy(image v1alpha1.ImageSpec, operatorDefault corev1.PullPolicy) corev1.PullPolicy {
	switch {
	case image.PullPolicy != "":
		return image.PullPolicy
	case operatorDefault != "":
		return operatorDefault
	case image.Digest != "":
		return corev1.PullIfNotPresent
	default:
		return corev1.PullAlways
	}
}

// Resources resolves a block per resource: CPU named neither way gets the request
// cpu and no limit, memory named neither way gets the figure as request and limit.
// Whatever the block names is used as written.
func Resources(
	block *corev1.ResourceRequirements, cpu, memory resource.Quantity,
) (*corev1ac.ResourceRequirementsApplyConfiguration, error) {
	full := corev1.ResourceRequirements{}
	if block != nil {
		full = *block.DeepCopy()
	}
	if !names(full, corev1.ResourceCPU) {
		put(&full.Requests, corev1.ResourceCPU, cpu)
	}
	if !names(full, corev1.ResourceMemory) {
		put(&full.Requests, corev1.ResourceMemory, memory)
		put(&full.Limits, corev1.ResourceMemory, memory)
	}
	return Convert[corev1ac.ResourceRequirementsApplyConfiguration](full)
}

func names(r corev1.ResourceRequirements, name corev1.ResourceName) bool {
	_, request := r.Requests[name]
	_, limit := r.Limits[name]
	return request || limit
}

func put(list *corev1.ResourceList, name corev1.ResourceName, q resource.Quantity) {
	if *list == nil {
		*list = corev1.ResourceList{}
	}
	(*list)[name] = q
}

// Memory is the figure for a Python service: 16Mi for the container, 352Mi for each
// process and 32Mi for each thread beyond a process's first. Counts below 1 are 1.
func Memory(processes, threads int32) resource.Quantity {
	p, t := int64(max(processes, 1)), int64(max(threads, 1))
	return *resource.NewQuantity((16+p*(352+(t-1)*32))<<20, resource.BinarySI)
}

// Convert turns an API type into the apply configuration of the same JSON. Source:
// both are generated from one definition, so only a programming error makes it fail.
func Convert[To any](from any) (*To, error) {
	raw, err := json.Marshal(from)
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", from, err)
	}
	to := new(To)
	if err := json.Unmarshal(raw, to); err != nil {
		return nil, fmt.Errorf("decode %T: %w", to, err)
	}
	return to, nil
}

// ConvertAll is Convert over a list.
func ConvertAll[To, From any](from []From) ([]*To, error) {
	out := make([]*To, len(from))
	for i := range from {
		to, err := Convert[To](from[i])
		if err != nil {
			return nil, err
		}
		out[i] = to
	}
	return out, nil
}

// Place copies a placement block onto a pod.
func Place(spec *corev1ac.PodSpecApplyConfiguration, placement v1alpha1.NodePlacementSpec) error {
	if len(placement.NodeSelector) > 0 {
		spec.WithNodeSelector(placement.NodeSelector)
	}
	tolerations, err := ConvertAll[corev1ac.TolerationApplyConfiguration](placement.Tolerations)
	if err != nil {
		return err
	}
	spec.WithTolerations(tolerations...)
	if placement.Affinity != nil {
		affinity, err := Convert[corev1ac.AffinityApplyConfiguration](placement.Affinity)
		if err != nil {
			return err
		}
		spec.WithAffinity(affinity)
	}
	return nil
}

// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Abnormal reports whether a condition of a type says that something is not as wanted.
// Stalled says so when it is True, every other one when it is not.
func Abnormal(kind string, status metav1.ConditionStatus) bool {
	return (status == metav1.ConditionTrue) == (kind == ConditionStalled)
}

// Stalled is the condition of that type for what one pass says about the sub-conditions,
// which are named in their order. What a pass did not reach is no part of it: it may be
// long since mended.
func Stalled(pass []metav1.Condition, order []string, generation int64) metav1.Condition {
	for _, name := range order {
		c := meta.FindStatusCondition(pass, name)
		if c != nil && c.Status != metav1.ConditionTrue && NeedsPerson(c.Reason) {
			return metav1.Condition{
				Type: ConditionStalled, Status: metav1.ConditionTrue, Reason: c.Reason, Message: c.Message, ObservedGeneration: generation,
			}
		}
	}
	return metav1.Condition{
		Type: ConditionStalled, Status: metav1.ConditionFalse, Reason: ReasonNotStalled,
		Message: "No sub-condition needs a person", ObservedGeneration: generation,
	}
}

// NeedsPerson reports whether a condition that is False for this reason stays so until
// a person acts: no Job, controller or delivery that is on its way clears it. Tools that
// wait for a resource give up at such a reason and wait on at every other. It is false
// for reasons it does not know.
func NeedsPerson(reason string) bool { return needsPerson[reason] }

// needsPerson decides about every reason a condition is False for. What a spec or a
// stored value is wrong about needs a person, and so does a Job that has used up its
// tries. What is not there yet, does not answer yet or is being rolled out does not: in
// a repository that is applied as a whole, it may come a moment later.
var needsPerson = map[string]bool{
	// Clusters register, and come back, while the operator runs.
	ReasonTargetClusterUnavailable: false,

	ReasonConfigError: true,
	// An object of the step can't be made of this spec. What the API server says about one
	// is judged by the error: see ApplyFailed of the decision.
	ReasonApplyError: true,

	// Somebody has to install the definition. At home the operator looks for both at its
	// start only; on a target cluster it finds them by itself.
	ReasonVPANotInstalled:        true,
	ReasonGatewayAPINotInstalled: true,

	ReasonVPAError:              false, // an answer of the API server, judged by the error
	ReasonCapabilityProbeFailed: false, // asked again

	// SecretsReady: a store comes back, and a Secret may still be on its way. One that is
	// there with a value nova can't use is not.
	ReasonSecretStoreNotReady:              false,
	ReasonClusterSecretStoreUnsupported:    true,
	ReasonWaitingForDBCredentials:          false,
	ReasonWaitingForServiceUserCredentials: false,
	ReasonWaitingForMetadataSharedSecret:   false,
	ReasonMetadataSharedSecretEmpty:        true,
	ReasonWaitingForMessagingCA:            false,
	ReasonWaitingForMessagingCredentials:   false,
	ReasonTransportURLRejected:             true,

	ReasonComputeConfigError:           true,
	ReasonWaitingForRemoteTransportURL: false,

	// DatabaseReady: a release that can't be reached, and a Job that failed for good, stay.
	ReasonClusterNotReady:       false,
	ReasonWaitingForDatabase:    false,
	ReasonWaitingForConfig:      false, // SecretsReady says why
	ReasonImageReleaseMismatch:  true,
	ReasonSchemaInUse:           true,
	ReasonSchemaReleaseUnknown:  true,
	ReasonDBSyncFailed:          true,
	ReasonDBSyncInProgress:      false,
	ReasonVersionParseError:     true,
	ReasonDowngradeNotSupported: true,
	ReasonUpgradePathInvalid:    true,
	ReasonUpgradeTargetChanged:  true,
	ReasonUpgradeAborting:       false,
	ReasonExpandInProgress:      false,
	ReasonMigrateInProgress:     false,
	ReasonUpgradeRollingUpdate:  false,
	ReasonContractInProgress:    false,
	ReasonExpandFailed:          true,
	ReasonMigrateFailed:         true,
	ReasonContractFailed:        true,

	// Pods may come up at any time.
	ReasonWaitingForConductor:    false,
	ReasonWaitingForScheduler:    false,
	ReasonWaitingForMetadata:     false,
	ReasonWaitingForConsoleProxy: false,
	ReasonWaitingForDeployment:   false,

	// The run has used up its tries and nothing moves until the next one, which is a day
	// away by default and meets the same database.
	ReasonDBArchiveJobFailed: true,

	// The API is asked again every few seconds.
	ReasonAPIUnhealthy:       false,
	ReasonEndpointNotReady:   false,
	ReasonHealthCheckTimeout: false,
	ReasonConnectionFailed:   false,
	ReasonHealthCheckFailed:  false,

	ReasonHTTPRouteNotAccepted: false, // the Gateway may come later

	// NovaReady of a NovaCompute: the Nova may come later, and may still be installing.
	ReasonNovaNotFound:                false,
	ReasonWaitingForInstalledRelease:  false,
	ReasonComputeConfigNotPublished:   false,
	ReasonWaitingForServiceUserSecret: false,
	ReasonNovaError:                   false,

	// NodesReady: nodes join and leave, and another pool lets go of a node once it is
	// empty. A permission comes from whoever installs the operator.
	ReasonNoMatchingNodes: false,
	ReasonNodeConflict:    false,
	ReasonNodesForbidden:  true,
	ReasonNodeListError:   false,

	ReasonWaitingForComputeConfig: false,
	ReasonComputeConfigIncomplete: false, // the Nova completes it

	ReasonDaemonSetProgressing: false,
	ReasonDaemonSetError:       false, // an answer of the API server, judged by the error

	// AggregatesReady: a zone is a label that a node may get after it joined; the zone of
	// an aggregate that exists is never changed here.
	ReasonNodesWithoutZone:      false,
	ReasonAggregateZoneMismatch: true,
	ReasonWaitingForAggregate:   false,

	ReasonWaitingForServices:    false,
	ReasonWaitingForHostMapping: false,
	ReasonHostDiscoveryError:    false, // a failed Job is replaced
	ReasonServicesDown:          false,
	ReasonPodListError:          false,

	// TraitsReady: what somebody took out of the pool's hands, or switched off, stays. The
	// operator of the Hypervisors may come later, and tries again.
	ReasonNodesWithCustomTraitsAnnotation: true,
	ReasonNodesWithoutHypervisor:          false,
	ReasonHypervisorLifecycleDisabled:     true,
	ReasonHypervisorTraitsFailed:          false,
	ReasonHypervisorOperatorNotInstalled:  false,
	ReasonHypervisorsForbidden:            true,
	ReasonHypervisorError:                 false,
	ReasonPlacementEndpointNotFound:       false,
	ReasonPlacementAPIError:               false,

	ReasonComputeAPIError:      false,
	ReasonNovaComputeListError: false,
}

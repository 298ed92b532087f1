// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Condition types of a NovaCompute, in the order of a pass.
const (
	// ConditionNovaReady tells whether the referenced Nova can be joined.
	ConditionNovaReady = "NovaReady"

	// ConditionNodesReady tells whether the pool knows its nodes and holds all it selects.
	ConditionNodesReady = "NodesReady"

	// ConditionConfigReady tells whether compute-pool.conf of the current spec is
	// rendered. Its observedGeneration is the proof.
	ConditionConfigReady = "ConfigReady"

	// ConditionDaemonSetReady tells whether every node runs a ready pod of the current
	// template.
	ConditionDaemonSetReady = "DaemonSetReady"

	// ConditionAggregatesReady tells whether the host aggregates the pool needs exist.
	ConditionAggregatesReady = "AggregatesReady"

	// ConditionServicesReady tells whether every node's compute service is registered,
	// mapped and up.
	ConditionServicesReady = "ServicesReady"

	// ConditionTraitsReady tells whether every node carries its custom traits.
	ConditionTraitsReady = "TraitsReady"
)

// NovaComputeConditions returns the eight condition types Ready aggregates on a
// NovaCompute, in the order of a pass.
func NovaComputeConditions() []string {
	return []string{
		ConditionNovaReady,
		ConditionNodesReady,
		ConditionConfigReady,
		ConditionDaemonSetReady,
		ConditionVPAReady,
		ConditionAggregatesReady,
		ConditionServicesReady,
		ConditionTraitsReady,
	}
}

// Reasons of NovaReady. ReasonTargetClusterUnavailable belongs here too.
const (
	// ReasonNovaResolved is True: the Nova has a release and publishes its compute
	// contract.
	ReasonNovaResolved = "NovaResolved"

	// ReasonNovaNotFound surfaces when the namespace has no Nova of that name.
	ReasonNovaNotFound = "NovaNotFound"

	// ReasonWaitingForInstalledRelease surfaces while the Nova has not installed a
	// release.
	ReasonWaitingForInstalledRelease = "WaitingForInstalledRelease"

	// ReasonComputeConfigNotPublished surfaces while the Nova has not published its
	// compute contract.
	ReasonComputeConfigNotPublished = "ComputeConfigNotPublished"

	// ReasonWaitingForServiceUserSecret surfaces while the password of the Nova's Keystone
	// account is missing.
	ReasonWaitingForServiceUserSecret = "WaitingForServiceUserSecret"

	// ReasonNovaError surfaces when reading any of these fails otherwise.
	ReasonNovaError = "NovaError"
)

// Reasons of NodesReady. ReasonTargetClusterUnavailable belongs here too.
const (
	// ReasonNodesResolved is True: the pool holds every node it selects.
	ReasonNodesResolved = "NodesResolved"

	// ReasonNoMatchingNodes surfaces when no node is selected and none is held; the pass
	// goes on.
	ReasonNoMatchingNodes = "NoMatchingNodes"

	// ReasonNodeConflict surfaces while another pool of the same Nova holds a selected
	// node; it is the reason of the event as well.
	ReasonNodeConflict = "NodeConflict"

	// ReasonNodesForbidden surfaces when the operator may not read Nodes, as on an install
	// confined to one namespace.
	ReasonNodesForbidden = "NodesForbidden"

	// ReasonNodeListError surfaces when reading Nodes fails otherwise.
	ReasonNodeListError = "NodeListError"
)

// Reasons of ConfigReady. ReasonConfigError belongs here too.
const (
	// ReasonConfigRendered is True: the ConfigMap of the current spec exists.
	ReasonConfigRendered = "ConfigRendered"

	// ReasonWaitingForComputeConfig surfaces while the compute contract is not on the
	// pool's cluster.
	ReasonWaitingForComputeConfig = "WaitingForComputeConfig"

	// ReasonComputeConfigIncomplete surfaces while the compute contract lacks a key or its
	// value.
	ReasonComputeConfigIncomplete = "ComputeConfigIncomplete"
)

// Reasons of DaemonSetReady.
const (
	// ReasonDaemonSetReady is True: every scheduled pod is ready and current.
	ReasonDaemonSetReady = "DaemonSetReady"

	// ReasonDaemonSetProgressing surfaces while one is not; the pass goes on.
	ReasonDaemonSetProgressing = "DaemonSetProgressing"

	// ReasonDaemonSetError surfaces when the DaemonSet cannot be written, read or removed.
	ReasonDaemonSetError = "DaemonSetError"
)

// Reasons of AggregatesReady. ReasonComputeAPIError and ReasonNovaComputeListError belong here too.
const (
	// ReasonAggregatesEnsured is True: every required aggregate exists with its zone.
	ReasonAggregatesEnsured = "AggregatesEnsured"

	// ReasonNodesOutsideZoneAggregate is True: an active node is in no aggregate of its
	// zone, which is normal while it is onboarded.
	ReasonNodesOutsideZoneAggregate = "NodesOutsideZoneAggregate"

	// ReasonNodesWithoutZone surfaces while a node has no zone label.
	ReasonNodesWithoutZone = "NodesWithoutZone"

	// ReasonAggregateZoneMismatch surfaces when an aggregate of a wanted name has another
	// availability zone.
	ReasonAggregateZoneMismatch = "AggregateZoneMismatch"

	// ReasonWaitingForAggregate surfaces when somebody else creates the aggregate at the
	// same moment.
	ReasonWaitingForAggregate = "WaitingForAggregate"
)

// Reasons of ServicesReady. ReasonComputeAPIError and ReasonTargetClusterUnavailable belong here too.
const (
	// ReasonServicesUp is True: every node's service is registered, mapped and up.
	ReasonServicesUp = "ServicesUp"

	// ReasonDraining is True: nodes leave the pool and the others are fine.
	ReasonDraining = "Draining"

	// ReasonWaitingForServices surfaces while a node's service is not registered.
	ReasonWaitingForServices = "WaitingForServices"

	// ReasonWaitingForHostMapping surfaces while a registered host is not mapped into the
	// cell.
	ReasonWaitingForHostMapping = "WaitingForHostMapping"

	// ReasonHostDiscoveryError surfaces when the host discovery Job cannot be handled.
	ReasonHostDiscoveryError = "HostDiscoveryError"

	// ReasonServicesDown surfaces while a registered service is down.
	ReasonServicesDown = "ServicesDown"

	// ReasonPodListError surfaces when the pods of a node that is released cannot be
	// listed.
	ReasonPodListError = "PodListError"
)

// Reasons of TraitsReady. ReasonComputeAPIError, ReasonNovaComputeListError and ReasonTargetClusterUnavailable belong here too.
const (
	// ReasonNoTraitsDeclared is True: the spec names no trait and none is left to remove.
	ReasonNoTraitsDeclared = "NoTraitsDeclared"

	// ReasonTraitsApplied is True: every node reports its traits.
	ReasonTraitsApplied = "TraitsApplied"

	// ReasonWaitingForHypervisorOperator is True: the hypervisor operator has not applied
	// the written traits yet.
	ReasonWaitingForHypervisorOperator = "WaitingForHypervisorOperator"

	// ReasonNodesWithCustomTraitsAnnotation surfaces when a node's annotation takes its
	// traits out of the pool's hands.
	ReasonNodesWithCustomTraitsAnnotation = "NodesWithCustomTraitsAnnotation"

	// ReasonNodesWithoutHypervisor surfaces while a node has no Hypervisor.
	ReasonNodesWithoutHypervisor = "NodesWithoutHypervisor"

	// ReasonHypervisorLifecycleDisabled surfaces when a Hypervisor's lifecycle is off, so
	// that nobody applies its traits.
	ReasonHypervisorLifecycleDisabled = "HypervisorLifecycleDisabled"

	// ReasonHypervisorTraitsFailed surfaces when a Hypervisor reports that its traits
	// could not be applied.
	ReasonHypervisorTraitsFailed = "HypervisorTraitsFailed"

	// ReasonHypervisorOperatorNotInstalled surfaces when the cluster does not serve the
	// Hypervisor kind.
	ReasonHypervisorOperatorNotInstalled = "HypervisorOperatorNotInstalled"

	// ReasonHypervisorsForbidden surfaces when the operator may not read or patch
	// Hypervisors.
	ReasonHypervisorsForbidden = "HypervisorsForbidden"

	// ReasonHypervisorError surfaces when reading or patching a Hypervisor fails
	// otherwise.
	ReasonHypervisorError = "HypervisorError"

	// ReasonPlacementEndpointNotFound surfaces when the catalog names no Placement
	// endpoint.
	ReasonPlacementEndpointNotFound = "PlacementEndpointNotFound"

	// ReasonPlacementAPIError surfaces when Placement answers with an error.
	ReasonPlacementAPIError = "PlacementAPIError"
)

// Reasons several conditions of a NovaCompute use.
const (
	// ReasonComputeAPIError surfaces when Keystone or nova answers with an error.
	ReasonComputeAPIError = "ComputeAPIError"

	// ReasonNovaComputeListError surfaces when the other pools of the Nova cannot be
	// listed; an unread list must not look empty.
	ReasonNovaComputeListError = "NovaComputeListError"
)

// Event reasons of a NovaCompute, besides those both kinds use.
const (
	// EventComputeServiceDisabled (Normal): the service of a node that left the pool was
	// disabled.
	EventComputeServiceDisabled = "ComputeServiceDisabled"

	// EventComputeServiceDeleted (Normal): the service of an empty node was deleted.
	EventComputeServiceDeleted = "ComputeServiceDeleted"

	// EventAggregateCreated (Normal): a host aggregate was created.
	EventAggregateCreated = "AggregateCreated"

	// EventAggregateDeleted (Normal): a host aggregate no pool needs was deleted.
	EventAggregateDeleted = "AggregateDeleted"

	// EventAggregateKept (Warning): an empty host aggregate stays, because it carries
	// metadata of somebody else.
	EventAggregateKept = "AggregateKept"

	// EventNodeConflict (Warning): another pool holds a selected node.
	EventNodeConflict = "NodeConflict"

	// EventHostDiscoveryStarted (Normal): a Job maps new hosts into the cell.
	EventHostDiscoveryStarted = "HostDiscoveryStarted"

	// EventHostDiscoveryFailed (Warning): a failed Job is replaced.
	EventHostDiscoveryFailed = "HostDiscoveryFailed"

	// EventTraitCreated (Normal): a trait was created in Placement.
	EventTraitCreated = "TraitCreated"

	// EventTraitDeleted (Normal): a trait the pool had created was deleted.
	EventTraitDeleted = "TraitDeleted"

	// EventTraitKept (Warning): a trait the pool had created stays, because it is in use
	// or another pool needs it.
	EventTraitKept = "TraitKept"

	// EventComputeConfigMirrorReaped (Normal): a copy of the compute contract no pool uses
	// any more was deleted.
	EventComputeConfigMirrorReaped = "ComputeConfigMirrorReaped"
)

// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Condition types both kinds carry.
const (
	// ConditionReady is the aggregate: True exactly when every sub-condition is True.
	ConditionReady = "Ready"

	// ConditionVPAReady tells whether the VerticalPodAutoscalers stand as wanted.
	ConditionVPAReady = "VPAReady"

	// ConditionExtraConfigHealthy tells whether spec.extraConfig leaves the operator's
	// own keys alone. It stays outside the aggregate.
	ConditionExtraConfigHealthy = "ExtraConfigHealthy"

	// ConditionStalled is True while a sub-condition needs a person, with its reason and
	// message: nothing that is under way makes the resource Ready. It stays outside the
	// aggregate, and is how tools that wait for a resource tell a failure from a wait. A
	// wait that the pass ended with hides what is behind it.
	ConditionStalled = "Stalled"
)

// Reasons both kinds use.
const (
	// ReasonAllReady is True on Ready: every sub-condition is True.
	ReasonAllReady = "AllReady"

	// ReasonNotAllReady is False on Ready: at least one sub-condition is not True.
	ReasonNotAllReady = "NotAllReady"

	// ReasonDeletionProtected is True on Stalled: the resource was deleted, and
	// spec.deletionProtection keeps it.
	ReasonDeletionProtected = "DeletionProtected"

	// ReasonNotStalled is False on Stalled: no sub-condition needs a person.
	ReasonNotStalled = "NotStalled"

	// ReasonNoOwnedKeysOverridden is True on ExtraConfigHealthy.
	ReasonNoOwnedKeysOverridden = "NoOwnedKeysOverridden"

	// ReasonOwnedKeysOverridden is False on ExtraConfigHealthy: extraConfig sets a key
	// the operator renders, and the value is honoured.
	ReasonOwnedKeysOverridden = "OwnedKeysOverridden"

	// ReasonTargetClusterUnavailable surfaces while the cluster a targetClusterRef names
	// does not resolve.
	ReasonTargetClusterUnavailable = "TargetClusterUnavailable"

	// ReasonConfigError surfaces when a configuration cannot be rendered or written.
	ReasonConfigError = "ConfigError"

	// ReasonApplyError surfaces on the condition of a step when one of its objects cannot
	// be made: the API server refused it, another owner holds its name, or the spec asks
	// for what must not exist. The message names object and remedy.
	ReasonApplyError = "ApplyError"

	// ReasonVPAReady is True on VPAReady: an autoscaler exists per opted-in workload.
	ReasonVPAReady = "VPAReady"

	// ReasonVPANotRequired is True on VPAReady: no workload opts in.
	ReasonVPANotRequired = "VPANotRequired"

	// ReasonVPANotInstalled surfaces when a workload opts in and the cluster does not
	// serve the VerticalPodAutoscaler kind.
	ReasonVPANotInstalled = "VPANotInstalled"

	// ReasonVPAError surfaces when an autoscaler cannot be written or removed.
	ReasonVPAError = "VPAError"

	// ReasonCapabilityProbeFailed surfaces when asking a cluster for the optional kinds
	// it serves fails.
	ReasonCapabilityProbeFailed = "CapabilityProbeFailed"
)

// Event reasons both kinds use.
const (
	// EventExtraConfigOwnedKeyOverride (Warning): extraConfig overrides an owned key, or
	// overrides others than before.
	EventExtraConfigOwnedKeyOverride = "ExtraConfigOwnedKeyOverride"

	// EventDeletionProtected (Warning): the resource was deleted, and
	// spec.deletionProtection keeps it.
	EventDeletionProtected = "DeletionProtected"

	// EventDriftCorrected (Normal): a child, or a field of it that the operator owns, had
	// been changed or deleted and was put right.
	EventDriftCorrected = "DriftCorrected"

	// EventFieldConflict (Warning): another manager claims a field the operator owns; it
	// was taken back.
	EventFieldConflict = "FieldConflict"

	// EventRemoteChildrenAbandoned (Warning): the target cluster stayed unresolvable past
	// the window and the finalizers are released without a cleanup.
	EventRemoteChildrenAbandoned = "RemoteChildrenAbandoned"
)

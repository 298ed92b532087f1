package nova

import "github.com/c5c3/nova-operator/api/v1alpha1"

// placed reports whether the children live on a target cluster.
func placed(n *v1alpha1.Nova) bool { return n.Spec.TargetClusterRef != nil }

// askedAgain ends the remedy for a kind that is not served: what the operator's own
// cluster serves is asked at start, what a target cluster serves in every pass.
func askedAgain(n *v1alpha1.Nova) string {
	if placed(n) {
		return "; it is looked for again in every pass"
	}
	return " and restart the operator"
}

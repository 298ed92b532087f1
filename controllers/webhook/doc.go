// Package webhook is the admission server of both kinds: it stores the defaults of a
// Nova and refuses what ValidateNova and ValidateNovaCompute refuse.
//
// Input: one admission request. Output: a patch that holds the defaults and nothing
// else, or every violation in one Invalid answer with the warnings for the author. The
// rules are api/v1alpha1's, the same as in `nova-operator validate`; what is added here
// is what needs a cluster, read past the cache: that a priority class exists, and which
// release the Nova of a node pool is at. Nothing is ever written.
//
// A request that only takes metadata off a resource that is being deleted passes
// untouched, whatever its spec says: it removes a finalizer. No deletion is registered,
// because with failurePolicy Fail an operator that is down would block every one.
//
// The API server asks the mutating webhooks, then the schema, then the validating ones.
// A field of the wrong type is therefore left to the schema, which names its path.
//
//go:generate go tool -modfile=../../tools/go.mod controller-gen webhook paths=. output:webhook:dir=../../kustomize/webhook
//go:generate go tool -modfile=../../tools/go.mod controller-gen rbac:roleName=nova-operator-webhook paths=. output:rbac:dir=../../kustomize/webhook/standalone
package webhook

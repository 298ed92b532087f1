// Package nova is what the shell of package pass needs for the Nova kind: what a decision
// about a Nova reads, and what wakes it. It holds no rule about what should exist: that is
// render/nova.
//
//go:generate go tool -modfile=../../tools/go.mod controller-gen rbac:roleName=nova-operator paths=../... output:rbac:dir=../../kustomize/rbac
package nova

// Package nova reconciles the Nova kind: observe, decide, apply, record.
//
// It holds no rule about what should exist: that is render/nova. It reads through
// caches, writes children only through apply, writes status once per pass and only
// when it changed, and asks the API of a Nova for its health.
//
//go:generate go tool -modfile=../../tools/go.mod controller-gen rbac:roleName=nova-operator paths=../... output:rbac:dir=../../kustomize/rbac
package nova

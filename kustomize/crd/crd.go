// Package crd embeds the generated definitions of both kinds, so that manifests can
// be checked without a cluster.
package crd

import "embed"

// Files holds the definitions, one file each, and the kustomization that lists them.
//
//go:embed *.yaml
var Files embed.FS

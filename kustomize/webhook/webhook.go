// Package webhook embeds the generated registration of the admission server, so that it
// can be put up without cert-manager.
package webhook

import _ "embed"

// Manifests holds the MutatingWebhookConfiguration and the
// ValidatingWebhookConfiguration, in YAML.
//
//go:embed manifests.yaml
var Manifests []byte

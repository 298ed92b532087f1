// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
)

// DefaultsPatch sets the defaults of a resource and returns what that changes, as a JSON
// merge patch for the text the resource was read from: a new encoding of the resource would
// also rewrite quantities and extraConfig in Go's notation.
func DefaultsPatch(resource any, defaults func()) ([]byte, error) {
	before, err := json.Marshal(resource)
	if err != nil {
		return nil, err
	}
	defaults()
	after, err := json.Marshal(resource)
	if err != nil {
		return nil, err
	}
	return jsonmergepatch.CreateThreeWayJSONMergePatch(before, after, before)
}

// SPDX-License-Identifier: Apache-2.0

package option

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// List holds the options of one release.
type List struct {
	Release string `json:"release"`
	// Sections is section → option name → option. Names with "*" and names in angle
	// brackets are no real sections: Dynamic and References lead to them.
	Sections map[string]map[string]Option `json:"sections"`
	// Dynamic are the section names with a trailing "*": every section of that prefix
	// has the options listed under the name.
	Dynamic []string `json:"dynamicSections"`
	// References is option → entry of Sections: the value of such an option names a
	// section that has the options listed there.
	References map[string]string `json:"sectionReferences"`
}

// Decode reads a list and refuses unknown fields and types, and patterns that do not
// compile.
func Decode(data []byte) (*List, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	list := &List{}
	if err := decoder.Decode(list); err != nil {
		return nil, err
	}
	for section, options := range list.Sections {
		for name, option := range options {
			for o := &option; o != nil; o = o.Items {
				if checkers[o.Type] == nil {
					return nil, fmt.Errorf("[%s] %s: unknown type %q", section, name, o.Type)
				}
			}
		}
	}
	return list, nil
}

// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"cmp"
	"fmt"
	"strings"
)

// Schema is one database schema of a Nova, and where it is.
type Schema struct {
	// Path is the field that names it; cell0's schema is derived from that of the cell.
	Path string
	// Managed tells a schema on a MariaDB of the namespace from one on a server that
	// somebody else runs.
	Managed bool
	// Server is the name of that MariaDB, or host:port.
	Server string
	// Name of the schema.
	Name string
}

// String is the schema and its server, in words.
func (s Schema) String() string {
	if s.Managed {
		return fmt.Sprintf("schema %s on MariaDB %s", s.Name, s.Server)
	}
	return fmt.Sprintf("schema %s on %s", s.Name, s.Server)
}

// Schemas are those of a Nova: the API's, the cell's, cell0's.
func (n *Nova) Schemas() []Schema {
	at := func(path string, d *DatabaseSpec, name string) Schema {
		s := Schema{Path: "spec." + path + ".database", Managed: d.Managed(), Name: name}
		if s.Managed {
			s.Server = d.ClusterRef.Name
		} else {
			s.Server = fmt.Sprintf("%s:%d", strings.ToLower(d.Host), cmp.Or(d.Port, DefaultDatabasePort))
		}
		return s
	}
	return []Schema{
		at("apiDatabase", &n.Spec.APIDatabase, n.Spec.APIDatabase.Database),
		at("database", &n.Spec.Database, n.Spec.Database.Database),
		at("database", &n.Spec.Database, n.Spec.Database.Database+"_cell0"),
	}
}

// SharedSchemas are the schemas of a Nova that another one names as well. A managed server
// is one of the namespace, on the cluster of the children.
func (n *Nova) SharedSchemas(other *Nova) (shared []Schema) {
	apart := n.Namespace != other.Namespace || n.TargetCluster() != other.TargetCluster()
	for _, mine := range n.Schemas() {
		for _, theirs := range other.Schemas() {
			if mine.Managed == theirs.Managed && mine.Server == theirs.Server && mine.Name == theirs.Name && (!mine.Managed || !apart) {
				shared = append(shared, mine)
				break
			}
		}
	}
	return shared
}

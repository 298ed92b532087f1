// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"fmt"
	"strings"

	"github.com/c5c3/nova-operator/api/v1alpha1"
)

// novaBacking are the name, the image, the databases, the cache and the bus.
var novaBacking = map[string]NovaCase{
	"the smallest resource is valid": {
		Change: func(*v1alpha1.Nova) {},
	},
	"a name beyond 41 characters": {
		Change: func(n *v1alpha1.Nova) { n.Name = strings.Repeat("n", 42) },
		Want:   []string{`metadata.name: name must be at most 41 characters: the db-archive CronJob appends "-db-archive" and Kubernetes caps CronJob names at 52 characters`},
	},
	"a name of 41 characters": {
		Change: func(n *v1alpha1.Nova) { n.Name = strings.Repeat("n", 41) },
	},
	"a name that no Service may have": {
		Change: func(n *v1alpha1.Nova) { n.Name = "nova.example" },
		Want:   []string{"metadata.name: name must be one a Service accepts: a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"},
	},
	"a name that ends like the objects of cell0": {
		Change: func(n *v1alpha1.Nova) { n.Name = "a-nova-cell0" },
		Want:   []string{`metadata.name: name must not end in "-cell0": a Nova in this namespace names its cell0 MariaDB Database and Grant <name>-<database>-cell0, which can be "a-nova-cell0", so the two CRs would share and delete each other's objects`},
	},
	"an image without a repository": {
		Change: func(n *v1alpha1.Nova) { n.Spec.Image.Repository = "" },
		Want:   []string{"spec.image.repository: repository must be set"},
	},
	"an image with tag and digest": {
		Change: func(n *v1alpha1.Nova) { n.Spec.Image.Digest = "sha256:" + strings.Repeat("0", 64) },
		Want:   []string{"spec.image: exactly one of image.tag or image.digest must be set"},
	},
	"an image with neither tag nor digest": {
		Change: func(n *v1alpha1.Nova) { n.Spec.Image.Tag = "" },
		Want:   []string{"spec.image: exactly one of image.tag or image.digest must be set"},
	},
	"a database with cluster and host": {
		Change: func(n *v1alpha1.Nova) { n.Spec.Database.Host = "db" },
		Want:   []string{"spec.database: exactly one of clusterRef or host must be set"},
	},
	"a database with neither": {
		Change: func(n *v1alpha1.Nova) { n.Spec.APIDatabase.ClusterRef = nil },
		Want:   []string{"spec.apiDatabase: exactly one of clusterRef or host must be set"},
	},
	"a database cluster without a name": {
		Change: func(n *v1alpha1.Nova) { n.Spec.APIDatabase.ClusterRef.Name = "" },
		Want:   []string{"spec.apiDatabase.clusterRef.name: clusterRef.name must be set"},
	},
	"dynamic credentials of a foreign database": {
		Change: func(n *v1alpha1.Nova) {
			n.Spec.Database.ClusterRef, n.Spec.Database.Host = nil, "db"
			n.Spec.Database.CredentialsMode, n.Spec.APIDatabase.CredentialsMode = v1alpha1.CredentialsModeDynamic, v1alpha1.CredentialsModeDynamic
		},
		Want: []string{"spec.database: credentialsMode Dynamic requires clusterRef (managed mode)"},
	},
	"two modes of credentials": {
		Change: func(n *v1alpha1.Nova) { n.Spec.Database.CredentialsMode = v1alpha1.CredentialsModeDynamic },
		Want:   []string{"spec: apiDatabase and database must use the same credentialsMode"},
	},
	"an empty mode of credentials is Static": {
		Change: func(n *v1alpha1.Nova) { n.Spec.Database.CredentialsMode = v1alpha1.CredentialsModeStatic },
	},
	"one schema for both databases": {
		Change: func(n *v1alpha1.Nova) { n.Spec.APIDatabase.Database = "nova" },
		Want:   []string{"spec: apiDatabase and database must name different schemas"},
	},
	"the API database is cell0's": {
		Change: func(n *v1alpha1.Nova) { n.Spec.APIDatabase.Database = "nova_cell0" },
		Want:   []string{"spec: apiDatabase must not name the cell0 schema derived from database"},
	},
	"a cell schema beyond 58 characters": {
		Change: func(n *v1alpha1.Nova) { n.Spec.Database.Database = strings.Repeat("n", 59) },
		Want:   []string{"spec.database: database.database must be at most 58 characters: cell0 is provisioned as <database>_cell0 under the 64-character schema limit"},
	},
	"a cache with cluster and servers": {
		Change: func(n *v1alpha1.Nova) { n.Spec.Cache.Servers = []string{"a:11211"} },
		Want:   []string{"spec.cache: exactly one of clusterRef or servers must be set"},
	},
	"a cache with neither": {
		Change: func(n *v1alpha1.Nova) { n.Spec.Cache.ClusterRef = nil },
		Want:   []string{"spec.cache: exactly one of clusterRef or servers must be set"},
	},
	"line breaks in the cache": {
		Change: func(n *v1alpha1.Nova) {
			n.Spec.Cache = v1alpha1.CacheSpec{Servers: []string{"a:11211", "b\n"}, Backend: "x\ry"}
		},
		Want: []string{"spec.cache.backend: " + inServiceConfig, "spec.cache.servers[1]: " + inServiceConfig},
	},
	"a line break in the cache's cluster": {
		Change: func(n *v1alpha1.Nova) { n.Spec.Cache.ClusterRef.Name = "a\nb" },
		Want:   []string{"spec.cache.clusterRef.name: " + inServiceConfig},
	},
	"a bus with cluster and Secret": {
		Change: func(n *v1alpha1.Nova) { n.Spec.Messaging.SecretRef = &v1alpha1.SecretRefSpec{Name: "bus"} },
		Want:   []string{"spec.messaging: exactly one of clusterRef or secretRef must be set"},
	},
	"a bus with neither": {
		Change: func(n *v1alpha1.Nova) { n.Spec.Messaging.ClusterRef = nil },
		Want:   []string{"spec.messaging: exactly one of clusterRef or secretRef must be set"},
	},
	"a bus with TLS and no CA bundle": {
		Change: func(n *v1alpha1.Nova) { n.Spec.Messaging.TLS = &v1alpha1.MessagingTLSSpec{} },
		Want:   []string{"spec.messaging.tls.caBundleSecretRef.name: caBundleSecretRef.name must be set when spec.messaging.tls is configured"},
	},
}

// novaSuffixes are names that end like a child of another Nova.
func novaSuffixes() map[string]NovaCase {
	cases := map[string]NovaCase{}
	for _, suffix := range []string{"-api", "-metadata", "-scheduler", "-conductor", "-novncproxy", "-console"} {
		cases["a name that ends in "+suffix] = NovaCase{
			Change: func(n *v1alpha1.Nova) { n.Name = "a" + suffix },
			Want: []string{fmt.Sprintf(
				"metadata.name: name must not end in %q: a Nova named \"a\" in this namespace names one of its own children %q, so the two CRs would share and delete each other's objects",
				suffix, "a"+suffix)},
		}
	}
	return cases
}

// SPDX-License-Identifier: Apache-2.0

package apitest

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/c5c3/nova-operator/api/v1alpha1"
)

var gone = metav1.NewTime(time.Unix(1, 0))

// NovaUpdate are changes of a stored Nova.
var NovaUpdate = map[string]NovaCase{
	"nothing changed": {},
	"what may change": {
		Change: func(n *v1alpha1.Nova) {
			n.Spec.Database.ClusterRef.Name, n.Spec.Database.SecretRef.Name = "db2", "other"
			n.Spec.Database.CredentialsMode, n.Spec.APIDatabase.CredentialsMode = v1alpha1.CredentialsModeDynamic, v1alpha1.CredentialsModeDynamic
			n.Spec.Image.Tag = "2026.1-p1"
		},
	},
	"a name an older operator admitted": {
		Old:    func(n *v1alpha1.Nova) { n.Name = strings.Repeat("n", 60) + "-api" },
		Change: func(n *v1alpha1.Nova) { n.Name = strings.Repeat("n", 60) + "-api" },
	},
	"other schemas": {
		Change: func(n *v1alpha1.Nova) { n.Spec.Database.Database, n.Spec.APIDatabase.Database = "a", "b" },
		Want: []string{
			"spec.apiDatabase: apiDatabase.database is immutable: the schema holds the cell map and every instance mapping",
			"spec.database: database.database is immutable: the cell mappings store the schema name",
		},
	},
	"other modes of the databases": {
		Change: func(n *v1alpha1.Nova) {
			n.Spec.Database.ClusterRef, n.Spec.Database.Host = nil, "a"
			n.Spec.APIDatabase.ClusterRef, n.Spec.APIDatabase.Host = nil, "a"
		},
		Want: []string{
			"spec.apiDatabase: apiDatabase mode (managed clusterRef vs brownfield host) is immutable",
			"spec.database: database mode (managed clusterRef vs brownfield host) is immutable",
		},
	},
	"a target cluster added": {
		Change: func(n *v1alpha1.Nova) { n.Spec.TargetClusterRef = &v1alpha1.TargetClusterRefSpec{Name: "a"} },
		Want:   []string{"spec.targetClusterRef: targetClusterRef is immutable (adding or removing it after creation is not permitted)"},
	},
	"a target cluster removed": {
		Old:  func(n *v1alpha1.Nova) { n.Spec.TargetClusterRef = &v1alpha1.TargetClusterRefSpec{Name: "a"} },
		Want: []string{"spec.targetClusterRef: targetClusterRef is immutable (adding or removing it after creation is not permitted)"},
	},
	"another target cluster": {
		Old:    func(n *v1alpha1.Nova) { n.Spec.TargetClusterRef = &v1alpha1.TargetClusterRefSpec{Name: "a"} },
		Change: func(n *v1alpha1.Nova) { n.Spec.TargetClusterRef = &v1alpha1.TargetClusterRefSpec{Name: "b"} },
		Want:   []string{"spec.targetClusterRef.name: targetClusterRef is immutable (the children already exist on the previously named cluster)"},
	},
	"a finalizer removed from an invalid resource that is being deleted": {
		Old:    func(n *v1alpha1.Nova) { n.Spec.KeystoneEndpoint, n.DeletionTimestamp = "", &gone },
		Change: func(n *v1alpha1.Nova) { n.Spec.KeystoneEndpoint, n.DeletionTimestamp, n.Finalizers = "", &gone, nil },
	},
	"an invalid change of a resource that is being deleted": {
		Old:    func(n *v1alpha1.Nova) { n.DeletionTimestamp = &gone },
		Change: func(n *v1alpha1.Nova) { n.Spec.KeystoneEndpoint, n.DeletionTimestamp = "", &gone },
		Want:   []string{"spec.keystoneEndpoint: keystoneEndpoint must be set"},
	},
	"an option that is unknown and was there before": {
		Old: func(n *v1alpha1.Nova) {
			n.Spec.ExtraConfig = v1alpha1.ExtraConfig{"libvirt": {"nope": v1alpha1.SingleValue("x")}}
		},
		Change: func(n *v1alpha1.Nova) {
			n.Spec.ExtraConfig = v1alpha1.ExtraConfig{"libvirt": {"nope": v1alpha1.SingleValue("x")}}
		},
	},
	"an option that was removed in the new release": {
		Old: func(n *v1alpha1.Nova) {
			n.Spec.OpenStackRelease = "2025.2"
			n.Spec.ExtraConfig = v1alpha1.ExtraConfig{"DEFAULT": {"watch_log_file": v1alpha1.SingleValue("true")}}
		},
		Change: func(n *v1alpha1.Nova) {
			n.Spec.ExtraConfig = v1alpha1.ExtraConfig{"DEFAULT": {"watch_log_file": v1alpha1.SingleValue("true")}}
		},
		Want: []string{"spec.extraConfig[DEFAULT][watch_log_file]: no such option in the nova 2026.1 option catalog"},
	},
	"a rejected key that was there before": {
		Old: func(n *v1alpha1.Nova) {
			n.Spec.ExtraConfig = v1alpha1.ExtraConfig{"DEFAULT": {"web": v1alpha1.SingleValue("x")}}
		},
		Change: func(n *v1alpha1.Nova) {
			n.Spec.ExtraConfig = v1alpha1.ExtraConfig{"DEFAULT": {"web": v1alpha1.SingleValue("x")}}
		},
		Want: []string{"spec.extraConfig[DEFAULT][web]: web is managed via operator-computed and must not be set in extraConfig (another path gives a blank console page without an error)"},
	},
	"a deprecated option": {
		Change: func(n *v1alpha1.Nova) {
			n.Spec.ExtraConfig = v1alpha1.ExtraConfig{"DEFAULT": {"logfile": v1alpha1.SingleValue("x")}}
		},
		Warnings: []string{"spec.extraConfig [DEFAULT] logfile: deprecated option in nova 2026.1, replaced by [DEFAULT] log_file"},
	},
	"a window removed": {
		Old:      keep(30),
		Warnings: []string{"spec.dbArchive.retentionDays removed (was 30): the next archive run moves every soft-deleted row into the shadow tables, including the ones deleted today"},
	},
	"a window lowered": {
		Old:      keep(30),
		Change:   keep(7),
		Warnings: []string{"spec.dbArchive.retentionDays reduced 30 to 7: the next archive run also moves the rows soft-deleted between 7 and 30 days ago"},
	},
	"a window raised":               {Old: keep(7), Change: keep(30)},
	"a window where there was none": {Change: keep(30)},
}

func keep(days int32) func(*v1alpha1.Nova) {
	return func(n *v1alpha1.Nova) { n.Spec.DBArchive = &v1alpha1.DBArchiveSpec{RetentionDays: &days} }
}

package nova

import (
	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
)

// ObservedChildren are the children to read before a decision.
func ObservedChildren(n *v1alpha1.Nova) []render.Key {
	var keys []render.Key
	for i := range index.Children {
		if c := &index.Children[i]; liveKinds[c.Kind].absorb != nil {
			keys = append(keys, c.Key(n))
		}
	}
	return keys
}

// ConfigBase is the label value that groups the generations of the configuration.
func ConfigBase(n *v1alpha1.Nova) string { return n.Name + suffixConfig }

// DatabaseNames are the names of the Database objects of a Nova.
func DatabaseNames(n *v1alpha1.Nova) (names []string) {
	for i := range index.Children {
		if c := &index.Children[i]; c.Kind == render.KindDatabase {
			names = append(names, c.Name(n))
		}
	}
	return names
}

// ManagedSchemas counts the schemas of a Nova for which there is a Database object.
func ManagedSchemas(n *v1alpha1.Nova) (count int) {
	for _, s := range n.Schemas() {
		if s.Managed {
			count++
		}
	}
	return count
}

// PodLabels select every pod of a Nova, and the workloads that make them.
func PodLabels(n *v1alpha1.Nova) map[string]string { return labelsOf(n).Pods() }

// ArchiveName is the name of the archive CronJob.
func ArchiveName(n *v1alpha1.Nova) string { return archiveName(n) }

// ArchiveLabels select the runs of the archive.
func ArchiveLabels(n *v1alpha1.Nova) map[string]string {
	return labelsOf(n).Component(v1alpha1.ComponentDBArchive)
}

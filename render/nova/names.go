package nova

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render/workload"
)

// Suffixes of the children that are named after their Nova.
const (
	suffixMetadata      = "-metadata"
	suffixScheduler     = "-scheduler"
	suffixConductor     = "-conductor"
	suffixConsoleProxy  = "-novncproxy"
	suffixConsoleRoute  = "-console"
	suffixConfig        = "-config"
	suffixAPIConnection = "-api-db-connection"
	suffixConnection    = "-db-connection"
	suffixTransport     = "-transport-url"
	suffixServiceUser   = "-service-user-env"
	suffixMetadataKey   = "-metadata-secret-env"
	suffixContract      = "-compute-config"
	suffixRemote        = "-remote-compute-config"
	suffixDBInspect     = "-db-inspect"
	suffixDBSync        = "-db-sync"
	suffixDBExpand      = "-db-expand"
	suffixDBMigrate     = "-db-migrate"
	suffixDBContract    = "-db-contract"
	suffixDBArchive     = "-db-archive"
	suffixDiscover      = "-discover-hosts"
	suffixAPIDatabase   = "-api"
)

// Component label values of the derived credentials.
const (
	componentServiceUser    = "service-user"
	componentMetadataSecret = "metadata-secret"
)

// Limits of names that Kubernetes sets.
const (
	maxCronJobName = 52
	maxLabelValue  = 63
)

// suffixed names a child after its Nova.
func suffixed(suffix string) func(*v1alpha1.Nova) string {
	return func(n *v1alpha1.Nova) string { return n.Name + suffix }
}

// instanceName is the name of the API Deployment and of everything that carries the
// Nova's own name.
func instanceName(n *v1alpha1.Nova) string { return n.Name }

// archiveName is the CronJob's name. A Nova admitted before the length rule gets a
// shortened name with a digest.
func archiveName(n *v1alpha1.Nova) string {
	return shortened(n.Name, suffixDBArchive, maxCronJobName)
}

// DiscoverHostsName is the name of the host discovery Job all pools of a Nova share.
func DiscoverHostsName(n *v1alpha1.Nova) string {
	return shortened(n.Name, suffixDiscover, maxLabelValue)
}

// shortened appends the suffix to a name, or to its head and a digest where the sum
// is longer than limit.
func shortened(name, suffix string, limit int) string {
	if len(name)+len(suffix) <= limit {
		return name + suffix
	}
	const digest = 8
	sum := sha256.Sum256([]byte(name))
	kept := strings.TrimRight(name[:limit-len(suffix)-digest-1], "-.")
	return fmt.Sprintf("%s-%s%s", kept, hex.EncodeToString(sum[:])[:digest], suffix)
}

// cell0Schema is the schema of the holding pen, beside the cell's own.
func cell0Schema(n *v1alpha1.Nova) string { return n.Spec.Database.Database + "_cell0" }

// cell0Name is the name of cell0's MariaDB objects.
func cell0Name(n *v1alpha1.Nova) string {
	return n.Name + "-" + strings.ReplaceAll(strings.ToLower(cell0Schema(n)), "_", "-")
}

// serviceHost is the cluster-internal name of a Service of this Nova.
func serviceHost(n *v1alpha1.Nova, service string) string {
	return service + "." + n.Namespace + ".svc.cluster.local"
}

// labelsOf are the labels of the children.
func labelsOf(n *v1alpha1.Nova) workload.Labels {
	return workload.Labels{App: v1alpha1.AppNova, Instance: n.Name, ManagedBy: v1alpha1.ManagedByNova}
}

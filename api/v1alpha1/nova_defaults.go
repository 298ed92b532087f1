// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Values Default stores.
const (
	DefaultReplicas          int32 = 3
	DefaultRoleReplicas      int32 = 1
	DefaultWorkers           int32 = 2
	DefaultUWSGIProcesses    int32 = 2
	DefaultUWSGIThreads      int32 = 1
	DefaultCacheBackend            = "dogpile.cache.pymemcache"
	DefaultLoggingLevel            = "INFO"
	DefaultServiceUsername         = "nova"
	DefaultServiceProject          = "service"
	DefaultServiceDomain           = "Default"
	DefaultPasswordKey             = "password"
	DefaultSharedSecretKey         = "shared_secret"
	DefaultTransportURLKey         = "transport_url"
	DefaultMessagingCAKey          = "ca.crt"
	DefaultSecretStoreName         = "openbao-cluster-store"
	DefaultArchiveSchedule         = "@daily"
	DefaultArchiveMaxRows    int32 = 1000
	DefaultArchiveSleep      int32 = 1
	DefaultDatabasePort      int32 = 3306
	DefaultPreStopSleep      int64 = 5
	DefaultTerminationGrace  int64 = 30
	DefaultComputeRepository       = "ghcr.io/c5c3/nova-compute"
)

// Default stores what the mutating webhook stores. It is idempotent and leaves alone
// what is resolved at render time: dbArchive, every resources block,
// keystonePublicEndpoint, secretStoreRef and every terminationGracePeriodSeconds, which
// follows nova's graceful shutdown time instead of being frozen in the resource.
func (n *Nova) Default() {
	n.Spec.defaultDeployments()
	setDefault(&n.Spec.Scheduler.Workers, DefaultWorkers)
	setDefault(&n.Spec.Conductor.Workers, DefaultWorkers)
	n.Spec.API.UWSGI = n.Spec.API.UWSGI.withDefaults()
	n.Spec.Metadata.UWSGI = n.Spec.Metadata.UWSGI.withDefaults()
	setDefault(&n.Spec.ConsoleProxy.Enabled, true)
	fill(&n.Spec.Cache.Backend, DefaultCacheBackend)
	n.Spec.Logging = n.Spec.Logging.withDefaults()
	n.Spec.ServiceUser.setDefaults()
	fill(&n.Spec.Metadata.SharedSecretRef.Key, DefaultSharedSecretKey)
	if n.Spec.RemoteCompute != nil {
		fill(&n.Spec.RemoteCompute.TransportURLSecretRef.Key, DefaultTransportURLKey)
	}
	for _, database := range []*DatabaseSpec{&n.Spec.APIDatabase, &n.Spec.Database} {
		if database.TLS != nil {
			fill(&database.TLS.Mode, DatabaseTLSRequire)
		}
	}
}

// defaultDeployments sets the replicas. The default of one reaches absent blocks only:
// in a block that is present the API server has already stored three.
func (s *NovaSpec) defaultDeployments() {
	fill(&s.Metadata.Deployment.Replicas, DefaultRoleReplicas)
	fill(&s.Scheduler.Deployment.Replicas, DefaultRoleReplicas)
	fill(&s.Conductor.Deployment.Replicas, DefaultRoleReplicas)
	fill(&s.API.Deployment.Replicas, DefaultReplicas)
	if !s.ConsoleProxy.IsEnabled() {
		s.ConsoleProxy.Deployment = nil
		return
	}
	if s.ConsoleProxy.Deployment == nil {
		s.ConsoleProxy.Deployment = &DeploymentSpec{Replicas: DefaultRoleReplicas}
	}
	fill(&s.ConsoleProxy.Deployment.Replicas, DefaultReplicas)
}

func (u *UWSGISpec) withDefaults() *UWSGISpec {
	if u == nil {
		u = &UWSGISpec{}
	}
	fill(&u.Processes, DefaultUWSGIProcesses)
	fill(&u.Threads, DefaultUWSGIThreads)
	setDefault(&u.HTTPKeepAlive, true)
	return u
}

func (l *LoggingSpec) withDefaults() *LoggingSpec {
	if l == nil {
		l = &LoggingSpec{}
	}
	fill(&l.Format, LoggingFormatText)
	fill(&l.Level, DefaultLoggingLevel)
	setDefault(&l.Debug, false)
	return l
}

func (u *ServiceUserSpec) setDefaults() {
	fill(&u.Username, DefaultServiceUsername)
	fill(&u.ProjectName, DefaultServiceProject)
	fill(&u.UserDomainName, DefaultServiceDomain)
	fill(&u.ProjectDomainName, DefaultServiceDomain)
	fill(&u.SecretRef.Key, DefaultPasswordKey)
}

// fill sets a field that holds its zero value.
func fill[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// setDefault sets a pointer that is nil.
func setDefault[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

package nova

import (
	"strconv"

	"github.com/c5c3/nova-operator/api/v1alpha1"
)

// Ports of the services.
const (
	portAPI      = 8774
	portMetadata = 8775
	portConsole  = 6080
)

// role is one of the five workloads. What differs between them stands here; the
// Deployment is built once, from a row.
type role struct {
	// component is the label value and, for the bus roles, the container's name.
	component string
	container string
	// words name it in conditions.
	words string
	name  func(*v1alpha1.Nova) string
	// deployment is the role's block of the spec.
	deployment func(*v1alpha1.Nova) *v1alpha1.DeploymentSpec
	// size is processes and threads, which the memory figure and the connection
	// limits follow.
	size func(*v1alpha1.Nova) (processes, threads int32)
	// argv of the container; no shell.
	argv func(*v1alpha1.Nova) []string
	// port the role serves on, 0 for none.
	port int32
	// probes the role has.
	probes probeSet
	// overlay is the key of the ConfigMap it reads besides nova.conf; mounted in the
	// main directory when sameDir, in a directory of its own otherwise.
	overlay string
	sameDir bool
	// env beyond what every role gets.
	env envSet
	// followsRelease rolls the role once more when an upgrade completes. The API
	// rolled last and holds the new versions already.
	followsRelease bool
	waiting, ready string
}

// probeSet says how the kubelet asks a role.
type probeSet struct {
	// path of the HTTP readiness probe; empty asks for the broker connection instead.
	path string
	// full adds startup and liveness probes. A console proxy has none: a restart cuts
	// every open console.
	full bool
}

// envSet says which variables a role gets besides the common ones.
type envSet struct {
	apiDatabase, wsgi, metadataSecret, brokerPort bool
}

var (
	api = role{
		component: v1alpha1.ComponentAPI, container: "nova-api", words: "API", name: instanceName,
		deployment: func(n *v1alpha1.Nova) *v1alpha1.DeploymentSpec { return &n.Spec.API.Deployment },
		size:       uwsgiSize(func(n *v1alpha1.Nova) *v1alpha1.UWSGISpec { return n.Spec.API.UWSGI }),
		argv: func(n *v1alpha1.Nova) []string {
			return uwsgiArgv(n.Spec.API.UWSGI, portAPI, "nova.wsgi.osapi_compute:application")
		},
		port: portAPI, probes: probeSet{path: "/", full: true},
		env:     envSet{apiDatabase: true, wsgi: true},
		waiting: v1alpha1.ReasonWaitingForDeployment, ready: v1alpha1.ReasonDeploymentReady,
	}
	metadata = role{
		component: v1alpha1.ComponentMetadata, container: "nova-metadata", words: "metadata API", name: suffixed(suffixMetadata),
		deployment: func(n *v1alpha1.Nova) *v1alpha1.DeploymentSpec { return &n.Spec.Metadata.Deployment },
		size:       uwsgiSize(func(n *v1alpha1.Nova) *v1alpha1.UWSGISpec { return n.Spec.Metadata.UWSGI }),
		argv: func(n *v1alpha1.Nova) []string {
			return uwsgiArgv(n.Spec.Metadata.UWSGI, portMetadata, "nova.wsgi.metadata:application")
		},
		port: portMetadata, probes: probeSet{path: "/", full: true},
		overlay: "metadata.conf", sameDir: true,
		env:            envSet{apiDatabase: true, wsgi: true, metadataSecret: true},
		followsRelease: true,
		waiting:        v1alpha1.ReasonWaitingForMetadata, ready: v1alpha1.ReasonMetadataReady,
	}
	scheduler = role{
		component: v1alpha1.ComponentScheduler, container: "scheduler", words: "scheduler", name: suffixed(suffixScheduler),
		deployment: func(n *v1alpha1.Nova) *v1alpha1.DeploymentSpec { return &n.Spec.Scheduler.Deployment },
		size:       func(n *v1alpha1.Nova) (int32, int32) { return *n.Spec.Scheduler.Workers, 1 },
		argv:       consoleScript("scheduler"), overlay: "scheduler.conf",
		env:            envSet{apiDatabase: true, brokerPort: true},
		followsRelease: true,
		waiting:        v1alpha1.ReasonWaitingForScheduler, ready: v1alpha1.ReasonSchedulerReady,
	}
	conductor = role{
		component: v1alpha1.ComponentConductor, container: "conductor", words: "conductor", name: suffixed(suffixConductor),
		deployment: func(n *v1alpha1.Nova) *v1alpha1.DeploymentSpec { return &n.Spec.Conductor.Deployment },
		size:       func(n *v1alpha1.Nova) (int32, int32) { return *n.Spec.Conductor.Workers, 1 },
		argv:       consoleScript("conductor"), overlay: "conductor.conf",
		env:            envSet{apiDatabase: true, brokerPort: true},
		followsRelease: true,
		waiting:        v1alpha1.ReasonWaitingForConductor, ready: v1alpha1.ReasonConductorReady,
	}
	consoleProxy = role{
		component: v1alpha1.ComponentConsoleProxy, container: "novncproxy", words: "console proxy", name: suffixed(suffixConsoleProxy),
		deployment: func(n *v1alpha1.Nova) *v1alpha1.DeploymentSpec { return n.Spec.ConsoleProxy.Deployment },
		size:       func(*v1alpha1.Nova) (int32, int32) { return 1, 1 },
		argv:       consoleScript("novncproxy"), overlay: "novncproxy.conf",
		port: portConsole, probes: probeSet{path: consolePage},
		followsRelease: true,
		waiting:        v1alpha1.ReasonWaitingForConsoleProxy, ready: v1alpha1.ReasonConsoleProxyReady,
	}
)

// roles lists the five in roll order.
var roles = []*role{&conductor, &scheduler, &metadata, &consoleProxy, &api}

func uwsgiSize(of func(*v1alpha1.Nova) *v1alpha1.UWSGISpec) func(*v1alpha1.Nova) (int32, int32) {
	return func(n *v1alpha1.Nova) (int32, int32) { return of(n).Processes, of(n).Threads }
}

// consoleScript is the argv of a role nova installs as a program. It reads the common
// directory and one of its own.
func consoleScript(name string) func(*v1alpha1.Nova) []string {
	return func(*v1alpha1.Nova) []string {
		return []string{"nova-" + name, "--config-dir", configDir, "--config-dir", overlayDir(name)}
	}
}

func overlayDir(name string) string { return "/etc/nova/" + name + ".conf.d" }

// uwsgiArgv is the argv of a WSGI role. The application takes no arguments: it finds
// its files through two variables.
func uwsgiArgv(u *v1alpha1.UWSGISpec, port int, module string) []string {
	argv := []string{"uwsgi", "--http", ":" + strconv.Itoa(port)}
	if *u.HTTPKeepAlive {
		argv = append(argv, "--http-keepalive")
		if u.HTTPKeepAliveTimeout != nil && *u.HTTPKeepAliveTimeout > 0 {
			argv = append(argv, "--http-keepalive-timeout", itoa(*u.HTTPKeepAliveTimeout))
		}
	}
	argv = append(argv,
		"--log-master",
		"--log-format", "%(method) %(uri) => generated %(rsize) bytes in %(msecs) msecs (%(proto) %(status))",
		"--module", module,
		"--master", "--lazy-apps", "--need-app",
		// Left to itself uWSGI takes SIGTERM for a reload: it drops the requests in flight and
		// serves on until the grace period ends in SIGKILL.
		"--hook-master-start", "unix_signal:15 gracefully_kill_them_all",
		"--processes", itoa(positive(u.Processes, v1alpha1.DefaultUWSGIProcesses)),
		"--threads", itoa(positive(u.Threads, v1alpha1.DefaultUWSGIThreads)))
	if u.Harakiri != nil && *u.Harakiri > 0 {
		argv = append(argv, "--harakiri", itoa(*u.Harakiri))
	}
	return argv
}

func positive(v, fallback int32) int32 {
	if v <= 0 {
		return fallback
	}
	return v
}

func itoa(v int32) string { return strconv.FormatInt(int64(v), 10) }

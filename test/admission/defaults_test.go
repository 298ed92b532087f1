// SPDX-License-Identifier: Apache-2.0

package admission_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// defaulted is what is stored beside what was sent and what the schema adds, for a Nova
// of which nothing but the required fields is given.
const defaulted = `
api: {deployment: {replicas: 3}, uwsgi: {processes: 2, threads: 1, httpKeepAlive: true}}
metadata: {deployment: {replicas: 1}, uwsgi: {processes: 2, threads: 1, httpKeepAlive: true}, sharedSecretRef: {key: shared_secret}}
scheduler: {deployment: {replicas: 1}, workers: 2}
conductor: {deployment: {replicas: 1}, workers: 2}
consoleProxy: {enabled: true, deployment: {replicas: 1}}
cache: {backend: dogpile.cache.pymemcache}
logging: {format: text, level: INFO, debug: false}
serviceUser: {username: nova, projectName: service, userDomainName: Default, projectDomainName: Default, secretRef: {key: password}}
`

// schemaDefaults are stored without a webhook, see TestStored_SchemaDefaultsAndNoOthers.
const schemaDefaults = `
api: {}
scheduler: {}
conductor: {}
consoleProxy: {}
endpoints: {}
apiDatabase: {replicas: 3, storageSize: 100Gi}
database: {replicas: 3, storageSize: 100Gi}
cache: {replicas: 3}
`

func TestHooked_StoresTheDefaultsAndNothingElse(t *testing.T) {
	for name, tc := range map[string]struct {
		// change is laid over the smallest Nova, want over its defaults.
		change, want string
	}{
		"nothing but the required fields": {},
		"a block that is present has the replicas of the schema": {
			change: "spec: {api: {deployment: {}}, metadata: {deployment: {}}, scheduler: {deployment: {}}, conductor: {deployment: {}}, consoleProxy: {deployment: {}}}",
			want:   "{metadata: {deployment: {replicas: 3}}, scheduler: {deployment: {replicas: 3}}, conductor: {deployment: {replicas: 3}}, consoleProxy: {deployment: {replicas: 3}}}",
		},
		"replicas that are given": {
			change: "spec: {api: {deployment: {replicas: 5}}, scheduler: {deployment: {replicas: 6}}, consoleProxy: {deployment: {replicas: 7}}}",
			want:   "{api: {deployment: {replicas: 5}}, scheduler: {deployment: {replicas: 6}}, consoleProxy: {deployment: {replicas: 7}}}",
		},
		"a console that is off loses its block in the same request": {
			change: "spec: {consoleProxy: {enabled: false, deployment: {replicas: 2}}}",
			want:   "{consoleProxy: {enabled: false, deployment: null}}",
		},
		"a console that is off": {
			change: "spec: {consoleProxy: {enabled: false}}",
			want:   "{consoleProxy: {enabled: false, deployment: null}}",
		},
		"blocks that are empty": {
			change: "spec: {api: {uwsgi: {}}, metadata: {uwsgi: {}}, logging: {}, consoleProxy: {}, scheduler: {}}",
		},
		"a web server with a part of its block": {
			change: "spec: {api: {uwsgi: {threads: 4, httpKeepAlive: false}}}",
			want:   "{api: {uwsgi: {processes: 2, threads: 4, httpKeepAlive: false}}}",
		},
		"everything that has a default is given": {
			change: `
spec:
  scheduler: {workers: 3}
  conductor: {workers: 4, deployment: {terminationGracePeriodSeconds: 30}}
  cache: {backend: dogpile.cache.memcached}
  logging: {format: json, level: DEBUG, debug: true, perLoggerLevels: {nova: INFO}}
  serviceUser: {username: a, projectName: b, userDomainName: c, projectDomainName: d, secretRef: {key: e}}
  metadata: {sharedSecretRef: {key: f}}
`,
			want: `
scheduler: {workers: 3}
conductor: {workers: 4, deployment: {replicas: 3, terminationGracePeriodSeconds: 30}}
cache: {backend: dogpile.cache.memcached}
logging: {format: json, level: DEBUG, debug: true, perLoggerLevels: {nova: INFO}}
serviceUser: {username: a, projectName: b, userDomainName: c, projectDomainName: d, secretRef: {key: e}}
metadata: {sharedSecretRef: {key: f}}
`,
		},
		"a part of the service user": {
			change: "spec: {serviceUser: {projectName: b}}",
			want:   "{serviceUser: {projectName: b}}",
		},
		"the key of a remote transport URL": {
			change: "spec: {messaging: {tls: {caBundleSecretRef: {name: a}}}, remoteCompute: {keystoneEndpoint: 'https://a', transportURLSecretRef: {name: b}}}",
			want:   "{remoteCompute: {transportURLSecretRef: {key: transport_url}}}",
		},
		"the mode of a TLS block": {
			change: "spec: {database: {tls: {caBundleSecretRef: {name: a}, clientCertSecretRef: {name: b}}}, apiDatabase: {tls: {mode: disabled, caBundleSecretRef: {name: a}, clientCertSecretRef: {name: b}}}}",
			want:   "{database: {tls: {mode: require}}, apiDatabase: {tls: {mode: disabled}}}",
		},
		"what follows the operator when it renders is not stored": {
			change: "spec: {dbArchive: {}, jobs: {}, secretStoreRef: {name: a}, api: {deployment: {resources: {}}}, autoscaling: {maxReplicas: 3, targetCPUUtilization: 50}}",
			want:   "{secretStoreRef: {kind: ClusterSecretStore}}",
		},
		"what is given keeps its notation": {
			change: "spec: {jobs: {resources: {requests: {cpu: 1, memory: 1024Mi}, limits: {cpu: 1000m}}}, extraConfig: {DEFAULT: {debug: true, max_logfile_count: 3}, pci: {alias: ['{}', '{}']}}, dbArchive: {schedule: '@daily'}}",
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHooked(t)
			stored, err := h.create(smallest, tc.change)
			if err != nil {
				t.Fatal(err)
			}
			want := smallest.object(t, tc.change).Object["spec"].(map[string]any)
			for _, layer := range []string{schemaDefaults, defaulted, tc.want} {
				fields := map[string]any{}
				if err := yaml.Unmarshal([]byte(layer), &fields); err != nil {
					t.Fatal(err)
				}
				want = merge(want, fields)
			}
			if diff := cmp.Diff(plain(t, pruned(want)), plain(t, stored.Object["spec"])); diff != "" {
				t.Error(diff)
			}
			if warnings := h.warned(); warnings != nil {
				t.Error(warnings)
			}
			again, err := h.client(nova).Update(t.Context(), stored, metav1.UpdateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if again.GetGeneration() != stored.GetGeneration() {
				t.Error("the defaults of a stored resource changed it again")
			}
		})
	}
}

// pruned takes out what a layer sets to null.
func pruned(fields map[string]any) map[string]any {
	for key, value := range fields {
		inner, isMap := value.(map[string]any)
		switch {
		case value == nil:
			delete(fields, key)
		case isMap:
			fields[key] = pruned(inner)
		}
	}
	return fields
}

// A console that is switched off later loses its block in the request that says so.
func TestHooked_SwitchesTheConsoleOff(t *testing.T) {
	h := newHooked(t)
	stored, err := h.create(smallest, "")
	if err != nil {
		t.Fatal(err)
	}
	live, err := h.patch(nova, stored.GetName(), `{"spec": {"consoleProxy": {"enabled": false}}}`)
	if err != nil {
		t.Fatal(err)
	}
	proxy := live.Object["spec"].(map[string]any)["consoleProxy"]
	if diff := cmp.Diff(map[string]any{"enabled": false}, proxy); diff != "" {
		t.Error(diff)
	}
	if live, err = h.patch(nova, stored.GetName(), `{"spec": {"consoleProxy": {"enabled": true}}}`); err != nil {
		t.Fatal(err)
	}
	proxy = live.Object["spec"].(map[string]any)["consoleProxy"]
	want := map[string]any{"enabled": true, "deployment": map[string]any{"replicas": int64(1)}}
	if diff := cmp.Diff(want, proxy); diff != "" {
		t.Error(diff)
	}
}

package apply

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// fidelityCase is one input: what is applied, what others then do to the live
// object, and what is to be applied next (the same if empty).
type fidelityCase struct {
	doc   string
	edits []edit
	then  string
	// raw skips render.Canonical: the applier must stay honest without it.
	raw bool
	// want are the verdicts "unchanged" expected: all, sure (not after a restart),
	// unsure (the oracle alone) or none.
	want string
}

// edit is a write of somebody else. The default is a merge patch by kubectl-edit.
type edit struct {
	as  string
	how types.PatchType
	sub string
	doc string
}

const (
	all    = "cold oracle warm"
	none   = "-"
	unsure = "oracle"
	sure   = "oracle warm"
	cmDoc  = `{apiVersion: v1, kind: ConfigMap, metadata: {name: NAME, labels: {a: b, c: d}}, data: {k: v}}`
	depDoc = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME, labels: {app: NAME}}
spec:
  replicas: 0
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec:
      tolerations: [{key: a, operator: Exists}]
      containers:
      - name: api
        image: nova:1
        ports: [{containerPort: 80}]
        env: [{name: A, value: "1"}, {name: B, value: "2"}, {name: C, value: "3"}]
        resources: {limits: {memory: 1024Mi}, requests: {cpu: 0.5}}
        volumeMounts: [{name: tmp, mountPath: /tmp}]
      - {name: log, image: log:1}
      volumes: [{name: tmp, emptyDir: {}}, {name: c, configMap: {name: c}}]`
	widgetDoc = `{apiVersion: test.c5c3.io/v1, kind: Widget, metadata: {name: NAME}, spec: {tags: [a, b], args: [p, q], rules: [{name: r, proto: tcp, value: "1"}, {name: s, proto: udp}], opaque: {k: v}, open: {k: v}, any: {deep: {list: [1, 2]}}, port: 80, nested: {ratio: 0.5}}}`
)

func dep(old ...string) string { return strings.NewReplacer(old...).Replace(depDoc) }

const plainPod = `{metadata: {labels: {app: NAME}}, spec: {containers: [{name: a, image: "a:1"}]}}`

var fidelity = map[string]fidelityCase{
	// Payloads as the operator renders them: everything equal, everywhere.
	"config map":                         {doc: cmDoc, want: all},
	"binary data and an empty value":     {doc: `{apiVersion: v1, kind: ConfigMap, metadata: {name: NAME}, data: {k: "", "l": "a\nb\n"}, binaryData: {b: AAEC}}`, want: all},
	"immutable config map":               {doc: `{apiVersion: v1, kind: ConfigMap, metadata: {name: NAME}, immutable: true, data: {k: v}}`, want: all},
	"metadata only":                      {doc: `{apiVersion: v1, kind: ConfigMap, metadata: {name: NAME, labels: {a: ""}, annotations: {u: "ü 漢 \"q\""}}}`, want: all},
	"finalizers only":                    {doc: `{apiVersion: v1, kind: ConfigMap, metadata: {name: NAME, finalizers: [test.c5c3.io/a, test.c5c3.io/b]}}`, want: all, edits: nil},
	"secret with stringData":             {doc: `{apiVersion: v1, kind: Secret, metadata: {name: NAME}, type: Opaque, stringData: {k: v}}`, want: all},
	"deployment, quantities, defaults":   {doc: depDoc, want: all},
	"null fields":                        {doc: dep("replicas: 0", "replicas: 0\n  paused: null\n  strategy: null"), want: all},
	"zero values":                        {doc: dep("replicas: 0", "replicas: 0\n  paused: false\n  minReadySeconds: 0\n  revisionHistoryLimit: 0"), want: sure},
	"empty maps and lists":               {doc: dep("image: log:1", "image: log:1, args: [], env: [], resources: {}, securityContext: {}"), want: all},
	"empty selectors in a spread":        {doc: dep("volumes:", "topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {}}]\n      volumes:"), want: all},
	"probes and lifecycle":               {doc: dep("image: log:1", "image: log:1, readinessProbe: {httpGet: {path: /, port: http}}, lifecycle: {preStop: {exec: {command: [sleep, '1']}}}"), want: all},
	"projected and secret volumes":       {doc: dep("volumes: [", "volumes: [{name: p, projected: {sources: [{secret: {name: s, items: [{key: a, path: a}]}}]}}, {name: s, secret: {secretName: s, defaultMode: 256}}, "), want: all},
	"field and resource references":      {doc: dep("env: [", "env: [{name: N1, valueFrom: {fieldRef: {fieldPath: metadata.name}}}, {name: R, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: 1}}}, "), want: sure},
	"init container that stays":          {doc: dep("volumes:", "initContainers: [{name: i, image: i, restartPolicy: Always}]\n      volumes:"), want: all},
	"empty sizeLimit notation":           {doc: dep("emptyDir: {}", "emptyDir: {sizeLimit: 1024Ki}"), want: all},
	"hugepages":                          {doc: dep("memory: 1024Mi", "memory: 1024Mi, hugepages-2Mi: 4096Ki"), want: all},
	"service, port without protocol":     {doc: `{apiVersion: v1, kind: Service, metadata: {name: NAME}, spec: {selector: {a: b}, ports: [{port: 80, targetPort: http}]}}`, want: all},
	"service, two protocols on a port":   {doc: `{apiVersion: v1, kind: Service, metadata: {name: NAME}, spec: {ports: [{name: t, port: 53}, {name: u, port: 53, protocol: UDP}]}}`, want: all},
	"headless service":                   {doc: `{apiVersion: v1, kind: Service, metadata: {name: NAME}, spec: {clusterIP: None, selector: {}, ports: [{port: 80}]}}`, want: all},
	"network policy, everything":         {doc: `{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: NAME}, spec: {podSelector: {}, policyTypes: [Egress], egress: [{}]}}`, want: all},
	"network policy, nothing":            {doc: `{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: NAME}, spec: {podSelector: {}, policyTypes: [Ingress], ingress: []}}`, want: all},
	"network policy, peers":              {doc: `{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: NAME}, spec: {podSelector: {matchLabels: {a: b}}, ingress: [{from: [{namespaceSelector: {}}, {podSelector: {}}], ports: [{port: 80}]}]}}`, want: all},
	"disruption budget":                  {doc: `{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: NAME}, spec: {maxUnavailable: 1, selector: {matchLabels: {a: b}}}}`, want: all},
	"disruption budget of every pod":     {doc: `{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: NAME}, spec: {maxUnavailable: 50%, selector: {}}}`, want: all},
	"autoscaler":                         {doc: `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: NAME}, spec: {minReplicas: 1, maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: x}, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}, {type: Resource, resource: {name: memory, target: {type: AverageValue, averageValue: 1024Mi}}}]}}`, want: all},
	"cron job":                           {doc: `{apiVersion: batch/v1, kind: CronJob, metadata: {name: NAME}, spec: {schedule: "0 3 * * *", suspend: true, concurrencyPolicy: Forbid, jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}}}`, want: all},
	"job":                                {doc: `{apiVersion: batch/v1, kind: Job, metadata: {name: NAME}, spec: {suspend: true, backoffLimit: 0, template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}`, want: all},
	"daemon set":                         {doc: `{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: NAME}, spec: {selector: {matchLabels: {app: NAME}}, updateStrategy: {type: OnDelete}, template: {metadata: {labels: {app: NAME}}, spec: {hostNetwork: true, nodeSelector: {never: "true"}, containers: [{name: a, image: a, ports: [{containerPort: 80}]}]}}}}`, want: all},
	"stateful set with claims":           {doc: `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: NAME}, spec: {replicas: 0, serviceName: x, selector: {matchLabels: {app: NAME}}, template: ` + plainPod + `, volumeClaimTemplates: [{metadata: {name: d}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1024Mi}}}}]}}`, want: sure},
	"volume claim":                       {doc: `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: NAME}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1024Mi}}}}`, want: all},
	"role":                               {doc: `{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: NAME}, rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}`, want: all},
	"role binding":                       {doc: `{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: NAME}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: r}, subjects: [{kind: ServiceAccount, name: s, namespace: default}]}`, want: all},
	"service account":                    {doc: `{apiVersion: v1, kind: ServiceAccount, metadata: {name: NAME}, automountServiceAccountToken: false}`, want: all},
	"HTTPRoute with defaults":            {doc: `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: NAME}, spec: {parentRefs: [{name: g}], hostnames: [a.example.com], rules: [{backendRefs: [{name: s, port: 80}]}]}}`, want: all},
	"vertical autoscaler":                {doc: `{apiVersion: autoscaling.k8s.io/v1, kind: VerticalPodAutoscaler, metadata: {name: NAME}, spec: {targetRef: {apiVersion: apps/v1, kind: Deployment, name: x}, updatePolicy: {updateMode: "Off"}, resourcePolicy: {containerPolicies: [{containerName: a, minAllowed: {cpu: 0.1, memory: 1024Mi}}]}}}`, want: all},
	"MariaDB database":                   {doc: `{apiVersion: k8s.mariadb.com/v1alpha1, kind: Database, metadata: {name: NAME}, spec: {mariaDbRef: {name: m}, name: nova, characterSet: utf8mb3, collate: utf8mb3_general_ci, cleanupPolicy: Skip}}`, want: all},
	"MariaDB grant":                      {doc: `{apiVersion: k8s.mariadb.com/v1alpha1, kind: Grant, metadata: {name: NAME}, spec: {mariaDbRef: {name: m}, privileges: [ALL PRIVILEGES], database: nova, table: "*", username: u}}`, want: all},
	"custom kind, every structure":       {doc: widgetDoc, want: all},
	"custom kind, key left to a default": {doc: `{apiVersion: test.c5c3.io/v1, kind: Widget, metadata: {name: NAME}, spec: {rules: [{name: r, value: "1"}]}}`, want: all},
	"custom kind, default in an atomic list": {
		doc: `{apiVersion: test.c5c3.io/v1, kind: Widget, metadata: {name: NAME}, spec: {plain: [{a: x}]}}`, want: all,
	},
	"custom kind, empty spec":          {doc: `{apiVersion: test.c5c3.io/v1, kind: Widget, metadata: {name: NAME}, spec: {}}`, want: sure},
	"custom kind, default spelled out": {doc: `{apiVersion: test.c5c3.io/v1, kind: Widget, metadata: {name: NAME}, spec: {size: small, nested: {depth: 3}}}`, want: all},
	"custom kind, number and text":     {doc: `{apiVersion: test.c5c3.io/v1, kind: Widget, metadata: {name: NAME}, spec: {port: http, nested: {ratio: 2.0}}}`, want: all},

	// Payloads nobody brought into canonical form.
	"raw quantities":          {raw: true, doc: depDoc, want: sure},
	"raw null":                {raw: true, doc: dep("replicas: 0", "replicas: 0\n  paused: null"), want: sure},
	"raw creationTimestamp":   {raw: true, doc: dep("metadata: {labels: {app: NAME}}", "metadata: {labels: {app: NAME}, creationTimestamp: null}"), want: sure},
	"raw empty ingress":       {raw: true, doc: `{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: NAME}, spec: {podSelector: {}, ingress: []}}`, want: sure},
	"raw empty resources":     {raw: true, doc: dep("image: log:1", "image: log:1, resources: {}, securityContext: {}, env: []"), want: sure},
	"raw empty annotations":   {raw: true, doc: `{apiVersion: v1, kind: ConfigMap, metadata: {name: NAME, annotations: {}, labels: {}}, data: {}}`, want: sure},
	"raw service selector":    {raw: true, doc: `{apiVersion: v1, kind: Service, metadata: {name: NAME}, spec: {selector: {}, ports: [{port: 80}]}}`, want: sure},
	"raw stringData":          {raw: true, doc: `{apiVersion: v1, kind: Secret, metadata: {name: NAME}, stringData: {k: v}}`, want: sure},
	"raw base64 line break":   {raw: true, doc: `{apiVersion: v1, kind: Secret, metadata: {name: NAME}, data: {k: "YWFh\nYWFh"}}`, want: sure},
	"raw status":              {raw: true, doc: dep("kind: Deployment", "kind: Deployment\nstatus: {replicas: 7}"), want: sure},
	"raw null in custom kind": {raw: true, doc: `{apiVersion: test.c5c3.io/v1, kind: Widget, metadata: {name: NAME}, spec: {maybe: null, size: null}}`, want: sure},

	// Somebody else touched the live object.
	"label removed by hand":     {doc: cmDoc, edits: []edit{{doc: `{metadata: {labels: {a: null}}}`}}, want: none},
	"label changed by hand":     {doc: cmDoc, edits: []edit{{doc: `{metadata: {labels: {a: x}}}`}}, want: none},
	"label set to the same":     {doc: cmDoc, edits: []edit{{as: "kubectl-label", doc: `{metadata: {labels: {a: b}}}`}}, want: all},
	"foreign label":             {doc: cmDoc, edits: []edit{{doc: `{metadata: {labels: {p: q}}}`}}, want: all},
	"foreign annotation":        {doc: cmDoc, edits: []edit{{doc: `{metadata: {annotations: {p: q}}}`}}, want: all},
	"owner reference removed":   {doc: cmDoc, edits: []edit{{doc: `{metadata: {ownerReferences: null}}`}}, want: none},
	"owner reference demoted":   {doc: cmDoc, edits: []edit{{how: types.JSONPatchType, doc: `[{op: replace, path: /metadata/ownerReferences/0/blockOwnerDeletion, value: false}]`}}, want: none},
	"second owner":              {doc: cmDoc, edits: []edit{{how: types.JSONPatchType, doc: `[{op: add, path: /metadata/ownerReferences/-, value: {apiVersion: v1, kind: Namespace, name: default, uid: d}}]`}}, want: all},
	"foreign finalizer":         {doc: `{apiVersion: v1, kind: ConfigMap, metadata: {name: NAME, finalizers: [t.io/a]}}`, edits: []edit{{how: types.JSONPatchType, doc: `[{op: add, path: /metadata/finalizers/0, value: t.io/z}]`}}, want: all},
	"our finalizer removed":     {doc: `{apiVersion: v1, kind: ConfigMap, metadata: {name: NAME, finalizers: [t.io/a, t.io/b]}}`, edits: []edit{{how: types.JSONPatchType, doc: `[{op: remove, path: /metadata/finalizers/0}]`}}, want: none},
	"finalizers reordered":      {doc: `{apiVersion: v1, kind: ConfigMap, metadata: {name: NAME, finalizers: [t.io/a, t.io/b]}}`, edits: []edit{{how: types.JSONPatchType, doc: `[{op: replace, path: /metadata/finalizers, value: [t.io/b, t.io/a]}]`}}, want: none},
	"value changed":             {doc: cmDoc, edits: []edit{{doc: `{data: {k: x}}`}}, want: none},
	"value changed and back":    {doc: cmDoc, edits: []edit{{doc: `{data: {k: x}}`}, {doc: `{data: {k: v}}`}}, want: unsure},
	"key removed":               {doc: cmDoc, edits: []edit{{doc: `{data: null}`}}, want: none},
	"foreign key":               {doc: cmDoc, edits: []edit{{doc: `{data: {p: q}}`}}, want: all},
	"second applier agrees":     {doc: cmDoc, edits: []edit{{as: "argocd", how: types.ApplyPatchType, doc: `{apiVersion: v1, kind: ConfigMap, metadata: {name: NAME}, data: {k: v}}`}}, want: all},
	"second applier takes it":   {doc: cmDoc, edits: []edit{{as: "argocd", how: types.ApplyPatchType, doc: `{apiVersion: v1, kind: ConfigMap, metadata: {name: NAME}, data: {k: x}}`}}, want: none},
	"second applier, dropped":   {doc: cmDoc, edits: []edit{{as: "argocd", how: types.ApplyPatchType, doc: `{apiVersion: v1, kind: ConfigMap, metadata: {name: NAME}, data: {k: v}}`}}, then: `{apiVersion: v1, kind: ConfigMap, metadata: {name: NAME, labels: {a: b, c: d}}}`, want: unsure},
	"managed fields wiped":      {doc: cmDoc, edits: []edit{{doc: `{metadata: {managedFields: [{}]}}`}}, want: unsure},
	"managed fields and value":  {doc: cmDoc, edits: []edit{{doc: `{metadata: {managedFields: [{}]}, data: {k: x}}`}}, want: none},
	"last-applied annotation":   {doc: cmDoc, edits: []edit{{as: "kubectl-client-side-apply", doc: `{metadata: {annotations: {kubectl.kubernetes.io/last-applied-configuration: "{}"}}}`}}, want: all},
	"image changed":             {doc: depDoc, edits: []edit{{how: types.StrategicMergePatchType, doc: `{spec: {template: {spec: {containers: [{name: api, image: evil}]}}}}`}}, want: none},
	"foreign sidecar":           {doc: depDoc, edits: []edit{{how: types.StrategicMergePatchType, doc: `{spec: {template: {spec: {containers: [{name: side, image: s}]}}}}`}}, want: all},
	"foreign container first":   {doc: depDoc, edits: []edit{{how: types.JSONPatchType, doc: `[{op: add, path: /spec/template/spec/containers/0, value: {name: side, image: s}}]`}}, want: all},
	"foreign container between": {doc: depDoc, edits: []edit{{how: types.JSONPatchType, doc: `[{op: add, path: /spec/template/spec/containers/1, value: {name: side, image: s}}]`}}, want: all},
	"containers swapped":        {doc: depDoc, edits: []edit{{how: types.JSONPatchType, doc: `[{op: move, from: /spec/template/spec/containers/1, path: /spec/template/spec/containers/0}]`}}, want: none},
	"container removed":         {doc: depDoc, edits: []edit{{how: types.JSONPatchType, doc: `[{op: remove, path: /spec/template/spec/containers/1}]`}}, want: none},
	"foreign variable between":  {doc: depDoc, edits: []edit{{how: types.JSONPatchType, doc: `[{op: add, path: /spec/template/spec/containers/0/env/1, value: {name: X, value: x}}]`}}, want: all},
	"variables reordered":       {doc: depDoc, edits: []edit{{how: types.JSONPatchType, doc: `[{op: move, from: /spec/template/spec/containers/0/env/2, path: /spec/template/spec/containers/0/env/0}]`}}, want: none},
	"reordered around a foreign variable": {
		doc: depDoc, want: none,
		edits: []edit{{how: types.JSONPatchType, doc: `[{op: add, path: /spec/template/spec/containers/0/env/0, value: {name: X, value: x}}, {op: move, from: /spec/template/spec/containers/0/env/3, path: /spec/template/spec/containers/0/env/0}]`}},
	},
	"variable without its value":  {doc: depDoc, edits: []edit{{how: types.JSONPatchType, doc: `[{op: replace, path: /spec/template/spec/containers/0/env/0, value: {name: A}}]`}}, want: none},
	"variable doubled":            {doc: depDoc, edits: []edit{{how: types.JSONPatchType, doc: `[{op: add, path: /spec/template/spec/containers/0/env/-, value: {name: A, value: "9"}}]`}}, want: none},
	"toleration added":            {doc: depDoc, edits: []edit{{how: types.JSONPatchType, doc: `[{op: add, path: /spec/template/spec/tolerations/-, value: {key: z, operator: Exists}}]`}}, want: none},
	"port added":                  {doc: depDoc, edits: []edit{{how: types.JSONPatchType, doc: `[{op: add, path: /spec/template/spec/containers/0/ports/-, value: {containerPort: 80, protocol: UDP}}]`}}, want: all},
	"port renamed":                {doc: depDoc, edits: []edit{{how: types.JSONPatchType, doc: `[{op: add, path: /spec/template/spec/containers/0/ports/0/name, value: http}]`}}, want: all},
	"volume got a size":           {doc: depDoc, edits: []edit{{how: types.JSONPatchType, doc: `[{op: add, path: /spec/template/spec/volumes/0/emptyDir/sizeLimit, value: 1Gi}]`}}, want: unsure},
	"quantity in other words":     {doc: depDoc, edits: []edit{{how: types.StrategicMergePatchType, doc: `{spec: {template: {spec: {containers: [{name: api, resources: {limits: {memory: "1073741824"}}}]}}}}`}}, want: none},
	"foreign limit":               {doc: depDoc, edits: []edit{{how: types.StrategicMergePatchType, doc: `{spec: {template: {spec: {containers: [{name: api, resources: {limits: {cpu: "2"}}}]}}}}`}}, want: all},
	"scaled by hand":              {doc: depDoc, edits: []edit{{sub: "scale", as: "kubectl-scale", doc: `{spec: {replicas: 1}}`}}, want: none},
	"scaled where we own nothing": {doc: dep("replicas: 0\n", "paused: true\n"), edits: []edit{{sub: "scale", as: "hpa", doc: `{spec: {replicas: 1}}`}}, want: all},
	"default changed by another":  {doc: depDoc, edits: []edit{{doc: `{spec: {revisionHistoryLimit: 3}}`}}, want: all},
	"strategy changed":            {doc: dep("replicas: 0", "replicas: 0\n  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}"), edits: []edit{{doc: `{spec: {strategy: {rollingUpdate: {maxSurge: 2}}}}`}}, want: none},
	"status written":              {doc: widgetDoc, edits: []edit{{sub: "status", doc: `{status: {phase: Ready}}`}}, want: all},
	"selector of a budget grown":  {doc: `{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: NAME}, spec: {maxUnavailable: 1, selector: {matchLabels: {a: b}}}}`, edits: []edit{{doc: `{spec: {selector: {matchLabels: {c: d}}}}`}}, want: none},
	"selector of a service grown": {doc: `{apiVersion: v1, kind: Service, metadata: {name: NAME}, spec: {selector: {a: b}, ports: [{port: 80}]}}`, edits: []edit{{doc: `{spec: {selector: {c: d}}}`}}, want: none},
	"set item added":              {doc: widgetDoc, edits: []edit{{how: types.JSONPatchType, doc: `[{op: add, path: /spec/tags/0, value: z}]`}}, want: all},
	"set item removed":            {doc: widgetDoc, edits: []edit{{how: types.JSONPatchType, doc: `[{op: remove, path: /spec/tags/0}]`}}, want: none},
	"set reordered":               {doc: widgetDoc, edits: []edit{{how: types.JSONPatchType, doc: `[{op: move, from: /spec/tags/1, path: /spec/tags/0}]`}}, want: none},
	"atomic list changed":         {doc: widgetDoc, edits: []edit{{doc: `{spec: {args: [p, q, r]}}`}}, want: none},
	"atomic map grown":            {doc: widgetDoc, edits: []edit{{doc: `{spec: {opaque: {p: q}}}`}}, want: none},
	"open map grown":              {doc: widgetDoc, edits: []edit{{doc: `{spec: {open: {p: q}}}`}}, want: all},
	"unknown field changed":       {doc: widgetDoc, edits: []edit{{doc: `{spec: {any: {deep: {list: [2, 1]}}}}`}}, want: none},
	"unknown field beside ours":   {doc: widgetDoc, edits: []edit{{doc: `{spec: {any: {other: 1}}}`}}, want: all},
	"keyed item of same name":     {doc: widgetDoc, edits: []edit{{how: types.JSONPatchType, doc: `[{op: add, path: /spec/rules/-, value: {name: r, proto: udp, value: "2"}}]`}}, want: all},
	"number became text":          {doc: widgetDoc, edits: []edit{{doc: `{spec: {port: "80"}}`}}, want: none},
	"float changed":               {doc: widgetDoc, edits: []edit{{doc: `{spec: {nested: {ratio: 0.25}}}`}}, want: none},

	// Something else is wanted now.
	"wanted: another value":        {doc: cmDoc, then: strings.Replace(cmDoc, "k: v", "k: w", 1), want: none},
	"wanted: one field less":       {doc: cmDoc, then: strings.Replace(cmDoc, ", c: d", "", 1), want: none},
	"wanted: one field more":       {doc: cmDoc, then: strings.Replace(cmDoc, "k: v", "k: v, l: w", 1), want: none},
	"wanted: a field others set":   {doc: cmDoc, edits: []edit{{doc: `{data: {l: w}}`}}, then: strings.Replace(cmDoc, "k: v", "k: v, l: w", 1), want: unsure},
	"wanted: variables reordered":  {doc: depDoc, then: dep(`{name: A, value: "1"}, {name: B, value: "2"}`, `{name: B, value: "2"}, {name: A, value: "1"}`), want: none},
	"wanted: containers reordered": {doc: dep("      - {name: log, image: log:1}\n", "      - {name: log, image: log:1}\n      - {name: x, image: x}\n"), then: dep("      - {name: log, image: log:1}\n", "      - {name: x, image: x}\n      - {name: log, image: log:1}\n"), want: none},
	"wanted: set reordered":        {doc: widgetDoc, then: strings.Replace(widgetDoc, "[a, b]", "[b, a]", 1), want: none},
	"wanted: number as text":       {doc: widgetDoc, then: strings.Replace(widgetDoc, "port: 80", `port: "80"`, 1), want: none},
	"wanted: other notation":       {doc: depDoc, then: dep("1024Mi", "1Gi", "0.5", "500m"), want: all},
	"wanted: volume gets a size":   {doc: depDoc, then: dep("emptyDir: {}", "emptyDir: {sizeLimit: 1Gi}"), want: none},
	"wanted: replicas left out":    {doc: depDoc, then: dep("replicas: 0\n", "paused: false\n"), want: none},
	"wanted: default left out":     {doc: `{apiVersion: test.c5c3.io/v1, kind: Widget, metadata: {name: NAME}, spec: {size: small}}`, then: `{apiVersion: test.c5c3.io/v1, kind: Widget, metadata: {name: NAME}, spec: {nested: {depth: 3}}}`, want: unsure},
	"wanted: a default no longer": {
		doc:  `{apiVersion: test.c5c3.io/v1, kind: Widget, metadata: {name: NAME}, spec: {size: small, port: 80}}`,
		then: `{apiVersion: test.c5c3.io/v1, kind: Widget, metadata: {name: NAME}, spec: {port: 80}}`, want: unsure,
	},

	// Admission rewrites what we send.
	"webhook rewrites our value": {doc: `{apiVersion: v1, kind: ConfigMap, metadata: {name: NAME, labels: {hook: "on"}}, data: {k: v}}`, want: sure},
	"webhook adds a value":       {doc: `{apiVersion: v1, kind: ConfigMap, metadata: {name: NAME, labels: {hook: "on"}}, data: {k: V}}`, want: all},
	"webhook adds a sidecar":     {doc: dep("labels: {app: NAME}}\nspec", "labels: {app: NAME, hook: \"on\"}}\nspec"), want: all},
	"webhook value undone": {
		doc: `{apiVersion: v1, kind: ConfigMap, metadata: {name: NAME, labels: {hook: "on"}}, data: {k: V}}`, want: none,
		edits: []edit{{doc: `{metadata: {labels: {hook: null}}, data: {injected: null}}`}},
	},
}

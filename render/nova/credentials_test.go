package nova

import (
	"encoding/base64"
	"fmt"
	neturl "net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"

	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/facts"
	"github.com/c5c3/nova-operator/render/ini/initest"
	"github.com/c5c3/nova-operator/render/pipeline"
)

// awkwardValues hold every character class that some reader on the way to nova
// misreads when it comes unencoded.
var awkwardValues = []string{
	"plain", `a$b`, `a$my_ip`, `a$$b`, `a$1`, `a$`, `${my_ip}`, `x\$y`, `x\\$y`, `back\slash`,
	` lead`, `trail `, `in the middle`, `"q"`, `'q'`, `"`, `'`, "s3cret\n", "two\n\n",
	`a%b`, `a%40b`, `%(x)s`, `a#b`, `a ; b`, `a@b`, `a/b`, `a:b`, `a?b`, `a,b`, `a;b`, `a&b`, `a=b`, `a+b`,
	`{scheme}://{username}`, `a|b`, "a\tb", `é§ü`, `漢字`, `~._-`, `[::1]`, `a$(date)b`, "`id`",
}

// credentialsNova takes every login from a Secret.
const credentialsNova = `
apiVersion: nova.openstack.c5c3.io/v1alpha1
kind: Nova
metadata: {name: nova, namespace: openstack}
spec:
  openStackRelease: "2026.1"
  image: {repository: registry.example.com/nova, tag: "2026.1"}
  apiDatabase: {host: api-db.example.com, database: nova_api, secretRef: {name: api-db}}
  database: {host: cell-db.example.com, database: nova, secretRef: {name: cell-db}}
  cache: {clusterRef: {name: memcached}, backend: dogpile.cache.pymemcache}
  messaging: {clusterRef: {name: rabbitmq}}
  keystoneEndpoint: http://keystone.openstack.svc:5000/v3
  serviceUser: {secretRef: {name: service}}
  metadata: {sharedSecretRef: {name: metadata}}
  endpoints: {cinder: {enabled: true}}
`

// busCredential is what stands in for a value at the bus: oslo.messaging can't pass on a
// slash, so a URL with one is refused.
func busCredential(value string) string { return strings.ReplaceAll(value, "/", "!") }

// withCredential decides about a Nova whose every credential is one value.
func withCredential(t testing.TB, value string) pipeline.Decision {
	t.Helper()
	v := render.Sensitive(value)
	login := facts.SecretData{"username": v, "password": v}
	bus := render.Sensitive(busCredential(value))
	r, placeholders := Settle(Input{Nova: parse(t, credentialsNova), Observed: Observed{
		Secrets: map[string]facts.SecretData{
			"api-db": login, "cell-db": login, "service": {"password": v}, "metadata": {"shared_secret": v},
			"bus": {"username": bus, "password": bus, "host": "mq.example.com", "port": "5672"},
		},
		RabbitmqClusters: map[string]facts.RabbitmqCluster{"rabbitmq": {UserSecret: "bus"}},
	}})
	if r.Err != nil || len(placeholders) > 0 {
		t.Fatal(r.Err, placeholders)
	}
	return r
}

// environments are the variables of every container as its process sees them, by
// object and variable.
func environments(t testing.TB, r pipeline.Decision) map[string]map[string]string {
	t.Helper()
	secrets := map[string]map[string]string{}
	for _, o := range r.Set.Desired {
		if o.Key().GroupVersionKind == render.KindSecret {
			data, _, err := unstructured.NestedStringMap(o.Content.Object, "data")
			if err != nil {
				t.Fatal(err)
			}
			secrets[o.Content.GetName()] = data
		}
	}
	out := map[string]map[string]string{}
	for _, o := range r.Set.Desired {
		for _, container := range containersOf(o.Content) {
			env := map[string]string{}
			list, _, _ := unstructured.NestedSlice(container, "env")
			for _, item := range list {
				variable := item.(map[string]any)
				name, _, _ := unstructured.NestedString(variable, "name")
				value, plain, _ := unstructured.NestedString(variable, "value")
				if !plain {
					secret, _, _ := unstructured.NestedString(variable, "valueFrom", "secretKeyRef", "name")
					key, _, _ := unstructured.NestedString(variable, "valueFrom", "secretKeyRef", "key")
					encoded, ok := secrets[secret][key]
					if !ok {
						t.Fatalf("%s: %s refers to %s/%s, which is not rendered", o.Key(), name, secret, key)
					}
					raw, err := base64.StdEncoding.DecodeString(encoded)
					if err != nil {
						t.Fatal(err)
					}
					value = string(raw)
				}
				env[name] = value
			}
			out[o.Key().String()] = env
		}
	}
	return out
}

// containersOf are the containers of a workload, Job or CronJob.
func containersOf(u *unstructured.Unstructured) []map[string]any {
	var out []map[string]any
	for _, prefix := range [][]string{{"spec"}, {"spec", "jobTemplate", "spec"}} {
		list, _, _ := unstructured.NestedSlice(u.Object, append(prefix, "template", "spec", "containers")...)
		for _, c := range list {
			out = append(out, c.(map[string]any))
		}
	}
	return out
}

// credentialVariables are the variables that hold a credential, and whether it is part
// of a URL there.
var credentialVariables = map[string]bool{
	"OS_DEFAULT__TRANSPORT_URL": true, "OS_DATABASE__CONNECTION": true, "OS_API_DATABASE__CONNECTION": true,
	"OS_KEYSTONE_AUTHTOKEN__PASSWORD": false, "OS_SERVICE_USER__PASSWORD": false, "OS_PLACEMENT__PASSWORD": false,
	"OS_NEUTRON__PASSWORD": false, "OS_CINDER__PASSWORD": false, "OS_NEUTRON__METADATA_PROXY_SHARED_SECRET": false,
}

// checkEnvironments reads every variable back and compares it with the credential.
func checkEnvironments(t testing.TB, value string) {
	t.Helper()
	want := strings.TrimSuffix(value, "\n")
	seen := map[string]bool{}
	for object, env := range environments(t, withCredential(t, value)) {
		for name, raw := range env {
			isURL, credential := credentialVariables[name]
			if !credential {
				continue
			}
			seen[name] = true
			got, err := initest.Env(raw)
			if err != nil {
				t.Errorf("%s: %s: %v", object, name, err)
				continue
			}
			if !isURL {
				if got != want {
					t.Errorf("%s: %s is read as %q, want %q", object, name, got, want)
				}
				continue
			}
			u, err := neturl.Parse(got)
			if err != nil {
				t.Errorf("%s: %s is no URL: %v", object, name, err)
				continue
			}
			want := want
			if name == "OS_DEFAULT__TRANSPORT_URL" {
				want = busCredential(want)
			}
			password, _ := u.User.Password()
			if u.User.Username() != want || password != want || strings.ContainsAny(u.Host, "@,") {
				t.Errorf("%s: %s is read as %q and %q at %q, want %q", object, name, u.User.Username(), password, u.Host, want)
			}
		}
	}
	if len(seen) != len(credentialVariables) {
		t.Errorf("only %v are rendered", seen)
	}
}

func TestCredentials_ReachEveryProcessAsTheyAreStored(t *testing.T) {
	for _, value := range awkwardValues {
		t.Run(fmt.Sprintf("%q", value), func(t *testing.T) { checkEnvironments(t, value) })
	}
}

func TestCredentials_ReachEveryProcessWhateverTheyAre(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		value := rapid.StringOfN(rapid.SampledFrom([]rune(`ab$\{}_.1 "'#;=:%@/?,&+|é`)), 1, 12, -1).Draw(rt, "credential")
		checkEnvironments(tb{t, rt}, value)
	})
}

// tb reports to rapid what a helper finds, so that a failing value shrinks.
type tb struct {
	testing.TB
	rt *rapid.T
}

func (t tb) Errorf(format string, args ...any) { t.rt.Fatalf(format, args...) }
func (t tb) Fatal(args ...any)                 { t.rt.Fatal(args...) }
func (t tb) Helper()                           {}

// The account of a MariaDB is made by its operator from the Secret's own bytes, so the
// connection must not trim them.
func TestCredentials_AStaticLoginKeepsItsNewline(t *testing.T) {
	n := parse(t, minimalYAML)
	r, _ := Settle(Input{Nova: n, Observed: Observed{Secrets: map[string]facts.SecretData{
		"nova-db": {"username": "u", "password": "p\n"},
	}}})
	got := environments(t, r)["Deployment.apps openstack/nova"]["OS_DATABASE__CONNECTION"]
	if want := "mysql+pymysql://nova:p%0A@mariadb.openstack.svc:3306/nova?charset=utf8"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// readScript reads each environment as nova's libraries do: oslo.config interpolates,
// SQLAlchemy and oslo.messaging take the URLs apart, and kombu what oslo.messaging's
// driver puts together for it. The last four values are those of the bus.
const readScript = `
import json, os, sys
from oslo_config import cfg
from sqlalchemy.engine.url import make_url
try:
    import oslo_messaging
    from kombu.utils.url import parse_url
    from oslo_messaging._drivers.impl_rabbit import Connection
except ImportError:
    oslo_messaging = None

out = []
for env in json.load(sys.stdin):
    os.environ.update(env)
    conf = cfg.ConfigOpts()
    conf.register_opt(cfg.StrOpt('my_ip', default='192.0.2.1'))
    for group in ('database', 'api_database'):
        conf.register_opt(cfg.StrOpt('connection'), group=group)
    groups = ('keystone_authtoken', 'service_user', 'placement', 'neutron', 'cinder')
    for group in groups:
        conf.register_opt(cfg.StrOpt('password'), group=group)
    conf.register_opt(cfg.StrOpt('metadata_proxy_shared_secret'), group='neutron')
    conf([], project='nova')
    got = [conf[group].password for group in groups] + [conf.neutron.metadata_proxy_shared_secret]
    for group in ('database', 'api_database'):
        url = make_url(conf[group].connection)
        got += [url.username, url.password]
    if oslo_messaging is not None:
        url = oslo_messaging.TransportURL.parse(conf)
        host = url.hosts[0]
        seen = parse_url(Connection.__new__(Connection)._transform_transport_url(url, host))
        got += [host.username, host.password, seen['userid'], seen['password']]
    out.append(got)
print(json.dumps(out))
`

// The libraries themselves have the last word where Debian's packages are installed.
func TestCredentials_RealLibrariesReadTheSameBytes(t *testing.T) {
	var envs []map[string]string
	for _, value := range awkwardValues {
		env := map[string]string{}
		for _, one := range environments(t, withCredential(t, value)) {
			for name, raw := range one {
				if _, ok := credentialVariables[name]; ok {
					env[name] = raw
				}
			}
		}
		envs = append(envs, env)
	}
	var got [][]string
	initest.Python(t, "oslo_config, sqlalchemy", readScript, nil, envs, &got)
	for i, value := range awkwardValues {
		want := make([]string, len(got[i]))
		for j := range want {
			want[j] = strings.TrimSuffix(value, "\n")
			if j >= 10 {
				want[j] = busCredential(want[j])
			}
		}
		if len(want) < 10 {
			t.Fatalf("only %d values were read", len(want))
		}
		if diff := cmp.Diff(want, got[i]); diff != "" {
			t.Errorf("%q: %s", value, diff)
		}
	}
}

// Kubernetes expands $(NAME) and $$ in commands and plain values before a shell sees
// them.
func TestCommands_HoldNothingKubernetesExpands(t *testing.T) {
	for _, f := range loadFixtures(t) {
		result, _ := f.decide()
		for _, o := range result.Set.Desired {
			for _, container := range containersOf(o.Content) {
				words, _, _ := unstructured.NestedStringSlice(container, "command")
				env, _, _ := unstructured.NestedSlice(container, "env")
				for _, item := range env {
					variable := item.(map[string]any)
					if value, plain := variable["value"].(string); plain {
						words = append(words, value)
					}
					for _, word := range words {
						if strings.Contains(word, "$$") || strings.Contains(word, fmt.Sprintf("$(%s)", variable["name"])) {
							t.Errorf("%s: %s would be expanded in %q", o.Key(), variable["name"], word)
						}
					}
				}
			}
		}
	}
}

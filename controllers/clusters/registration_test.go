package clusters_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/c5c3/nova-operator/controllers/clusters"
)

// secretOf registers cluster edge.
func secretOf(kubeconfig string, namespaces ...string) *corev1.Secret {
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "c5c3-clusters", Name: "edge"},
		Data:       map[string][]byte{"kubeconfig": []byte(kubeconfig)},
	}
	if len(namespaces) > 0 {
		s.Data["namespaces"] = []byte(namespaces[0])
	}
	return s
}

// document is a kubeconfig whose current context is x: cluster c and user u, with lines
// of YAML flow style for each.
func document(server, user string) string {
	return `{apiVersion: v1, kind: Config, current-context: x,
 contexts: [{name: x, context: {cluster: c, user: u}}],
 clusters: [{name: c, cluster: {` + server + `}}],
 users: [{name: u, user: {` + user + `}}]}`
}

const (
	goodServer = `server: "https://edge.example.com:6443"`
	goodUser   = `token: marked-s3cret-token`
)

func TestParse_Refuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte(marked), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		secret *corev1.Secret
		want   string
	}{
		"no kubeconfig":          {&corev1.Secret{ObjectMeta: secretOf("").ObjectMeta}, "no key kubeconfig in its data; add it"},
		"an empty kubeconfig":    {secretOf(""), "no key kubeconfig in its data; add it"},
		"no YAML":                {secretOf("\tmarked-s3cret: ["), "the key kubeconfig is not a kubeconfig"},
		"a bare credential":      {secretOf("marked-s3cret"), "the key kubeconfig is not a kubeconfig"},
		"a field of wrong type":  {secretOf(document(goodServer, `token: [marked-s3cret]`)), "the key kubeconfig is not a kubeconfig"},
		"another kind":           {secretOf(`{apiVersion: v1, kind: Secret, data: {token: marked-s3cret}}`), "the key kubeconfig is not a kubeconfig"},
		"data that is no base64": {secretOf(document(goodServer, `client-key-data: "marked-s3cret!"`)), "the key kubeconfig is not a kubeconfig"},
		"two users of one name": {
			secretOf(strings.Replace(document(goodServer, goodUser), "users: [", "users: [{name: u, user: {token: marked-s3cret}}, ", 1)),
			"or gives one name twice",
		},
		"a user that runs a command": {
			secretOf(document(goodServer, `exec: {command: marked-s3cret, apiVersion: client.authentication.k8s.io/v1}`)),
			`user "u" runs a command (exec); put a token or client-certificate-data in its place`,
		},
		"a user with a plugin": {
			secretOf(document(goodServer, `auth-provider: {name: oidc, config: {id-token: marked-s3cret}}`)),
			`user "u" uses a plugin (auth-provider)`,
		},
		"a token in a file":       {secretOf(document(goodServer, goodUser+`, tokenFile: `+file)), `user "u" reads a file (tokenFile); put the token itself in token`},
		"a certificate in a file": {secretOf(document(goodServer, `client-certificate: `+file)), `user "u" reads a file (client-certificate)`},
		"a key in a file":         {secretOf(document(goodServer, `client-key: `+file)), `user "u" reads a file (client-key)`},
		"an authority in a file": {
			secretOf(document(goodServer+`, certificate-authority: `+file, goodUser)),
			`cluster "c" reads a file (certificate-authority); put its content in certificate-authority-data`,
		},
		"a command of a user that no context names": {
			secretOf(strings.Replace(document(goodServer, goodUser), "users: [", "users: [{name: idle, user: {exec: {command: marked-s3cret}}}, ", 1)),
			`user "idle" runs a command (exec)`,
		},
		"a file of a cluster that no context names": {
			secretOf(strings.Replace(document(goodServer, goodUser), "clusters: [", "clusters: [{name: idle, cluster: {"+goodServer+", certificate-authority: "+file+"}}, ", 1)),
			`cluster "idle" reads a file (certificate-authority)`,
		},
		"every fault is told": {
			secretOf(document(goodServer+`, certificate-authority: /a`, `client-key: /b`)),
			"user \"u\" reads a file (client-key); put its content in client-key-data\ncluster \"c\" reads a file",
		},
		"a token with a line break":     {secretOf(document(goodServer, `token: "marked-s3cret\n"`)), `user "u" has a token that no request can carry`},
		"no server":                     {secretOf(document("", goodUser)), `cluster "c": server must be a URL with https://`},
		"a server without a scheme":     {secretOf(document(`server: "edge.example.com:6443"`, goodUser)), `cluster "c": server must be a URL`},
		"a server with another scheme":  {secretOf(document(`server: "unix:///run/marked-s3cret"`, goodUser)), `cluster "c": server must be a URL`},
		"a server with a credential":    {secretOf(document(`server: "https://u:marked-s3cret@edge.example.com"`, goodUser)), `cluster "c": server must be a URL`},
		"a server with a query":         {secretOf(document(`server: "https://edge.example.com?token=marked-s3cret"`, goodUser)), `cluster "c": server must be a URL`},
		"a server that is no URL":       {secretOf(document(`server: "https://marked-s3cret:x"`, goodUser)), `cluster "c": server must be a URL`},
		"a proxy with a credential":     {secretOf(document(goodServer+`, proxy-url: "http://u:marked-s3cret@proxy"`, goodUser)), `cluster "c": proxy-url must be a URL`},
		"a proxy with another scheme":   {secretOf(document(goodServer+`, proxy-url: "ftp://proxy"`, goodUser)), `cluster "c": proxy-url must be a URL`},
		"no current context":            {secretOf(strings.Replace(document(goodServer, goodUser), "current-context: x", "current-context: ''", 1)), "has no current-context; set it"},
		"a current context that is not": {secretOf(strings.Replace(document(goodServer, goodUser), "current-context: x", "current-context: z", 1)), `has no context "z", its current-context`},
		"a context without a cluster":   {secretOf(strings.Replace(document(goodServer, goodUser), "cluster: c", "cluster: d", 1)), `has no cluster "d", which context "x" names`},
		"a context without a user":      {secretOf(strings.Replace(document(goodServer, goodUser), "user: u", "user: v", 1)), `has no user "v", which context "x" names`},
		"no credential":                 {secretOf(document(goodServer, "")), `user "u" has no credential; add a token or client-certificate-data`},
		"a certificate without its key": {secretOf(document(goodServer, `client-certificate-data: bWFya2VkLXMzY3JldA==`)), `user "u" needs both client-certificate-data and client-key-data`},
		"a pair that is not PEM": {
			secretOf(document(goodServer, `client-certificate-data: bWFya2VkLXMzY3JldA==, client-key-data: bWFya2VkLXMzY3JldA==`)),
			`context "x": certificate-authority-data, client-certificate-data and client-key-data must be PEM`,
		},
		"an authority that is not PEM": {secretOf(document(goodServer+`, certificate-authority-data: bWFya2VkLXMzY3JldA==`, goodUser)), `must be PEM`},
		"a token and a password":       {secretOf(document(goodServer, goodUser+`, username: u, password: marked-s3cret`)), `user "u" has a token and a password; remove one`},
		"groups without a user":        {secretOf(document(goodServer, goodUser+`, as-groups: [g]`)), `context "x" can't be used`},

		"no namespace":               {secretOf(document(goodServer, goodUser), " "), "the key namespaces is empty; name a namespace, or remove the key"},
		"a namespace in capitals":    {secretOf(document(goodServer, goodUser), "openstack,Edge"), `the key namespaces has an entry "Edge" that is no name of a namespace`},
		"namespaces apart by blanks": {secretOf(document(goodServer, goodUser), "one two"), `has an entry "one two"`},
		"an empty entry":             {secretOf(document(goodServer, goodUser), "one,,two"), "the key namespaces has an empty entry; remove the comma"},
		"an entry that is too long":  {secretOf(document(goodServer, goodUser), "marked-s3cret"+strings.Repeat("x", 51)), "has an entry of 64 bytes; a namespace has at most 63"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := clusters.Parse(tc.secret)
			if err == nil {
				t.Fatal("accepted")
			}
			text := err.Error()
			if !strings.HasPrefix(text, "Secret c5c3-clusters/edge: ") || !strings.Contains(text, tc.want) {
				t.Errorf("error %q, want it to name the Secret and %q", text, tc.want)
			}
			if strings.Contains(text, marked) || strings.Contains(text, "bWFya2Vk") || strings.Contains(text, file) {
				t.Errorf("error quotes what it must not: %q", text)
			}
		})
	}
}

func TestParse_Accepts(t *testing.T) {
	type result struct {
		Host, Token, Proxy, As string
		ServerName             string
		Insecure               bool
		Namespaces             []string
	}
	const host = "https://edge.example.com:6443"
	tests := map[string]struct {
		secret *corev1.Secret
		want   result
	}{
		"a token":         {secretOf(document(goodServer, goodUser)), result{Host: host, Token: "marked-s3cret-token"}},
		"a path":          {secretOf(document(`server: "https://edge.example.com/k8s/c-1"`, goodUser)), result{Host: "https://edge.example.com/k8s/c-1", Token: "marked-s3cret-token"}},
		"another person":  {secretOf(document(goodServer, goodUser+`, as: nova`)), result{Host: host, Token: "marked-s3cret-token", As: "nova"}},
		"another name":    {secretOf(document(goodServer+`, tls-server-name: kubernetes`, goodUser)), result{Host: host, Token: "marked-s3cret-token", ServerName: "kubernetes"}},
		"no verification": {secretOf(document(goodServer+`, insecure-skip-tls-verify: true`, goodUser)), result{Host: host, Token: "marked-s3cret-token", Insecure: true}},
		"a proxy":         {secretOf(document(goodServer+`, proxy-url: "socks5://proxy:1080"`, goodUser)), result{Host: host, Token: "marked-s3cret-token", Proxy: "socks5://proxy:1080"}},
		"namespaces, blanks and doubles aside": {
			secretOf(document(goodServer, goodUser), " openstack ,edge\n,openstack"),
			result{Host: host, Token: "marked-s3cret-token", Namespaces: []string{"edge", "openstack"}},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r, err := clusters.Parse(tc.secret)
			if err != nil {
				t.Fatal(err)
			}
			got := result{
				Host: r.Config.Host, Token: r.Config.BearerToken, As: r.Config.Impersonate.UserName,
				ServerName: r.Config.ServerName, Insecure: r.Config.Insecure, Namespaces: r.Namespaces,
			}
			if r.Config.Proxy != nil {
				proxy, err := r.Config.Proxy(nil)
				if err != nil {
					t.Fatal(err)
				}
				got.Proxy = proxy.String()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A kubeconfig is written by people; whatever it is, it is refused or accepted.
func FuzzParse(f *testing.F) {
	f.Add([]byte(document(goodServer, goodUser)), []byte("openstack"))
	f.Add([]byte(`{clusters: [null], users: [null], contexts: [null], current-context: ""}`), []byte(""))
	f.Add([]byte(`{kind: Config, users: [{name: u, user: null}]}`), []byte(","))
	f.Fuzz(func(_ *testing.T, kubeconfig, namespaces []byte) {
		_, _ = clusters.Parse(&corev1.Secret{Data: map[string][]byte{"kubeconfig": kubeconfig, "namespaces": namespaces}})
	})
}

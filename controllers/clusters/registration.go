package clusters

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"
)

// Label marks a Secret as a registration where its value is exactly "true".
const Label = "sigs.k8s.io/multicluster-runtime-kubeconfig"

// DefaultNamespace is where an operator looks for registrations that was not told another.
const DefaultNamespace = "c5c3-clusters"

// registered is the only value of Label that registers.
const registered = "true"

// Keys of a registration's data.
const (
	keyKubeconfig = "kubeconfig"
	keyNamespaces = "namespaces"
)

// Registration is a target cluster as its Secret registers it.
type Registration struct {
	// Config holds the credential. It has no rate limit and no user agent yet.
	Config *rest.Config
	// Namespaces is the scope of the cache, sorted; nil is the whole cluster.
	Namespaces []string

	// fingerprint changes with every byte that matters to an engagement.
	fingerprint fingerprint
}

type fingerprint [sha256.Size]byte

// Find reads the registration of a cluster. Its error is multicluster.ErrClusterNotFound
// where there is none, or none that Parse accepts; the text then says why. Other errors
// are about reading.
func Find(ctx context.Context, reader client.Reader, namespace, name string) (Registration, error) {
	u := newSecret()
	switch err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, u); {
	case apierrors.IsNotFound(err):
		return Registration{}, multicluster.ErrClusterNotFound
	case err != nil:
		return Registration{}, fmt.Errorf("read Secret %s/%s: %w", namespace, name, err)
	}
	if !isRegistration(u) {
		return Registration{}, multicluster.ErrClusterNotFound
	}
	if u.GetDeletionTimestamp() != nil {
		// A finalizer must not keep a withdrawn credential in use.
		return Registration{}, fmt.Errorf("%w: Secret %s/%s is being deleted", multicluster.ErrClusterNotFound, namespace, name)
	}
	secret := &corev1.Secret{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, secret); err != nil {
		// Its text could quote the data.
		return Registration{}, fmt.Errorf("%w: Secret %s/%s can't be decoded", multicluster.ErrClusterNotFound, namespace, name)
	}
	r, err := Parse(secret)
	if err != nil {
		return Registration{}, fmt.Errorf("%w: %w", multicluster.ErrClusterNotFound, err)
	}
	return r, nil
}

// newSecret is unstructured: the manager's cache holds those already, and a typed one
// would cost a second informer over every Secret.
func newSecret() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	return u
}

func isRegistration(o client.Object) bool { return o.GetLabels()[Label] == registered }

// Parse reads a registration: the keys kubeconfig and namespaces of the Secret's data.
// It refuses whatever could read a file or run a program, in any user or cluster of the
// kubeconfig. It never does either itself, and its errors, which name Secret, entry and
// remedy, never quote a credential.
func Parse(secret *corev1.Secret) (Registration, error) {
	r, err := parse(secret.Data)
	if err != nil {
		return Registration{}, fmt.Errorf("Secret %s/%s: %w", secret.Namespace, secret.Name, err) //nolint:staticcheck // the kind's name
	}
	return r, nil
}

func parse(data map[string][]byte) (Registration, error) {
	raw := data[keyKubeconfig]
	if len(raw) == 0 {
		return Registration{}, fmt.Errorf("no key %s in its data; add it", keyKubeconfig)
	}
	kubeconfig, err := clientcmd.Load(raw)
	if err != nil {
		// The decoder's errors quote what they could not read, a whole list of users too.
		return Registration{}, fmt.Errorf("the key %s is not a kubeconfig, or gives one name twice; "+
			"check it with kubectl --kubeconfig", keyKubeconfig)
	}
	if err := errors.Join(checkUsers(kubeconfig.AuthInfos), checkServers(kubeconfig.Clusters)); err != nil {
		return Registration{}, err
	}
	config, err := restConfig(kubeconfig)
	if err != nil {
		return Registration{}, err
	}
	namespaces, scoped := data[keyNamespaces]
	r := Registration{Config: config, fingerprint: fingerprintOf(raw, namespaces, scoped)}
	if scoped {
		r.Namespaces, err = parseNamespaces(string(namespaces))
	}
	return r, err
}

// checkUsers refuses every user that needs more than the document itself.
func checkUsers(users map[string]*clientcmdapi.AuthInfo) error {
	var all []error
	for _, name := range slices.Sorted(maps.Keys(users)) {
		u := users[name]
		refuse := func(is bool, why string) {
			if is {
				all = append(all, fmt.Errorf("user %q %s", name, why))
			}
		}
		refuse(u.Exec != nil, "runs a command (exec); put a token or client-certificate-data in its place")
		refuse(u.AuthProvider != nil, "uses a plugin (auth-provider); put a token or client-certificate-data in its place")
		refuse(u.TokenFile != "", "reads a file (tokenFile); put the token itself in token")
		refuse(u.ClientCertificate != "", "reads a file (client-certificate); put its content in client-certificate-data")
		refuse(u.ClientKey != "", "reads a file (client-key); put its content in client-key-data")
		refuse(!httpguts.ValidHeaderFieldValue(u.Token), "has a token that no request can carry; write it without line breaks")
	}
	return errors.Join(all...)
}

// checkServers refuses every cluster that needs more than the document itself.
func checkServers(servers map[string]*clientcmdapi.Cluster) error {
	var all []error
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		s := servers[name]
		if s.CertificateAuthority != "" {
			all = append(all, fmt.Errorf("cluster %q reads a file (certificate-authority); "+
				"put its content in certificate-authority-data", name))
		}
		if !isURL(s.Server, "https", "http") {
			all = append(all, fmt.Errorf("cluster %q: server must be a URL with https://, a host, and no credential in it", name))
		}
		if s.ProxyURL != "" && !isURL(s.ProxyURL, "https", "http", "socks5") {
			all = append(all, fmt.Errorf("cluster %q: proxy-url must be a URL with https://, http:// or socks5://, a host, "+
				"and no credential in it", name))
		}
	}
	return errors.Join(all...)
}

// isURL is false for a URL with a user or a query: every error of a request would show it.
func isURL(s string, schemes ...string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Hostname() != "" && slices.Contains(schemes, u.Scheme) &&
		u.User == nil && u.RawQuery == "" && u.Fragment == "" && u.Opaque == ""
}

// restConfig makes a client configuration of the current context, from checked entries.
func restConfig(kubeconfig *clientcmdapi.Config) (*rest.Config, error) {
	name := kubeconfig.CurrentContext
	if name == "" {
		return nil, errors.New("the kubeconfig has no current-context; set it")
	}
	current := kubeconfig.Contexts[name]
	if current == nil {
		return nil, fmt.Errorf("the kubeconfig has no context %q, its current-context; add it", name)
	}
	if kubeconfig.Clusters[current.Cluster] == nil {
		return nil, fmt.Errorf("the kubeconfig has no cluster %q, which context %q names; add it", current.Cluster, name)
	}
	user := kubeconfig.AuthInfos[current.AuthInfo]
	if user == nil {
		return nil, fmt.Errorf("the kubeconfig has no user %q, which context %q names; add it", current.AuthInfo, name)
	}
	byPassword := user.Username != "" || user.Password != ""
	switch {
	case (len(user.ClientCertificateData) == 0) != (len(user.ClientKeyData) == 0):
		return nil, fmt.Errorf("user %q needs both client-certificate-data and client-key-data; add the other", current.AuthInfo)
	case user.Token != "" && byPassword:
		return nil, fmt.Errorf("user %q has a token and a password; remove one", current.AuthInfo)
	case user.Token == "" && !byPassword && len(user.ClientCertificateData) == 0:
		return nil, fmt.Errorf("user %q has no credential; add a token or client-certificate-data", current.AuthInfo)
	}
	config, err := clientcmd.NewDefaultClientConfig(*kubeconfig, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("context %q can't be used; check it with kubectl --kubeconfig", name)
	}
	if _, err := rest.TLSConfigFor(config); err != nil {
		return nil, fmt.Errorf("context %q: certificate-authority-data, client-certificate-data and client-key-data "+
			"must be PEM, the latter two of one pair, and the first is at odds with insecure-skip-tls-verify", name)
	}
	return config, nil
}

// parseNamespaces reads a list of namespaces with commas, blanks around each allowed.
func parseNamespaces(list string) ([]string, error) {
	if strings.TrimSpace(list) == "" {
		return nil, fmt.Errorf("the key %s is empty; name a namespace, or remove the key to watch the whole cluster", keyNamespaces)
	}
	var out []string
	for entry := range strings.SplitSeq(list, ",") {
		entry = strings.TrimSpace(entry)
		switch {
		case entry == "":
			return nil, fmt.Errorf("the key %s has an empty entry; remove the comma", keyNamespaces)
		case len(entry) > validation.DNS1123LabelMaxLength:
			return nil, fmt.Errorf("the key %s has an entry of %d bytes; a namespace has at most %d",
				keyNamespaces, len(entry), validation.DNS1123LabelMaxLength)
		case len(validation.IsDNS1123Label(entry)) > 0:
			return nil, fmt.Errorf("the key %s has an entry %q that is no name of a namespace; "+
				"use lower case letters, digits and -", keyNamespaces, entry)
		}
		out = append(out, entry)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// fingerprintOf tells a key that is there and empty from one that is absent.
func fingerprintOf(kubeconfig, namespaces []byte, scoped bool) fingerprint {
	b := binary.BigEndian.AppendUint64(nil, uint64(len(kubeconfig)))
	b = append(b, kubeconfig...)
	if scoped {
		b = append(b, ',')
		b = append(b, namespaces...)
	}
	return sha256.Sum256(b)
}

package nova

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/ini"
	"github.com/c5c3/nova-operator/render/url"
)

// Keys of the Secrets this operator reads and writes.
const (
	keyUsername     = "username"
	keyPassword     = "password"
	keyHost         = "host"
	keyPort         = "port"
	keyConnection   = "connection"
	keyTransportURL = "transport_url"
	keySharedSecret = "shared_secret"
)

// Where the TLS files of each schema are mounted: outside /etc/nova, because a mount
// point can't be made inside a read-only ConfigMap mount.
const (
	apiTLSDir  = "/etc/nova-db-tls/api/"
	cellTLSDir = "/etc/nova-db-tls/cell/"
)

// dbConnectionsStep derives the connection of both schemas from the credentials of
// this pass, API first.
func dbConnectionsStep(p *pass) {
	n := p.nova
	p.credentials.api.dsn = connection(n, &n.Spec.APIDatabase, n.Name+suffixAPIDatabase, apiTLSDir, p.credentials.api)
	p.credentials.cell.dsn = connection(n, &n.Spec.Database, n.Name, cellTLSDir, p.credentials.cell)
}

// connection is the SQLAlchemy URL of one schema. In managed Static mode the operator
// makes the login, so its name is the instance's and not the Secret's.
func connection(n *v1alpha1.Nova, db *v1alpha1.DatabaseSpec, instance, tlsDir string, l login) render.Sensitive {
	user, host := l.user.Reveal(), db.Host
	if db.Managed() {
		host = db.ClusterRef.Name + "." + n.Namespace + ".svc"
		if db.EffectiveCredentialsMode() == v1alpha1.CredentialsModeStatic {
			user = instance
		}
	}
	return render.Sensitive(url.Database{
		User: user, Password: l.password.Reveal(), Host: host, Port: databasePort(db),
		Schema: db.Database, Query: tlsQuery(db.TLS, tlsDir),
	}.String())
}

func databasePort(db *v1alpha1.DatabaseSpec) int32 {
	if db.Port == 0 {
		return v1alpha1.DefaultDatabasePort
	}
	return db.Port
}

// tlsQuery are the parameters of a connection that SQLAlchemy hands to PyMySQL, in one
// argument: it knows ssl_ca, ssl_cert, ssl_key and ssl_check_hostname. With the CA the
// server's certificate is always verified, so the modes differ in whether its name is.
//
// PyMySQL's own ssl_verify_cert and ssl_verify_identity must not be there: SQLAlchemy
// leaves them beside that argument, and PyMySQL then takes them for all there is and
// drops CA and client certificate. Source: SQLAlchemy 1.4 and 2.0, PyMySQL 1.0 and 1.1.
func tlsQuery(tls *v1alpha1.DatabaseTLSSpec, dir string) map[string]string {
	if !tls.Enabled() {
		return nil
	}
	return map[string]string{
		"ssl_ca": dir + "ca.crt", "ssl_cert": dir + "tls.crt", "ssl_key": dir + "tls.key",
		"ssl_check_hostname": strconv.FormatBool(tls.EffectiveMode() == v1alpha1.DatabaseTLSVerifyFull),
	}
}

// derived is a Secret with one key that pods read through the environment: the value
// is encoded so that oslo.config reads the credential as it is stored.
func derived(suffix, component, key string, value func(*credentials) render.Sensitive) builder {
	return func(p *pass) (render.Resource, error) {
		encoded := ini.Env(value(&p.credentials).Reveal())
		return corev1ac.Secret(p.nova.Name+suffix, p.nova.Namespace).
			WithLabels(labelsOf(p.nova).Component(component)).
			WithType(corev1.SecretTypeOpaque).
			WithData(map[string][]byte{key: []byte(encoded)}), nil
	}
}

// messagingCAKey is the key of the broker's CA bundle.
func messagingCAKey(n *v1alpha1.Nova) string {
	if key := strings.TrimSpace(n.Spec.Messaging.TLS.CABundleSecretRef.Key); key != "" {
		return key
	}
	return v1alpha1.DefaultMessagingCAKey
}

package clusters_test

import (
	"strings"
	"sync"
	"testing"

	"go.uber.org/zap/zapcore"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/c5c3/nova-operator/test/cluster"
)

func TestMain(m *testing.M) {
	// From 8 on client-go writes the bodies of requests.
	logger := zap.New(zap.WriteTo(logs), zap.Level(zapcore.Level(-7)))
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)
	cluster.Main(m, cluster.Options{Nodes: -1})
}

// marked is part of every credential that is made up in these tests.
const marked = "marked-s3cret"

// logs is what every manager and client of this binary logged.
var logs = &logbook{}

type logbook struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logbook) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// kubeconfigOf writes a client configuration with everything in it, after a change.
func kubeconfigOf(t *testing.T, config *rest.Config, change ...func(*clientcmdapi.Cluster, *clientcmdapi.AuthInfo)) []byte {
	t.Helper()
	config = rest.CopyConfig(config)
	if err := rest.LoadTLSFiles(config); err != nil {
		t.Fatal(err)
	}
	server := &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData, TLSServerName: config.ServerName}
	user := &clientcmdapi.AuthInfo{Token: config.BearerToken, ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}
	for _, c := range change {
		c(server, user)
	}
	raw, err := clientcmd.Write(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"target": server},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"admin": user},
		Contexts:       map[string]*clientcmdapi.Context{"way": {Cluster: "target", AuthInfo: "admin"}},
		CurrentContext: "way",
	})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// byToken makes a token the only credential.
func byToken(token string) func(*clientcmdapi.Cluster, *clientcmdapi.AuthInfo) {
	return func(_ *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) {
		*user = clientcmdapi.AuthInfo{Token: token}
	}
}

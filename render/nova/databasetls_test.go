package nova

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/util/cert"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render/ini/initest"
	"github.com/c5c3/nova-operator/render/url"
)

// tlsScript says how PyMySQL would verify a server, given a URL to SQLAlchemy.
const tlsScript = `
import json, ssl, sys
import pymysql
from sqlalchemy import create_engine
from sqlalchemy.engine.url import make_url

def outcome(text):
    _, arguments = create_engine(text).dialect.create_connect_args(make_url(text))
    arguments.pop('client_flag', None)
    context = pymysql.Connection(defer_connect=True, **arguments).ctx
    return {
        'Verified': context.verify_mode == ssl.CERT_REQUIRED, 'Named': context.check_hostname,
        'OurCA': len(context.get_ca_certs()) == 1, 'Client': 'cert' in arguments['ssl'] and 'ssl_cert' not in arguments,
    }

print(json.dumps([outcome(text) for text in json.load(sys.stdin)]))
`

func TestDatabaseTLS_LibrariesVerifyWhatTheModeSays(t *testing.T) {
	type outcome struct{ Verified, Named, OurCA, Client bool }
	want := map[string]outcome{
		"":                             {true, false, true, true}, // require
		"prefer":                       {true, false, true, true},
		"require":                      {true, false, true, true},
		v1alpha1.DatabaseTLSVerifyCA:   {true, false, true, true},
		v1alpha1.DatabaseTLSVerifyFull: {true, true, true, true},
	}
	dir := t.TempDir() + "/"
	chain, key, err := cert.GenerateSelfSignedCertKey("db.example.com", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"tls.crt": chain, "tls.key": key, "ca.crt": chain} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var modes, urls []string
	for mode := range want {
		modes = append(modes, mode)
		urls = append(urls, url.Database{
			User: "u", Password: "p", Host: "db.example.com", Port: 3306, Schema: "s",
			Query: tlsQuery(&v1alpha1.DatabaseTLSSpec{Mode: mode}, dir),
		}.String())
	}
	var got []outcome
	initest.Python(t, "sqlalchemy, pymysql", tlsScript, nil, urls, &got)
	for i, mode := range modes {
		if diff := cmp.Diff(want[mode], got[i]); diff != "" {
			t.Errorf("mode %q: %s", mode, diff)
		}
	}
}

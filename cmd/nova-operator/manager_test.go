package main

import (
	"strings"
	"testing"
)

func TestManager_RefusesFlagsThatContradict(t *testing.T) {
	for name, tc := range map[string]struct{ args, want string }{
		"nothing to run": {
			args: "--enable-webhooks=false --enable-controllers=false",
			want: "nothing is left to run",
		},
		"webhooks of one namespace": {
			args: "--namespace=openstack",
			want: "--namespace openstack: needs --enable-webhooks=false",
		},
		"an unknown pull policy": {
			args: "--default-image-pull-policy=Sometimes",
			want: "must be Always, IfNotPresent or Never",
		},
		"a log of whole requests": {
			args: "--zap-log-level=8",
			want: "must be debug, info, error or a number up to 7",
		},
		"an unknown encoder": {
			args: "--zap-encoder=xml",
			want: "must be json or console",
		},
	} {
		t.Run(name, func(t *testing.T) {
			// No cluster: a manager that takes the flags fails for another reason.
			t.Setenv("KUBECONFIG", t.TempDir()+"/none")
			t.Setenv("HOME", t.TempDir())
			code, _, stderr := command(t, "", append([]string{"manager"}, strings.Fields(tc.args)...)...)
			if code == 0 || !strings.Contains(stderr, tc.want) {
				t.Errorf("exit %d: %s", code, stderr)
			}
		})
	}
}

func TestManager_Defaults(t *testing.T) {
	flags := newManagerCommand().Flags()
	for name, want := range map[string]string{
		"metrics-bind-address":      ":8080",
		"health-probe-bind-address": ":8081",
		"leader-elect":              "false",
		"enable-webhooks":           "true",
		"enable-controllers":        "true",
		"webhook-port":              "9443",
		"webhook-cert-dir":          "/tmp/k8s-webhook-server/serving-certs",
		"sync-period":               "10m0s",
		"namespace":                 "",
		"max-concurrent-reconciles": "2",
		"default-image-pull-policy": "",
	} {
		if flag := flags.Lookup(name); flag == nil || flag.DefValue != want {
			t.Errorf("--%s: want default %q", name, want)
		}
	}
}

package nova_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/test/cluster"
	"github.com/c5c3/nova-operator/test/surroundings"
	"github.com/c5c3/nova-operator/test/world"
)

// derivedSecrets are what a Nova with a remote contract makes of its credentials.
var derivedSecrets = []string{
	"nova-api-db-connection", "nova-db-connection", "nova-metadata-secret-env", "nova-service-user-env",
	"nova-transport-url", "nova-compute-config", "nova-remote-compute-config",
}

// snapshot is what a rotation may change and what it must not.
type snapshot struct {
	// Generations of the Deployments: a change is a roll.
	Generations map[string]int64
	// Data of the derived Secrets, and their UIDs.
	Data map[string]map[string][]byte
	UIDs map[string]string
	// DBSync is the UID of the Job.
	DBSync string
}

func (w *novaWorld) snapshot() snapshot {
	w.T.Helper()
	s := snapshot{Generations: map[string]int64{}, Data: map[string]map[string][]byte{}, UIDs: map[string]string{}}
	for _, name := range roles {
		s.Generations[name] = w.deployment(name).Generation
	}
	for _, name := range derivedSecrets {
		secret := &corev1.Secret{}
		if err := w.Client.Get(w.T.Context(), client.ObjectKey{Namespace: w.Namespace, Name: name}, secret); err != nil {
			w.T.Fatal(err)
		}
		s.Data[name], s.UIDs[name] = secret.Data, string(secret.UID)
	}
	s.DBSync = string(w.Get(render.KindJob, "nova-db-sync").GetUID())
	return s
}

// everything is a Nova with each credential it can have, and their Secrets.
func everything(t *testing.T) *novaWorld {
	t.Helper()
	w := newWorld(t)
	w.Inputs()
	w.Secret("nova-ca", map[string]string{"ca.crt": "s3cret-ca"})
	w.Secret("nova-remote", bus("rabbit://remote:s3cret@bus.example.com:5671/"))
	w.run()
	n := w.Minimal()
	remote(n)
	w.Create(n)
	w.AwaitReady()
	return w
}

// defaultUser is what the surroundings make for a broker.
func (w *novaWorld) defaultUser() map[string]string {
	return map[string]string{
		"username": "default_user", "password": surroundings.Password, "host": "rabbitmq." + w.Namespace + ".svc", "port": "5672",
	}
}

func TestRotation_AClosedGateTouchesNothing(t *testing.T) {
	t.Parallel()
	w := everything(t)
	before := w.snapshot()
	for _, tc := range []struct {
		secret string
		full   map[string]string
		reason string
	}{
		{"nova-api-db", world.Novas.Secrets["nova-api-db"], v1alpha1.ReasonWaitingForDBCredentials},
		{"nova-db", world.Novas.Secrets["nova-db"], v1alpha1.ReasonWaitingForDBCredentials},
		{"nova-service", world.Novas.Secrets["nova-service"], v1alpha1.ReasonWaitingForServiceUserCredentials},
		{"nova-shared", world.Novas.Secrets["nova-shared"], v1alpha1.ReasonWaitingForMetadataSharedSecret},
		{"nova-ca", map[string]string{"ca.crt": "s3cret-ca"}, v1alpha1.ReasonWaitingForMessagingCA},
		{"rabbitmq-default-user", w.defaultUser(), v1alpha1.ReasonWaitingForMessagingCredentials},
	} {
		empty := map[string]string{}
		for key := range tc.full {
			empty[key] = "\n"
		}
		emptied := tc.reason
		if tc.secret == "nova-shared" {
			emptied = v1alpha1.ReasonMetadataSharedSecretEmpty
		}
		for _, spoilt := range []struct {
			how    string
			do     func()
			reason string
		}{
			{"deleted", func() { w.Remove(render.KindSecret, tc.secret) }, tc.reason},
			{"without keys", func() { w.Secret(tc.secret, nil) }, tc.reason},
			{"with empty values", func() { w.Secret(tc.secret, empty) }, emptied},
		} {
			w.promptly(func() {
				spoilt.do()
				w.AwaitReason(v1alpha1.ConditionSecretsReady, spoilt.reason)
				w.AwaitReason(v1alpha1.ConditionReady, v1alpha1.ReasonNotAllReady)
			})
			if diff := cmp.Diff(before, w.snapshot()); diff != "" {
				t.Errorf("%s %s: %s", tc.secret, spoilt.how, diff)
			}
		}
		w.promptly(func() {
			w.Secret(tc.secret, tc.full)
			w.AwaitReady()
		})
		if diff := cmp.Diff(before, w.snapshot()); diff != "" {
			t.Errorf("%s restored: %s", tc.secret, diff)
		}
	}
}

func TestRotation_RollsWhatCarriesTheDigest(t *testing.T) {
	t.Parallel()
	w := everything(t)
	all := []string{"nova", "nova-conductor", "nova-metadata", "nova-novncproxy", "nova-scheduler"}
	user := w.defaultUser()
	user["password"] = "s3cret-new"
	for _, tc := range []struct {
		secret string
		data   map[string]string
		// rolls are the Deployments, changes the derived Secrets with the changed keys.
		rolls   []string
		changes map[string]string
	}{
		{
			"nova-api-db",
			map[string]string{"username": "u", "password": "s3cret-new"},
			all,
			map[string]string{"nova-api-db-connection": "connection"},
		},
		{
			"nova-db",
			map[string]string{"username": "u", "password": "s3cret-new"},
			all,
			map[string]string{"nova-db-connection": "connection"},
		},
		{
			"nova-service",
			map[string]string{"password": "s3cret-new"},
			all,
			map[string]string{"nova-service-user-env": "password", "nova-compute-config": "password password_env", "nova-remote-compute-config": "password password_env"},
		},
		{
			"nova-shared",
			map[string]string{"shared_secret": "s3cret-new"},
			[]string{"nova-metadata"},
			map[string]string{
				"nova-metadata-secret-env": "shared_secret", "nova-compute-config": "metadata_proxy_shared_secret", "nova-remote-compute-config": "metadata_proxy_shared_secret",
			},
		},
		{
			"nova-ca",
			map[string]string{"ca.crt": "s3cret-new"},
			nil,
			map[string]string{"nova-compute-config": "ca.crt", "nova-remote-compute-config": "ca.crt"},
		},
		{
			"rabbitmq-default-user",
			user,
			all,
			map[string]string{"nova-transport-url": "transport_url", "nova-compute-config": "transport_url"},
		},
		{
			"nova-remote",
			bus("rabbit://remote:s3cret-new@bus.example.com:5671/"),
			nil,
			map[string]string{"nova-remote-compute-config": "transport_url"},
		},
		{"nova-shared", map[string]string{"shared_secret": "s3cret-new\n"}, nil, nil},           // a trailing newline is no rotation
		{"nova-db", map[string]string{"username": "other", "password": "s3cret-new"}, nil, nil}, // the login is the operator's
	} {
		before := w.snapshot()
		w.promptly(func() {
			w.Secret(tc.secret, tc.data)
			cluster.Eventually(t, "the rotation of "+tc.secret, func(context.Context) (bool, error) {
				now := w.snapshot()
				if diff := cmp.Diff(tc.changes, changedKeys(before, now)) + cmp.Diff(tc.rolls, rolled(before, now)); diff != "" {
					return false, fmt.Errorf("%s", diff)
				}
				return true, nil
			})
		})
		w.pass()
		w.awaitRolled()
		after := w.snapshot()
		if diff := cmp.Diff(tc.changes, changedKeys(before, after)) + cmp.Diff(tc.rolls, rolled(before, after)); diff != "" {
			t.Errorf("%s: %s", tc.secret, diff)
		}
		if diff := cmp.Diff(before.UIDs, after.UIDs); diff != "" {
			t.Errorf("%s: a derived Secret is another object: %s", tc.secret, diff)
		}
		if before.DBSync != after.DBSync {
			t.Errorf("%s: db-sync ran again", tc.secret)
		}
	}
}

// awaitRolled waits until every Deployment is at its generation and the Nova is Ready.
func (w *novaWorld) awaitRolled() {
	w.T.Helper()
	w.AwaitReady()
	cluster.Eventually(w.T, "the Deployments to settle", func(context.Context) (bool, error) {
		for _, name := range roles {
			d := w.deployment(name)
			if d.Status.ObservedGeneration < d.Generation || d.Status.UpdatedReplicas < *d.Spec.Replicas || d.Status.Replicas != d.Status.UpdatedReplicas {
				return false, fmt.Errorf("%s rolls", name)
			}
		}
		return true, nil
	})
	w.AwaitReady()
}

// changedKeys are the keys of the derived Secrets that differ, by Secret.
func changedKeys(before, after snapshot) map[string]string {
	var out map[string]string
	for name, data := range after.Data {
		var keys []string
		for _, key := range sortedKeys(data) {
			if string(data[key]) != string(before.Data[name][key]) {
				keys = append(keys, key)
			}
		}
		if len(keys)+len(data)-len(before.Data[name]) != 0 {
			if out == nil {
				out = map[string]string{}
			}
			out[name] = strings.Join(keys, " ")
		}
	}
	return out
}

// rolled are the Deployments whose generation moved.
func rolled(before, after snapshot) []string {
	var out []string
	for _, name := range sortedKeys(after.Generations) {
		if before.Generations[name] != after.Generations[name] {
			out = append(out, name)
		}
	}
	return out
}

package nova_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/test/cluster"
	"github.com/c5c3/nova-operator/test/world"
)

// provisioned are the MariaDB objects the Nova owns.
func (w *novaWorld) provisioned() []string {
	w.T.Helper()
	var out []string
	for _, entry := range w.inventory() {
		kind, _, _ := strings.Cut(entry, "/")
		if kind == "Database" || kind == "User" || kind == "Grant" {
			out = append(out, entry)
		}
	}
	return out
}

func TestDatabase_IsProvisionedInOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, kind := range []string{"MariaDB", "Database", "User", "Grant"} {
		w.Surroundings.Pause(kind)
	}
	w.Inputs()
	w.run()
	w.Create(w.Minimal())
	w.AwaitSays(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonClusterNotReady, `MariaDB cluster "mariadb" is not ready`)

	const login = "MariaDB User or Grant CR is not ready"
	order := []struct {
		kind    schema.GroupVersionKind
		name    string
		message string
	}{
		{render.KindDatabase, "nova-api", "MariaDB Database CR is not ready"},
		{render.KindUser, "nova-api", login},
		{render.KindGrant, "nova-api", login},
		{render.KindDatabase, "nova", "MariaDB Database CR is not ready"},
		{render.KindDatabase, "nova-nova-cell0", `MariaDB Database CR for schema "nova_cell0" is not ready`},
		{render.KindUser, "nova", login},
		{render.KindGrant, "nova", login},
		{render.KindGrant, "nova-nova-cell0", `MariaDB Grant CR for schema "nova_cell0" is not ready`},
	}
	w.play(render.KindMariaDB, "mariadb")
	var made []string
	for _, o := range order {
		made = append(made, o.kind.Kind+"/"+o.name)
		w.promptly(func() {
			cluster.Eventually(t, o.kind.Kind+" "+o.name, func(context.Context) (bool, error) { return w.Get(o.kind, o.name) != nil, nil })
			w.AwaitSays(v1alpha1.ConditionDatabaseReady, v1alpha1.ReasonWaitingForDatabase, o.message)
		})
		if diff := cmp.Diff(slices.Sorted(slices.Values(made)), w.provisioned()); diff != "" {
			t.Errorf("while %s %s is not ready: %s", o.kind.Kind, o.name, diff)
		}
		if w.dbSync() != "" {
			t.Fatalf("db-sync was started before %s %s", o.kind.Kind, o.name)
		}
		w.play(o.kind, o.name)
	}
	w.AwaitReady()

	// A server that turns unready later closes the schema gate and touches nothing.
	before := w.deployment("nova").Generation
	for _, o := range []struct {
		kind            schema.GroupVersionKind
		name            string
		reason, message string
	}{
		{render.KindMariaDB, "mariadb", v1alpha1.ReasonClusterNotReady, `MariaDB cluster "mariadb" is not ready`},
		{render.KindGrant, "nova", v1alpha1.ReasonWaitingForDatabase, login},
	} {
		w.promptly(func() {
			w.Report(o.kind, o.name, world.ReadyIs(metav1.ConditionFalse))
			w.AwaitSays(v1alpha1.ConditionDatabaseReady, o.reason, o.message)
			w.AwaitReason(v1alpha1.ConditionReady, v1alpha1.ReasonNotAllReady)
			w.Report(o.kind, o.name, world.ReadyIs(metav1.ConditionTrue))
			w.AwaitReady()
		})
	}
	if w.deployment("nova").Generation != before {
		t.Error("the API was rolled")
	}
}

func TestDatabase_AnEngineIssuesTheLogin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Inputs()
	w.run()
	n := w.Minimal()
	n.Spec.APIDatabase.CredentialsMode, n.Spec.Database.CredentialsMode = v1alpha1.CredentialsModeDynamic, v1alpha1.CredentialsModeDynamic
	w.Create(n)
	w.AwaitReady()
	databases := []string{"Database/nova", "Database/nova-api", "Database/nova-nova-cell0"}
	if diff := cmp.Diff(databases, w.provisioned()); diff != "" {
		t.Error(diff)
	}
	if got := w.data("nova-db-connection")["connection"]; !strings.Contains(got, "//u:") {
		t.Error("the login of the Secret is not the one of the connection")
	}

	// Back and forth: what holds data or a login is never removed by the spec.
	w.Edit(func(n *v1alpha1.Nova) { n.Spec.APIDatabase.CredentialsMode, n.Spec.Database.CredentialsMode = "", "" })
	cluster.Eventually(t, "the logins", func(context.Context) (bool, error) { return len(w.provisioned()) == 8, nil })
	w.AwaitReady()
	if got := w.data("nova-db-connection")["connection"]; !strings.Contains(got, "//nova:") {
		t.Error("the login of the operator is not the one of the connection")
	}
	w.Edit(func(n *v1alpha1.Nova) {
		n.Spec.APIDatabase.CredentialsMode, n.Spec.Database.CredentialsMode = v1alpha1.CredentialsModeDynamic, v1alpha1.CredentialsModeDynamic
	})
	cluster.Eventually(t, "the connection of the engine", func(context.Context) (bool, error) {
		return strings.Contains(w.data("nova-db-connection")["connection"], "//u:"), nil
	})
	w.pass()
	w.AwaitReady()
	if got := w.provisioned(); len(got) != 8 {
		t.Errorf("left of the static logins: %v", got)
	}
}

func TestDatabase_OfSomebodyElseIsNotProvisioned(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Inputs()
	w.Secret("nova-bus", bus("rabbit://u:s3cret@bus.example.com:5672/nova"))
	w.run()
	n := w.Minimal()
	brownfield(n)
	w.Create(n)
	w.AwaitReady()
	if got := w.provisioned(); got != nil {
		t.Errorf("provisioned on a foreign server: %v", got)
	}

	// A URL that turns bad is refused before it reaches a restarting pod.
	before, transport := map[string]int64{}, w.data("nova-transport-url")
	for _, name := range roles {
		before[name] = w.deployment(name).Generation
	}
	w.promptly(func() {
		w.Secret("nova-bus", bus("rabbit://u:s3cret-new@bus.example.com/nova"))
		w.AwaitReason(v1alpha1.ConditionSecretsReady, v1alpha1.ReasonTransportURLRejected)
	})
	w.pass()
	if diff := cmp.Diff(transport, w.data("nova-transport-url")); diff != "" {
		t.Error("the rejected URL was written")
	}
	for _, name := range roles {
		if w.deployment(name).Generation != before[name] {
			t.Errorf("%s was rolled", name)
		}
	}
	w.promptly(func() {
		w.Secret("nova-bus", bus("rabbit://u:s3cret@bus.example.com:5672/nova"))
		w.AwaitReady()
	})
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/render/url"
)

// suffix makes another credential of one, as awkward as the first.
const suffix = `-2 $my_ip "'\ %s`

// changeSecret is `kubectl patch secret` of keys of a Secret.
func (r *rig) changeSecret(ctx context.Context, name string, values map[string]string) error {
	patch, err := json.Marshal(map[string]any{"stringData": values})
	if err != nil {
		return err
	}
	s := &corev1.Secret{}
	s.Namespace, s.Name = namespace, name
	return r.client.Patch(ctx, s, client.RawPatch(types.MergePatchType, patch), client.FieldOwner("kubectl"))
}

// digests are the values of an annotation on the pod templates of Deployments.
func (r *rig) digests(ctx context.Context, annotation string) (map[string]string, error) {
	list := &appsv1.DeploymentList{}
	if err := r.client.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, d := range list.Items {
		if value := d.Spec.Template.Annotations[annotation]; value != "" {
			found[d.Name] = value
		}
	}
	return found, nil
}

// rotation is one credential and how a person changes it.
type rotation struct {
	name       string
	annotation string
	rolls      []string
	change     func(context.Context, *rig) error
}

var rotations = []rotation{
	{"API database", "nova.c5c3.io/api-db-connection-hash", roles, func(ctx context.Context, r *rig) error {
		l := login{"nova api 2", r.credentials.APIDatabase.Password + suffix}
		if _, err := r.base.sql(ctx, account(l, r.credentials.APIDatabase.Schema)); err != nil {
			return err
		}
		r.credentials.APIDatabase.login = l
		return r.changeSecret(ctx, "nova-api-db", map[string]string{"username": l.Username, "password": l.Password})
	}},
	{"cell database", "nova.c5c3.io/db-connection-hash", roles, func(ctx context.Context, r *rig) error {
		schema := r.credentials.Database.Schema
		l := login{"nova cell 2", r.credentials.Database.Password + suffix}
		if _, err := r.base.sql(ctx, account(l, schema, schema+"_cell0")); err != nil {
			return err
		}
		r.credentials.Database.login = l
		return r.changeSecret(ctx, "nova-db", map[string]string{"username": l.Username, "password": l.Password})
	}},
	{"bus", "nova.c5c3.io/transport-url-hash", roles, func(ctx context.Context, r *rig) error {
		l := login{"nova bus 2", strings.ReplaceAll(r.credentials.Bus.Password+suffix, "/", "")}
		if err := r.base.addBusUser(ctx, l, r.credentials.BusVHost); err != nil {
			return err
		}
		r.credentials.Bus = l
		return r.changeSecret(ctx, "nova-bus", map[string]string{"transport_url": r.transportURL(portBus)})
	}},
	{"service user", "nova.c5c3.io/authtoken-hash", roles, func(ctx context.Context, r *rig) error {
		password := r.credentials.ServiceUser.Password + suffix
		if err := r.changeServiceUser(ctx, password); err != nil {
			return err
		}
		r.credentials.ServiceUser.Password = password
		return r.changeSecret(ctx, "nova-service-user", map[string]string{"password": password})
	}},
	{"metadata secret", "nova.c5c3.io/metadata-secret-hash", []string{"nova-metadata"}, func(ctx context.Context, r *rig) error {
		r.credentials.MetadataSecret += suffix
		return r.changeSecret(ctx, "nova-metadata", map[string]string{"shared_secret": r.credentials.MetadataSecret})
	}},
}

// transportURL is the broker's with the credentials of the moment.
func (r *rig) transportURL(port string) string {
	t := url.Transport{VirtualHost: r.credentials.BusVHost, Hosts: []url.Host{{
		User: r.credentials.Bus.Username, Password: r.credentials.Bus.Password, HasPassword: true, Name: "rabbitmq." + namespace + ".svc",
	}}}
	_, _ = fmt.Sscan(port, &t.Hosts[0].Port)
	return t.String()
}

// addBusUser makes an account at the running broker.
func (b *base) addBusUser(ctx context.Context, l login, vhost string) error {
	for _, args := range [][]string{{"add_user", "--", l.Username, l.Password}, {"set_permissions", "-p", vhost, "--", l.Username, ".*", ".*", ".*"}} {
		if _, err := chroot(ctx, b.root, "env", append([]string{"HOME=/var/lib/rabbitmq", "RABBITMQ_NODENAME=" + busNode, "/usr/lib/rabbitmq/bin/rabbitmqctl"}, args...)...); err != nil {
			return fmt.Errorf("make a user of the broker: %w", err)
		}
	}
	return nil
}

// changeServiceUser sets another password in Keystone, which ends the tokens of the old.
func (r *rig) changeServiceUser(ctx context.Context, password string) error {
	admin, err := r.admin(ctx)
	if err != nil {
		return err
	}
	identity := serviceURL("keystone", portKeystone) + "/v3/users"
	var found struct{ Users []struct{ ID string } }
	if err := admin.call(ctx, http.MethodGet, identity+"?name="+r.credentials.ServiceUser.Username, nil, &found); err != nil {
		return err
	}
	if len(found.Users) != 1 {
		return errors.New("the service user is gone")
	}
	return admin.call(ctx, http.MethodPatch, identity+"/"+found.Users[0].ID, map[string]any{"user": map[string]any{"password": password}}, nil)
}

// checkRotate changes each credential, one after the other, while the Nova is in use.
func checkRotate(ctx context.Context, r *rig) (string, error) {
	var notes []string
	for _, one := range rotations {
		use, err := r.startLoad(ctx)
		if err != nil {
			return "", err
		}
		start := time.Now()
		err = r.rotate(ctx, one)
		note, _ := use.stop()
		if err != nil {
			return strings.Join(notes, "; "), fmt.Errorf("%s: %w%s", one.name, err, r.podStates(context.WithoutCancel(ctx)))
		}
		say("    %s: %.0f s; %s", one.name, time.Since(start).Seconds(), note)
		notes = append(notes, fmt.Sprintf("%s %.0f s: %s", one.name, time.Since(start).Seconds(), note))
	}
	if _, err := checkMetadata(ctx, r); err != nil {
		return "", err
	}
	return strings.Join(notes, "; "), nil
}

// rotate changes one credential and waits until the workloads that read it have rolled.
// The compute starts anew too, as its pool would have it.
func (r *rig) rotate(ctx context.Context, one rotation) error {
	before, err := r.digests(ctx, one.annotation)
	if err != nil {
		return err
	}
	if err := one.change(ctx, r); err != nil {
		return err
	}
	if err := await(ctx, "the workloads to take it", func() (bool, error) {
		after, err := r.digests(ctx, one.annotation)
		for _, name := range one.rolls {
			if after[name] == before[name] {
				return false, err
			}
		}
		return true, err
	}); err != nil {
		return err
	}
	if err := r.restartComputes(ctx); err != nil {
		return err
	}
	return errors.Join(r.awaitRolled(ctx), r.awaitReady(ctx), r.awaitComputes(ctx))
}

// awaitRolled waits until every Deployment runs nothing but its newest pods.
func (r *rig) awaitRolled(ctx context.Context) error {
	return await(ctx, "the Deployments to roll", func() (bool, error) {
		list := &appsv1.DeploymentList{}
		if err := r.client.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return false, err
		}
		for _, d := range list.Items {
			s := d.Status
			if s.ObservedGeneration != d.Generation || s.UpdatedReplicas != *d.Spec.Replicas || s.ReadyReplicas != *d.Spec.Replicas || s.Replicas != *d.Spec.Replicas {
				return false, fmt.Errorf("%s hasn't rolled", d.Name)
			}
		}
		return true, nil
	})
}

// restartComputes replaces the pods of computes by new ones of the same identity, with
// the credentials of the moment. Deleted pods don't wait for the next restart as crashed
// containers do.
func (r *rig) restartComputes(ctx context.Context) error {
	pods := &corev1.PodList{}
	if err := r.client.List(ctx, pods, client.InNamespace(namespace), client.MatchingLabels{"app": "compute"}); err != nil {
		return err
	}
	for _, p := range pods.Items {
		if err := r.client.Delete(ctx, &p, client.GracePeriodSeconds(1)); err != nil {
			return err
		}
		if err := await(ctx, p.Name+" to end", func() (bool, error) {
			err := r.client.Get(ctx, client.ObjectKeyFromObject(&p), &corev1.Pod{})
			return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
		}); err != nil {
			return err
		}
		_, tag, _ := strings.Cut(p.Spec.Containers[0].Image, ":")
		if err := r.client.Create(ctx, r.computePod(p.Name, tag)); err != nil {
			return err
		}
	}
	return nil
}

// awaitComputes waits for reports of computes that came after this call.
func (r *rig) awaitComputes(ctx context.Context) error {
	schema := r.credentials.Database.Schema
	reports := "select coalesce(min(report_count), 0) from " + schema + ".services where `binary` = 'nova-compute' and deleted = 0;"
	before, err := r.base.sql(ctx, reports)
	if err != nil {
		return err
	}
	if before == "0" {
		return nil // there are none
	}
	return await(ctx, "the computes to report", func() (bool, error) {
		after, err := r.base.sql(ctx, reports)
		return after != before, err
	})
}

// checkTLS turns on TLS to both databases and to the broker, with names and clients
// checked.
func checkTLS(ctx context.Context, r *rig) (string, error) {
	start := time.Now()
	for name, who := range map[string]login{"nova-api-client": r.credentials.APIDatabase.login, "nova-client": r.credentials.Database.login} {
		certificate, err := r.pki.issue(name)
		if err != nil {
			return "", err
		}
		s := &corev1.Secret{StringData: map[string]string{"ca.crt": r.pki.CA, "tls.crt": certificate.Cert, "tls.key": certificate.Key}}
		s.Namespace, s.Name = namespace, name
		if err := r.client.Create(ctx, s); err != nil {
			return "", err
		}
		defer func() { // the accounts are for later checks too, which don't come with a certificate
			_, _ = r.base.sql(context.WithoutCancel(ctx), fmt.Sprintf("ALTER USER %s@'%%' REQUIRE NONE;", quote(who.Username)))
		}()
	}
	if err := r.changeSecret(ctx, "nova-bus", map[string]string{"transport_url": r.transportURL(portBusTLS)}); err != nil {
		return "", err
	}
	const block = `{"mode": "verify-full", "caBundleSecretRef": {"name": %q}, "clientCertSecretRef": {"name": %q}}`
	if err := r.edit(ctx, fmt.Sprintf(`{"spec": {"apiDatabase": {"tls": `+block+`}, "database": {"tls": `+block+`}, "messaging": {"tls": {"caBundleSecretRef": {"name": "nova-client"}}}}}`,
		"nova-api-client", "nova-api-client", "nova-client", "nova-client")); err != nil {
		return "", err
	}
	if err := errors.Join(r.awaitReady(ctx), r.awaitRolled(ctx)); err != nil {
		return "", err
	}
	if err := r.restartComputes(ctx); err != nil {
		return "", err
	}
	// From here on nobody gets in without.
	for _, who := range []string{r.credentials.APIDatabase.Username, r.credentials.Database.Username} {
		if _, err := r.base.sql(ctx, fmt.Sprintf("ALTER USER %s@'%%' REQUIRE X509;", quote(who))); err != nil {
			return "", err
		}
	}
	if err := errors.Join(r.awaitComputes(ctx), r.serves(ctx, "with-tls")); err != nil {
		return "", err
	}
	up := time.Since(start)
	plain, err := r.base.sql(ctx, "select user, count(*) from information_schema.processlist p where user like 'nova%' group by user order by user;")
	if err != nil {
		return "", err
	}
	wrong, err := r.wrongNames(ctx)
	return fmt.Sprintf("up after %.0f s; sessions %s; %s", up.Seconds(), strings.Join(strings.Fields(plain), " "), wrong), err
}

// serves boots a server and deletes it.
func (r *rig) serves(ctx context.Context, name string) error {
	admin, err := r.admin(ctx)
	if err != nil {
		return err
	}
	s, err := admin.boot(ctx, name)
	if err != nil {
		return err
	}
	return admin.compute(ctx, http.MethodDelete, "/servers/"+s.ID, nil, nil)
}

// wrongNames gives the broker, then the database, a certificate of another name and says
// what the Nova says; then puts the right one back and waits until all is well.
func (r *rig) wrongNames(ctx context.Context) (string, error) {
	const other = "elsewhere.example.com"
	if err := r.base.restartAs(ctx, r.base.rabbitmq, r.pki, other, at(portBusTLS)); err != nil {
		return "", err
	}
	bus, err := r.awaitNot(ctx, "ConductorReady", "SchedulerReady")
	if err != nil {
		return "", fmt.Errorf("a broker of another name: %w", err)
	}
	if err := r.base.restartAs(ctx, r.base.rabbitmq, r.pki, serverName("rabbitmq"), at(portBusTLS)); err != nil {
		return "", err
	}
	if err := errors.Join(r.awaitReady(ctx), r.awaitComputes(ctx)); err != nil {
		return "", err
	}
	if err := r.base.restartAs(ctx, r.base.mariadb, r.pki, other, at(portMariaDB)); err != nil {
		return "", err
	}
	// Nothing the operator looks at asks the database until db-sync runs.
	job, err := r.resync(ctx, `{"spec": {"logging": {"perLoggerLevels": {"nova.tls": "INFO"}}}}`)
	if err != nil {
		return "", err
	}
	if err := r.awaitReason(ctx, "DatabaseReady", "DBSyncFailed"); err != nil {
		return "", fmt.Errorf("a database of another name: %w", err)
	}
	database, err := r.awaitNot(ctx, "DatabaseReady")
	if err != nil {
		return "", err
	}
	if err := r.base.restartAs(ctx, r.base.mariadb, r.pki, serverName("mariadb"), at(portMariaDB)); err != nil {
		return "", err
	}
	if err := r.client.Delete(ctx, job, client.PropagationPolicy("Background")); err != nil {
		return "", err
	}
	return "a broker of another name: " + bus + "; a database of another name: " + database, errors.Join(r.awaitReady(ctx), r.awaitComputes(ctx))
}

// resync makes a change that runs db-sync again, and has it try once: its five tries take
// minutes to fail in the same way.
func (r *rig) resync(ctx context.Context, change string) (*batchv1.Job, error) {
	job := &batchv1.Job{}
	key := client.ObjectKey{Namespace: namespace, Name: "nova-db-sync"}
	if err := r.client.Get(ctx, key, job); err != nil {
		return nil, err
	}
	before := job.UID
	if err := r.edit(ctx, change); err != nil {
		return nil, err
	}
	if err := await(ctx, "db-sync to run again", func() (bool, error) {
		err := r.client.Get(ctx, key, job)
		return err == nil && job.UID != before && job.DeletionTimestamp == nil, client.IgnoreNotFound(err)
	}); err != nil {
		return nil, err
	}
	return job, r.client.Patch(ctx, job, client.RawPatch(types.MergePatchType, []byte(`{"spec": {"backoffLimit": 0}}`)))
}

// awaitNot waits until one of the conditions isn't True and returns what it says.
func (r *rig) awaitNot(ctx context.Context, conditions ...string) (string, error) {
	var said string
	err := await(ctx, strings.Join(conditions, " or ")+" to turn", func() (bool, error) {
		n, err := r.nova(ctx)
		if err != nil {
			return false, err
		}
		for _, c := range n.Status.Conditions {
			if slices.Contains(conditions, c.Type) && c.Status != "True" {
				said = fmt.Sprintf("%s %s %s: %s", c.Type, c.Status, c.Reason, c.Message)
				return true, nil
			}
		}
		return false, nil
	})
	return said, err
}

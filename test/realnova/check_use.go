package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/controllers/clusters"
)

// admin signs in with every right.
func (r *rig) admin(ctx context.Context) (*cloud, error) {
	return signIn(ctx, login{"admin", adminPassword}, "admin")
}

// service is a row of os-services.
type service struct{ Binary, Host, State, Status, Zone string }

func (c *cloud) listServices(ctx context.Context) ([]service, error) {
	var answer struct{ Services []service }
	return answer.Services, c.compute(ctx, http.MethodGet, "/os-services", nil, &answer)
}

// checkAPI asks what a person asks first.
func checkAPI(ctx context.Context, r *rig) (string, error) {
	if err := get(ctx, serviceURL("nova", "8774")+"/"); err != nil {
		return "", err
	}
	if err := r.askThroughProxy(ctx); err != nil {
		return "", err
	}
	admin, err := r.admin(ctx)
	if err != nil {
		return "", err
	}
	var up []string
	err = await(ctx, "scheduler and conductor to be up", func() (bool, error) {
		services, err := admin.listServices(ctx)
		if err != nil {
			return false, err
		}
		up = nil
		for _, s := range services {
			if s.State == "up" {
				up = append(up, s.Binary)
			}
		}
		slices.Sort(up)
		return slices.Contains(up, "nova-conductor") && slices.Contains(up, "nova-scheduler"), nil
	})
	return "up: " + strings.Join(up, ", ") + "; the API server's service proxy reaches it, too", err
}

// askThroughProxy asks the API as the operator does where the Nova is placed on a target
// cluster.
func (r *rig) askThroughProxy(ctx context.Context) error {
	proxy, err := clusters.ServiceProxy(r.control.Config)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, serviceURL("nova", "8774")+"/", nil)
	if err != nil {
		return err
	}
	resp, err := (&http.Client{Transport: proxy, Timeout: 10 * time.Second}).Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err == nil && (resp.StatusCode != http.StatusOK || !strings.Contains(string(body), "v2.1")) {
		err = fmt.Errorf("through the service proxy the API answers %d: %.200s", resp.StatusCode, body)
	}
	return err
}

// poolConfig is what a pool adds to the contract. The driver makes believe, but for its
// node's identity, which it keeps in the state folder as a real one does.
const poolConfig = `[DEFAULT]
compute_driver = fake.FakeDriverWithoutFakeNodes
state_path = /var/lib/nova
instances_path = /var/lib/nova/instances
report_interval = 5
[oslo_concurrency]
lock_path = /var/lib/nova/tmp
`

// computePod runs nova-compute the way a pool does, but for what takes hardware.
func (r *rig) computePod(name, tag string) *corev1.Pod {
	secret := func(key string) *corev1.EnvVarSource {
		return &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: "nova-compute-config"}, Key: key,
		}}
	}
	env := []corev1.EnvVar{
		{Name: "OS_DEFAULT__HOST", Value: name},
		{Name: "OS_DEFAULT__TRANSPORT_URL", ValueFrom: secret("transport_url")},
	}
	for _, group := range []string{"KEYSTONE_AUTHTOKEN", "SERVICE_USER", "PLACEMENT", "NEUTRON"} {
		env = append(env, corev1.EnvVar{Name: "OS_" + group + "__PASSWORD", ValueFrom: secret("password_env")})
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": "compute"}},
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken: new(false),
			SecurityContext:              &corev1.PodSecurityContext{FSGroup: new(int64(42424))},
			Containers: []corev1.Container{{
				Name: "nova-compute", Image: r.fixture.imageName(tag), ImagePullPolicy: corev1.PullIfNotPresent,
				Command: []string{"nova-compute", "--config-file", "/etc/nova/compute-config/nova-compute.conf", "--config-dir", "/etc/nova/compute-pool.conf.d"},
				Env:     env,
				SecurityContext: &corev1.SecurityContext{
					RunAsUser: new(int64(42424)), RunAsGroup: new(int64(42424)), RunAsNonRoot: new(true), ReadOnlyRootFilesystem: new(true),
					AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
					SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
				},
				VolumeMounts: []corev1.VolumeMount{
					{Name: "contract", MountPath: "/etc/nova/compute-config", ReadOnly: true},
					{Name: "pool", MountPath: "/etc/nova/compute-pool.conf.d", ReadOnly: true},
					{Name: "state", MountPath: "/var/lib/nova"},
					{Name: "identity", MountPath: "/var/lib/nova/compute_id", SubPath: "compute_id", ReadOnly: true},
					{Name: "tmp", MountPath: "/tmp"},
				},
			}},
			Volumes: []corev1.Volume{
				{Name: "contract", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "nova-compute-config"}}},
				{Name: "pool", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "pool"}}}},
				{Name: "identity", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}}},
				{Name: "state", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
				{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
			},
		},
	}
}

// checkCompute starts a compute, waits for it to register, and has it mapped.
func checkCompute(ctx context.Context, r *rig) (string, error) {
	pool := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "pool"}, Data: map[string]string{"compute-pool.conf": poolConfig}}
	if err := r.client.Create(ctx, pool); err != nil {
		return "", err
	}
	return r.addCompute(ctx, "compute-1", r.box.Assets.Older.Release)
}

// addCompute starts a compute of an image, and returns once the scheduler may use it.
func (r *rig) addCompute(ctx context.Context, name, tag string) (string, error) {
	start := time.Now()
	// A node keeps its identity on its disk; without it nova-compute starts only once.
	identity := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string]string{"compute_id": string(uuid.NewUUID())}}
	if err := errors.Join(r.client.Create(ctx, identity), r.client.Create(ctx, r.computePod(name, tag))); err != nil {
		return "", err
	}
	admin, err := r.admin(ctx)
	if err != nil {
		return "", err
	}
	if err := await(ctx, name+" to register", func() (bool, error) {
		services, err := admin.listServices(ctx)
		return slices.ContainsFunc(services, func(s service) bool { return s.Host == name && s.State == "up" }), err
	}); err != nil {
		return "", fmt.Errorf("%w%s", err, r.podStates(context.WithoutCancel(ctx)))
	}
	registered := time.Since(start)
	if err := r.discover(ctx); err != nil {
		return "", err
	}
	err = await(ctx, name+" to be mapped", func() (bool, error) {
		var answer struct {
			Hypervisors []struct {
				State   string
				Service struct{ Host string }
			}
		}
		err := admin.compute(ctx, http.MethodGet, "/os-hypervisors/detail", nil, &answer)
		for _, h := range answer.Hypervisors {
			if h.Service.Host == name && h.State == "up" {
				return true, err
			}
		}
		return false, err
	})
	return fmt.Sprintf("registered after %.0f s, mapped after %.0f s", registered.Seconds(), time.Since(start).Seconds()), err
}

// discover runs the discovery command in a conductor, as a person would; the periodic of
// the scheduler comes by every five minutes.
func (r *rig) discover(ctx context.Context) error {
	_, err := r.exec(ctx, "conductor", "nova-manage", "--config-dir", "/etc/nova/nova.conf.d", "cell_v2", "discover_hosts", "--verbose")
	return err
}

// pods are the running pods of a component.
func (r *rig) pods(ctx context.Context, component string) ([]corev1.Pod, error) {
	list := &corev1.PodList{}
	err := r.client.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels{"app.kubernetes.io/component": component})
	return slices.DeleteFunc(list.Items, func(p corev1.Pod) bool {
		return p.Status.Phase != corev1.PodRunning || p.DeletionTimestamp != nil
	}), err
}

// exec runs a command in a running pod of a component, with its environment.
func (r *rig) exec(ctx context.Context, component string, command ...string) (string, error) {
	pods, err := r.pods(ctx, component)
	if err != nil {
		return "", err
	}
	if len(pods) == 0 {
		return "", fmt.Errorf("no pod of %s runs", component)
	}
	return output(ctx, r.box.Dir, "kubectl", append([]string{
		"--kubeconfig", r.control.Kubeconfig, "-n", namespace, "exec", pods[0].Name, "-c", pods[0].Spec.Containers[0].Name, "--",
	}, command...)...)
}

// server is what the API says of a server.
type server struct {
	ID, Name, Status string
	Fault            struct{ Message string }
	Host             string `json:"OS-EXT-SRV-ATTR:host"`
	TenantID         string `json:"tenant_id"`
}

// boot makes a server and waits until it is active.
func (c *cloud) boot(ctx context.Context, name string) (*server, error) {
	var made struct{ Server server }
	err := c.compute(ctx, http.MethodPost, "/servers", map[string]any{"server": map[string]any{
		"name": name, "flavorRef": "nano", "imageRef": imageID, "networks": "none",
	}}, &made)
	if err != nil {
		return nil, err
	}
	err = await(ctx, name+" to be active", func() (bool, error) {
		err := c.compute(ctx, http.MethodGet, "/servers/"+made.Server.ID, nil, &made)
		if err == nil && made.Server.Status == "ERROR" {
			err = fmt.Errorf("status ERROR: %s", made.Server.Fault.Message)
		}
		return made.Server.Status == "ACTIVE", err
	})
	return &made.Server, err
}

// checkBoot boots the first server.
func checkBoot(ctx context.Context, r *rig) (string, error) {
	admin, err := r.admin(ctx)
	if err != nil {
		return "", err
	}
	if err := admin.compute(ctx, http.MethodPost, "/flavors", map[string]any{"flavor": map[string]any{
		"id": "nano", "name": "nano", "ram": 64, "vcpus": 1, "disk": 0,
	}}, nil); err != nil {
		return "", err
	}
	start := time.Now()
	s, err := admin.boot(ctx, "first")
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("ACTIVE on %s after %.1f s", s.Host, time.Since(start).Seconds()), nil
}

// checkMetadata asks for the first server's metadata as Neutron's agent does.
func checkMetadata(ctx context.Context, r *rig) (string, error) {
	admin, err := r.admin(ctx)
	if err != nil {
		return "", err
	}
	var list struct{ Servers []server }
	if err := admin.compute(ctx, http.MethodGet, "/servers/detail?name=first", nil, &list); err != nil {
		return "", err
	}
	if len(list.Servers) != 1 {
		return "", errors.New("the first server is gone")
	}
	ask := func(secret string) (int, []byte, error) {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(list.Servers[0].ID))
		code, _, body, err := request{method: http.MethodGet, url: serviceURL("nova-metadata", "8775") + "/openstack/latest/meta_data.json", header: map[string]string{
			"X-Instance-ID": list.Servers[0].ID, "X-Tenant-ID": list.Servers[0].TenantID, "X-Forwarded-For": "192.0.2.1",
			"X-Instance-ID-Signature": hex.EncodeToString(mac.Sum(nil)),
		}}.do(ctx)
		return code, body, err
	}
	code, body, err := ask(r.credentials.MetadataSecret)
	if err != nil || code != http.StatusOK || !strings.Contains(string(body), list.Servers[0].ID) {
		return "", errors.Join(fmt.Errorf("a signed request gets %d %s", code, tail(body, 3)), err)
	}
	code, body, err = ask("another secret")
	if err != nil || code != http.StatusForbidden {
		return "", errors.Join(fmt.Errorf("a wrong signature gets %d %s", code, tail(body, 3)), err)
	}
	return "200 with the signature, 403 without", nil
}

// checkDrain deletes a pod of each role in use, each after the one before has been
// replaced, and measures how long they take to end. The two of the bus wait for messages
// under way, by Nova's design.
func checkDrain(ctx context.Context, r *rig) (string, error) {
	use, err := r.startLoad(ctx)
	if err != nil {
		return "", err
	}
	components := []string{"api", "metadata", "novncproxy", "scheduler", "conductor"}
	var ends sync.WaitGroup
	unended := make([]error, len(components))
	took := make([]time.Duration, len(components))
	for i, component := range components {
		var pods []corev1.Pod
		if pods, err = r.pods(ctx, component); err != nil {
			break
		}
		start := time.Now()
		if err = r.client.Delete(ctx, &pods[0]); err != nil {
			break
		}
		ends.Go(func() {
			unended[i] = await(ctx, pods[0].Name+" to end", func() (bool, error) {
				err := r.client.Get(ctx, client.ObjectKeyFromObject(&pods[0]), &corev1.Pod{})
				return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
			})
			took[i] = time.Since(start)
		})
		if err = await(ctx, pods[0].Name+" to be replaced", func() (bool, error) {
			now, err := r.pods(ctx, component)
			ready := slices.DeleteFunc(now, func(p corev1.Pod) bool {
				return p.Name == pods[0].Name || !p.Status.ContainerStatuses[0].Ready
			})
			return len(ready) == len(pods), err
		}); err != nil {
			break
		}
	}
	ends.Wait()
	err = errors.Join(err, errors.Join(unended...))
	note, failures := use.stop()
	var seconds []string
	for i, component := range components {
		seconds = append(seconds, fmt.Sprintf("%s %.0f s", component, took[i].Seconds()))
		if i < 3 && took[i] > 30*time.Second {
			err = errors.Join(err, fmt.Errorf("%s was killed at the end of its grace", component))
		}
	}
	note = strings.Join(seconds, ", ") + "; " + note
	if err == nil && failures > 0 {
		err = fmt.Errorf("%d calls or boots failed: %s", failures, note)
	}
	return note, errors.Join(err, r.awaitReady(ctx))
}

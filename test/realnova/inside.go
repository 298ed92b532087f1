package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/test/cluster"
	"github.com/c5c3/nova-operator/test/process"
	"github.com/c5c3/nova-operator/test/surroundings"
)

// rig is everything that runs.
type rig struct {
	box         sandbox
	fixture     *fixture
	credentials credentials
	pki         *authority

	control    *cluster.Cluster
	client     client.WithWatch
	kubernetes kubernetes.Interface
	services   *services
	node       *node
	base       *base
	operator   *process.Operator

	// since is when the fixture was applied.
	since time.Time
}

// runInside brings everything up, works through the checks, and takes everything down.
func runInside(ctx context.Context, file string, o options) error {
	about, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	r := &rig{}
	if err := json.Unmarshal(about, &r.box); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	chosen, err := choose(o.only)
	if err != nil {
		return err
	}
	defer r.stop()
	if err := r.start(ctx); err != nil {
		return fmt.Errorf("start: %w", err)
	}
	results := r.work(ctx, chosen)
	printTable(os.Stdout, results)
	if o.keep && ctx.Err() == nil {
		r.explain(os.Stdout)
		<-ctx.Done()
	}
	if results.failed() {
		r.keepLogs()
		return errReported
	}
	return nil
}

// start brings up the network, the control plane, the node, the services and the operator.
func (r *rig) start(ctx context.Context) error {
	if err := errors.Join(os.MkdirAll(filepath.Join(r.box.Dir, "logs"), 0o755), os.RemoveAll("/etc/resolv.conf"),
		os.WriteFile("/etc/resolv.conf", []byte(resolvConf), 0o644),
		// The API server finds the kubelet by the node's name.
		os.WriteFile("/etc/hosts", []byte("127.0.0.1 localhost\n"+hostAddress+" "+nodeName+"\n"), 0o644),
		setUpNetwork(ctx)); err != nil {
		return err
	}
	var err error
	if r.fixture, err = readFixture(r.box.Root); err != nil {
		return err
	}
	if err := r.fixture.release(r.box.Assets.Older.Release); err != nil {
		return err
	}
	if r.credentials, err = r.fixture.credentials(); err != nil {
		return err
	}
	if r.pki, err = newAuthority(); err != nil {
		return err
	}
	if err := r.startControlPlane(ctx); err != nil {
		return err
	}
	say("starting the services and the node")
	// Each is a minute of waiting for others' programs: they share it.
	return atOnce(
		func() error { return r.startServices(ctx) },
		func() error { return r.startNode(ctx) },
		func() error { return r.startOperator(ctx) },
	)
}

func (r *rig) startControlPlane(ctx context.Context) error {
	say("starting the control plane")
	var err error
	r.control, err = cluster.Start(ctx, cluster.Options{Nodes: -1, CRDs: []string{filepath.Join(r.box.Root, "kustomize", "crd"), "external-secrets"}})
	if err != nil {
		return err
	}
	types := runtime.NewScheme()
	if err := errors.Join(scheme.AddToScheme(types), v1alpha1.AddToScheme(types)); err != nil {
		return err
	}
	if r.client, err = client.NewWithWatch(r.control.Config, client.Options{Scheme: types}); err != nil {
		return err
	}
	if r.kubernetes, err = kubernetes.NewForConfig(r.control.Config); err != nil {
		return err
	}
	if r.services, err = startServices(ctx, r.kubernetes); err != nil {
		return err
	}
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: map[string]string{
		"pod-security.kubernetes.io/enforce": "restricted",
	}}}
	if err := r.client.Create(ctx, space); err != nil {
		return err
	}
	for name, ports := range map[string][]string{
		"mariadb": {portMariaDB}, "rabbitmq": {portBus, portBusTLS}, "memcached": {portMemcached}, "keystone": {portKeystone},
		"placement": {portPlacement}, "glance": {portGlance}, "neutron": {portNeutron},
	} {
		if err := r.announce(ctx, name, ports); err != nil {
			return err
		}
	}
	return nil
}

// announce makes a Service for what runs beside the pods.
func (r *rig) announce(ctx context.Context, name string, ports []string) error {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	service := &corev1.Service{ObjectMeta: meta}
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: meta, AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{hostAddress}}},
	}
	slice.Labels = map[string]string{discoveryv1.LabelServiceName: name}
	for _, port := range ports {
		number, err := strconv.ParseInt(port, 10, 32)
		if err != nil {
			return err
		}
		label := "p" + port
		service.Spec.Ports = append(service.Spec.Ports, corev1.ServicePort{Name: label, Port: int32(number)})
		slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{Name: &label, Port: new(int32(number))})
	}
	return errors.Join(r.client.Create(ctx, service), r.client.Create(ctx, slice))
}

func (r *rig) startServices(ctx context.Context) error {
	if err := startStandIns(ctx); err != nil {
		return err
	}
	var err error
	if r.base, err = startBase(ctx, r.box, r.credentials, r.pki); err != nil {
		return err
	}
	if err := catalogue(ctx, r.credentials.ServiceUser); err != nil {
		return err
	}
	say("the services are up")
	return nil
}

func (r *rig) startNode(ctx context.Context) error {
	a := r.box.Assets
	images := []image{
		{name: pauseImage, tree: a.Base.Path, command: []string{"/usr/bin/sleep", "infinity"}},
		{name: r.fixture.imageName(a.Older.Release), tree: a.Older.Path},
	}
	if a.Newer.Release != a.Older.Release {
		images = append(images, image{name: r.fixture.imageName(a.Newer.Release), tree: a.Newer.Path})
	}
	var err error
	if r.node, err = startNode(ctx, r.box, r.control.Kubeconfig, images); err != nil {
		return err
	}
	ctx, cancel := within(ctx, time.Minute)
	defer cancel()
	if err := r.node.kubelet.await(ctx, func(ctx context.Context) error {
		node := &corev1.Node{}
		if err := r.client.Get(ctx, client.ObjectKey{Name: nodeName}, node); err != nil {
			return err
		}
		for _, c := range node.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
				return nil
			}
		}
		return errors.New("the node isn't Ready")
	}); err != nil {
		return err
	}
	say("the node is Ready")
	return nil
}

// startOperator runs the manager under its generated role, with its webhooks; a secret
// store is played for it.
func (r *rig) startOperator(ctx context.Context) error {
	if _, err := surroundings.StartIn(ctx, r.control.Config, namespace); err != nil {
		return err
	}
	if err := process.InstallRole(ctx, r.control.Config, r.client, r.box.Root); err != nil {
		return err
	}
	var err error
	r.operator, err = process.Start(ctx, process.Options{
		Binary: r.box.Assets.Operator, Config: r.control.Config, Dir: r.box.Dir, Log: logFile(r.box.Dir, "operator"), Webhooks: true,
		Args: []string{"--metrics-bind-address=127.0.0.1:8080", "--health-probe-bind-address=127.0.0.1:8081"},
	})
	if err != nil {
		return err
	}
	say("the operator runs")
	return nil
}

// apply creates the fixture as a person would.
func (r *rig) apply(ctx context.Context) error {
	store := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "external-secrets.io/v1", "kind": "SecretStore", "spec": map[string]any{},
	}}
	store.SetNamespace(namespace)
	store.SetName("vault")
	r.since = time.Now()
	return surroundings.Apply(ctx, r.control.Config, r.client.RESTMapper(), "kubectl", append([]*unstructured.Unstructured{store}, r.fixture.objects()...))
}

// stop ends everything in the reverse order.
func (r *rig) stop() {
	if r.operator != nil {
		_ = r.operator.Stop()
	}
	if r.node != nil {
		r.node.stop()
	}
	if r.base != nil {
		r.base.stop()
	}
	if r.control != nil {
		_ = r.control.Stop()
	}
}

// atOnce runs functions side by side and joins their errors.
func atOnce(functions ...func() error) error {
	errs := make(chan error)
	for _, f := range functions {
		go func() { errs <- f() }()
	}
	var all error
	for range functions {
		all = errors.Join(all, <-errs)
	}
	return all
}

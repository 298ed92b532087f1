// Command demo brings a Nova from an empty cluster to Ready and shows how: it builds
// the operator, starts a real control plane with simulated nodes, installs the
// definitions and the permissions, runs the manager as a process under them, plays
// the surroundings, applies a fixture, and prints each condition as it turns.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/c5c3/nova-operator/test/cluster"
	"github.com/c5c3/nova-operator/test/surroundings"
)

const (
	operatorNamespace = "nova-operator-system"
	serviceAccount    = "nova-operator"
	// readyLimit bounds the way to Ready on a slow machine.
	readyLimit = 3 * time.Minute
)

func main() {
	once := flag.Bool("once", os.Getenv("ONCE") != "", "exit when the Nova is Ready")
	fixture := flag.String("f", "fixtures/nova/minimal/nova.yaml", "the Nova to apply")
	kubeconfig := flag.String("kubeconfig", filepath.Join("bin", "demo.kubeconfig"), "where to write the admin's kubeconfig")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *fixture, *kubeconfig, *once); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// clock prints steps with the time since the start.
type clock struct{ start time.Time }

func (c clock) say(format string, args ...any) {
	fmt.Printf("%6.1fs  %s\n", time.Since(c.start).Seconds(), fmt.Sprintf(format, args...))
}

func run(ctx context.Context, fixture, kubeconfig string, once bool) error {
	c := clock{start: time.Now()}
	binary := filepath.Join("bin", "nova-operator")
	c.say("building %s", binary)
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "./cmd/nova-operator")
	build.Stdout, build.Stderr = os.Stdout, os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build the operator: %w", err)
	}

	c.say("starting a control plane with three nodes")
	crds, err := filepath.Abs("kustomize/crd")
	if err != nil {
		return err
	}
	control, err := cluster.Start(ctx, cluster.Options{Nodes: 3, CRDs: append([]string{crds}, cluster.AllCRDs...)})
	if err != nil {
		return err
	}
	defer func() { _ = control.Stop() }()
	if err := copyFile(control.Kubeconfig, kubeconfig); err != nil {
		return err
	}

	c.say("playing the surroundings: MariaDB, secret store, RabbitMQ, Gateway, network")
	played, err := surroundings.Start(ctx, control.Config)
	if err != nil {
		return err
	}
	scene, err := newScene(control.Config, fixture)
	if err != nil {
		return err
	}
	c.say("installing the permissions and starting the manager under them")
	if err := scene.permissions(ctx); err != nil {
		return err
	}
	stopManager, err := startManager(ctx, binary, control, played)
	if err != nil {
		return err
	}
	defer stopManager()

	c.say("applying %s", fixture)
	if err := scene.apply(ctx); err != nil {
		return err
	}
	if err := scene.follow(ctx, c, readyLimit); err != nil {
		return err
	}
	scene.table(ctx, os.Stdout)
	fmt.Printf("\nLook around with: kubectl --kubeconfig %s -n %s get novas,deployments,jobs,secrets,configmaps\n", kubeconfig, scene.nova.Namespace)
	if once {
		return nil
	}
	fmt.Println("Everything stays up until ^C.")
	<-ctx.Done()
	return nil
}

// startManager runs the operator as a process with a token of its service account.
// Health probes go through the played network.
func startManager(ctx context.Context, binary string, control *cluster.Cluster, played *surroundings.Surroundings) (stop func(), err error) {
	file := filepath.Join(control.Dir, "manager.kubeconfig")
	if err := accountKubeconfig(ctx, control.Config, file); err != nil {
		return nil, err
	}
	logFile, err := os.Create(filepath.Join("bin", "demo-manager.log"))
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(binary, "manager", "--metrics-bind-address=127.0.0.1:0", "--health-probe-bind-address=0")
	cmd.Env = append(os.Environ(), "KUBECONFIG="+file, "HTTP_PROXY="+played.Network.URL.String(), "http_proxy=")
	cmd.Stdout, cmd.Stderr = logFile, logFile
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the manager: %w", err)
	}
	return func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		_ = logFile.Close()
	}, nil
}

// accountKubeconfig writes a kubeconfig for the operator's service account.
func accountKubeconfig(ctx context.Context, admin *rest.Config, file string) error {
	client, err := kubernetes.NewForConfig(admin)
	if err != nil {
		return err
	}
	token, err := client.CoreV1().ServiceAccounts(operatorNamespace).
		CreateToken(ctx, serviceAccount, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("ask for a token of %s/%s: %w", operatorNamespace, serviceAccount, err)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["demo"] = &clientcmdapi.Cluster{Server: admin.Host, CertificateAuthorityData: admin.CAData}
	config.AuthInfos["operator"] = &clientcmdapi.AuthInfo{Token: token.Status.Token}
	config.Contexts["demo"] = &clientcmdapi.Context{Cluster: "demo", AuthInfo: "operator"}
	config.CurrentContext = "demo"
	return clientcmd.WriteToFile(*config, file)
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, bufio.NewReader(in))
	return errors.Join(err, out.Close())
}

// cut shortens a line for the table.
func cut(s string, width int) string {
	s = strings.ReplaceAll(s, "\n", " ")
	if len(s) <= width {
		return s
	}
	return s[:width-1] + "…"
}

// Package process runs the operator's binary the way an installation does: built from
// this tree, with a token of its own service account and the generated role, next to
// the control plane of a test. Health probes go through the played network, where a test
// has one.
package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/c5c3/nova-operator/test/surroundings"
	"github.com/c5c3/nova-operator/test/webhookcert"
)

// Where the operator is installed.
const (
	Namespace      = "nova-operator-system"
	ServiceAccount = "nova-operator"
)

// Build compiles the operator and returns the path of the binary.
func Build(ctx context.Context, root string) (string, error) {
	binary := filepath.Join(root, "bin", "nova-operator")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", binary, "./cmd/nova-operator")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the operator: %w\n%s", err, out)
	}
	return binary, nil
}

// Kustomize builds a kustomization in process, in the order of kubectl.
func Kustomize(folder string) ([]*unstructured.Unstructured, error) {
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionLegacy
	resources, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		return nil, fmt.Errorf("build %s: %w", folder, err)
	}
	var objects []*unstructured.Unstructured
	for _, r := range resources.Resources() {
		raw, err := r.MarshalJSON()
		if err != nil {
			return nil, fmt.Errorf("build %s: %w", folder, err)
		}
		o := &unstructured.Unstructured{}
		if err := o.UnmarshalJSON(raw); err != nil {
			return nil, fmt.Errorf("build %s: %w", folder, err)
		}
		objects = append(objects, o)
	}
	return objects, nil
}

// InstallRole installs the operator's namespace, account and cluster-wide role.
func InstallRole(ctx context.Context, config *rest.Config, c client.Client, root string) error {
	objects, err := Kustomize(filepath.Join(root, "kustomize", "rbac"))
	if err != nil {
		return err
	}
	namespace := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
	namespace.SetName(Namespace)
	return surroundings.Apply(ctx, config, c.RESTMapper(), "install", append([]*unstructured.Unstructured{namespace}, objects...))
}

// Options of one operator process.
type Options struct {
	Binary string
	// Config is the admin's, who asks for the token.
	Config *rest.Config
	// Network answers the health probes; nil leaves them to the machine's own.
	Network *surroundings.Network
	// Log receives standard output and error; Dir holds the kubeconfig.
	Log, Dir string
	// Webhooks serves admission and registers it for every namespace.
	Webhooks bool
	// Args follow the manager subcommand.
	Args []string
}

// Operator is a running process.
type Operator struct {
	cmd *exec.Cmd
	log *os.File
}

// Start runs the manager under its service account. It dies with this process.
func Start(ctx context.Context, o Options) (*Operator, error) {
	kubeconfig := filepath.Join(o.Dir, "operator.kubeconfig")
	if err := accountKubeconfig(ctx, o.Config, kubeconfig); err != nil {
		return nil, err
	}
	args := append([]string{"manager"}, o.Args...)
	var admission *webhookcert.Server
	if o.Webhooks {
		var err error
		if admission, err = webhookcert.NewServer(filepath.Join(o.Dir, "webhook")); err != nil {
			return nil, err
		}
		args = append(args, admission.Flags()...)
	} else {
		args = append(args, "--enable-webhooks=false")
	}
	log, err := os.Create(o.Log)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(o.Binary, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "http_proxy=")
	if o.Network != nil {
		cmd.Env = append(cmd.Env, "HTTP_PROXY="+o.Network.URL.String())
	}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start the manager: %w", err), log.Close())
	}
	operator := &Operator{cmd: cmd, log: log}
	if o.Webhooks {
		if err := register(ctx, admission, o.Config); err != nil {
			return nil, errors.Join(err, operator.Kill())
		}
	}
	return operator, nil
}

// register has the API server ask the process, once it answers: until then it would
// refuse every write of our kinds.
func register(ctx context.Context, admission *webhookcert.Server, config *rest.Config) error {
	if err := admission.AwaitServing(ctx); err != nil {
		return err
	}
	if err := admission.Register(ctx, config, webhookcert.Limits{}); err != nil {
		return err
	}
	return admission.AwaitInForce(ctx, config, metav1.NamespaceDefault)
}

// PID of the process.
func (o *Operator) PID() int { return o.cmd.Process.Pid }

// Kill ends it as a crash would.
func (o *Operator) Kill() error {
	_ = o.cmd.Process.Kill()
	_ = o.cmd.Wait()
	return o.log.Close()
}

// Stop ends it as Kubernetes would, and returns how it exited.
func (o *Operator) Stop() error {
	_ = o.cmd.Process.Signal(syscall.SIGTERM)
	return errors.Join(o.cmd.Wait(), o.log.Close())
}

// accountKubeconfig writes a kubeconfig for the operator's service account.
func accountKubeconfig(ctx context.Context, admin *rest.Config, file string) error {
	c, err := kubernetes.NewForConfig(admin)
	if err != nil {
		return err
	}
	token, err := c.CoreV1().ServiceAccounts(Namespace).CreateToken(ctx, ServiceAccount, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("ask for a token of %s/%s: %w", Namespace, ServiceAccount, err)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["test"] = &clientcmdapi.Cluster{Server: admin.Host, CertificateAuthorityData: admin.CAData}
	config.AuthInfos["operator"] = &clientcmdapi.AuthInfo{Token: token.Status.Token}
	config.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "operator"}
	config.CurrentContext = "test"
	return clientcmd.WriteToFile(*config, file)
}

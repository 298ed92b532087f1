// Command scale measures one operator process under many Novas: for each count it
// starts a control plane of its own, applies the Novas at once, waits until all are
// Ready, then watches a steady minute. It prints one row of a table per count.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/test/cluster"
	"github.com/c5c3/nova-operator/test/process"
	"github.com/c5c3/nova-operator/test/surroundings"
	"github.com/c5c3/nova-operator/test/world"
)

// metricsAddress is where the measured process serves its metrics.
const metricsAddress = "127.0.0.1:18080"

func main() {
	counts := flag.String("counts", "10,50,200", "how many Novas, one run each")
	steady := flag.Duration("steady", time.Minute, "how long to watch when all are Ready")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *counts, *steady); err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, counts string, steady time.Duration) error {
	binary, err := process.Build(ctx, ".")
	if err != nil {
		return err
	}
	fmt.Println("| Novas | time to Ready of all | resident memory | passes a steady minute | requests for children | status writes | calls to the API server |")
	fmt.Println("| --- | --- | --- | --- | --- | --- | --- |")
	for text := range strings.SplitSeq(counts, ",") {
		n, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("-counts: %w", err)
		}
		row, err := measure(ctx, binary, n, steady)
		if err != nil {
			return fmt.Errorf("%d Novas: %w", n, err)
		}
		fmt.Println(row)
	}
	return nil
}

// measure runs one count.
func measure(ctx context.Context, binary string, n int, steady time.Duration) (row string, err error) {
	control, err := cluster.Start(ctx, cluster.Options{Nodes: 3 + n/20, CRDs: world.Definitions(".")})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, control.Stop()) }()
	played, err := surroundings.Start(ctx, control.Config)
	if err != nil {
		return "", err
	}
	c, err := world.NewClient(control.Config)
	if err != nil {
		return "", err
	}
	if err := process.InstallRole(ctx, control.Config, c, "."); err != nil {
		return "", err
	}
	operator, err := process.Start(ctx, process.Options{
		Binary: binary, Config: control.Config, Network: played.Network, Log: "bin/scale-manager.log", Dir: control.Dir,
		Args: []string{"--metrics-bind-address=" + metricsAddress, "--health-probe-bind-address=0"},
	})
	if err != nil {
		return "", err
	}
	defer func() { _ = operator.Stop() }()

	if err := surroundings.Apply(ctx, control.Config, c.RESTMapper(), "scale", shared(n)); err != nil {
		return "", err
	}
	start := time.Now()
	for i := range n {
		if err := c.Create(ctx, novaOf(i)); err != nil {
			return "", fmt.Errorf("create Nova %d: %w", i, err)
		}
	}
	if err := awaitReady(ctx, c, n); err != nil {
		return "", err
	}
	took := time.Since(start)
	time.Sleep(steady / 2) // the last events of the installation
	before, err := scrape(ctx)
	if err != nil {
		return "", err
	}
	time.Sleep(steady)
	after, err := scrape(ctx)
	if err != nil {
		return "", err
	}
	memory, err := resident(operator.PID())
	if err != nil {
		return "", err
	}
	diff := func(name string) string { return strconv.FormatFloat(after[name]-before[name], 'f', -1, 64) }
	return fmt.Sprintf("| %d | %.1f s | %d MiB | %s | %s | %s | %s |", n, took.Seconds(), memory>>20,
		diff("controller_runtime_reconcile_total"), diff("nova_operator_apply_requests_total"),
		diff("nova_operator_status_writes_total"), diff("rest_client_requests_total")), nil
}

// perNamespace is how many Novas share a namespace with its server and broker.
const perNamespace = 20

func namespaceOf(i int) string { return "cloud-" + strconv.Itoa(i/perNamespace) }

// shared is what the Novas refer to.
func shared(n int) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for i := 0; i < n; i += perNamespace {
		namespace := &unstructured.Unstructured{}
		namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
		namespace.SetName(namespaceOf(i))
		out = append(append(out, namespace), surroundings.Inputs(novaOf(i))...)
	}
	return out
}

// novaOf shares everything but its databases with the others of its namespace.
func novaOf(i int) *v1alpha1.Nova {
	n := world.Novas.Minimal(namespaceOf(i))
	n.Name = fmt.Sprintf("nova-%d", i)
	n.Spec.APIDatabase.Database, n.Spec.Database.Database = fmt.Sprintf("nova_api_%d", i), fmt.Sprintf("nova_%d", i)
	n.Spec.SecretStoreRef = nil
	n.Spec.API.Deployment.Replicas = 1
	return n
}

func awaitReady(ctx context.Context, c client.Client, n int) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 15*time.Minute, errors.New("not all were Ready within 15 minutes"))
	defer cancel()
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		list := &v1alpha1.NovaList{}
		if err := c.List(ctx, list); err != nil {
			return errors.Join(err, context.Cause(ctx))
		}
		waiting := slices.DeleteFunc(list.Items, func(nova v1alpha1.Nova) bool {
			return meta.IsStatusConditionTrue(nova.Status.Conditions, v1alpha1.ConditionReady)
		})
		if len(waiting) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d of %d: %w", len(waiting), n, context.Cause(ctx))
		case <-tick.C:
		}
	}
}

// scrape sums the counters of the process over their labels.
func scrape(ctx context.Context) (map[string]float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+metricsAddress+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("scrape: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	sums := map[string]float64{}
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		name, value, ok := strings.Cut(lines.Text(), " ")
		if at := strings.IndexByte(lines.Text(), '{'); at >= 0 {
			name = lines.Text()[:at]
			value = lines.Text()[strings.LastIndexByte(lines.Text(), ' ')+1:]
		}
		if v, err := strconv.ParseFloat(value, 64); err == nil && ok {
			sums[name] += v
		}
	}
	return sums, lines.Err()
}

// resident is the memory of a process that is in RAM, in bytes.
func resident(pid int) (int64, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(raw))
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}

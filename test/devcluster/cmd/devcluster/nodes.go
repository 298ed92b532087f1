package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// goneLabel takes a node away from kwok: its lease is not renewed and nothing on
// it moves any more, exactly as when a kubelet dies.
const goneLabel = "devcluster.c5c3.io/gone"

// kubeletLabel, set to true, marks a node that a real kubelet runs: kwok leaves it alone.
const kubeletLabel = "devcluster.c5c3.io/kubelet"

// zones are handed out in turn, so three nodes span three.
var zones = []string{"zone-a", "zone-b", "zone-c"}

// node holds the fields this command reads of a Node.
type node struct {
	Metadata struct {
		Name   string            `json:"name"`
		Labels map[string]string `json:"labels"`
	} `json:"metadata"`
	Spec struct {
		Taints []struct {
			Key    string `json:"key"`
			Effect string `json:"effect"`
		} `json:"taints"`
	} `json:"spec"`
	Status struct {
		Conditions []struct {
			Type   string `json:"type"`
			Status string `json:"status"`
		} `json:"conditions"`
	} `json:"status"`
}

// ready tells whether pods may be scheduled: Ready, and the not-ready taint that
// every new node gets is lifted.
func (n *node) ready() bool {
	for _, c := range n.Status.Conditions {
		if c.Type == "Ready" && c.Status != "True" {
			return false
		}
	}
	return len(n.Status.Conditions) > 0 && !n.tainted("node.kubernetes.io/")
}

func (n *node) tainted(prefix string) bool {
	for _, t := range n.Spec.Taints {
		if strings.HasPrefix(t.Key, prefix) {
			return true
		}
	}
	return false
}

// createNodes makes node-1 to node-count; kwok brings them up.
func (c *client) createNodes(ctx context.Context, count int) error {
	capacity := map[string]string{"cpu": "32", "memory": "256Gi", "ephemeral-storage": "1Ti", "pods": "250"}
	for i := range count {
		name := fmt.Sprintf("node-%d", i+1)
		body, err := json.Marshal(map[string]any{
			"apiVersion": "v1",
			"kind":       "Node",
			"metadata": map[string]any{"name": name, "labels": map[string]string{
				"kubernetes.io/hostname":        name,
				"kubernetes.io/os":              "linux",
				"kubernetes.io/arch":            "amd64",
				"topology.kubernetes.io/region": "region-1",
				"topology.kubernetes.io/zone":   zones[i%len(zones)],
			}},
			"status": map[string]any{"capacity": capacity, "allocatable": capacity},
		})
		if err != nil {
			return fmt.Errorf("encode %s: %w", name, err)
		}
		if err := c.do(ctx, http.MethodPost, "/api/v1/nodes", "application/json", body, nil); err != nil {
			return fmt.Errorf("create %s: %w", name, err)
		}
	}
	return nil
}

// nodesReady tells whether all nodes are.
func (c *client) nodesReady(ctx context.Context) (bool, error) {
	var list struct{ Items []node }
	if err := c.do(ctx, http.MethodGet, "/api/v1/nodes", "", nil, &list); err != nil {
		return false, err
	}
	return !slices.ContainsFunc(list.Items, func(n node) bool { return !n.ready() }), nil
}

// nodeGone makes the node vanish and returns when the cluster knows: Ready is
// Unknown, the node is tainted unreachable and its pods are unready. Conditions are
// written here because the node controller would first wait out its grace period of
// 50 s, and leaves the pods of a node alone that somebody else found missing.
func (c *client) nodeGone(ctx context.Context, name string) error {
	path := "/api/v1/nodes/" + name
	if err := c.label(ctx, name, `"true"`); err != nil {
		return err
	}
	unknown := []byte(`{"status":{"conditions":[{"type":"Ready","status":"Unknown","reason":"NodeStatusUnknown",` +
		`"message":"Kubelet stopped posting node status."}]}}`)
	err := poll(ctx, "node "+name+" is unreachable", func() (bool, error) {
		var n node
		if err := c.do(ctx, http.MethodGet, path, "", nil, &n); err != nil {
			return false, err
		}
		if n.tainted("node.kubernetes.io/unreachable") {
			return true, nil
		}
		// Again in every round: a heartbeat under way may have overwritten it.
		return false, c.do(ctx, http.MethodPatch, path+"/status", "application/strategic-merge-patch+json", unknown, nil)
	})
	if err != nil {
		return err
	}
	return c.podsUnready(ctx, name)
}

// podsUnready sets the pods of a node to what the node controller would: Ready is
// False, everything else stays as the node last reported it.
func (c *client) podsUnready(ctx context.Context, node string) error {
	var pods struct {
		Items []struct {
			Metadata struct{ Name, Namespace string }
		}
	}
	err := c.do(ctx, http.MethodGet, "/api/v1/pods?fieldSelector=status.phase%3DRunning,spec.nodeName%3D"+node, "", nil, &pods)
	if err != nil {
		return fmt.Errorf("list pods of node %s: %w", node, err)
	}
	unready := []byte(`{"status":{"conditions":[{"type":"Ready","status":"False"}]}}`)
	for _, p := range pods.Items {
		path := "/api/v1/namespaces/" + p.Metadata.Namespace + "/pods/" + p.Metadata.Name + "/status"
		if err := c.do(ctx, http.MethodPatch, path, "application/strategic-merge-patch+json", unready, nil); err != nil {
			return fmt.Errorf("set pod %s unready: %w", p.Metadata.Name, err)
		}
	}
	return nil
}

// nodeBack returns the node to kwok and waits until it takes pods again.
func (c *client) nodeBack(ctx context.Context, name string) error {
	if err := c.label(ctx, name, "null"); err != nil {
		return err
	}
	return poll(ctx, "node "+name+" is ready", func() (bool, error) {
		var n node
		err := c.do(ctx, http.MethodGet, "/api/v1/nodes/"+name, "", nil, &n)
		return err == nil && n.ready(), err
	})
}

// label sets the gone label to a JSON value; null removes it.
func (c *client) label(ctx context.Context, name, value string) error {
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:%s}}}`, goneLabel, value)
	err := c.do(ctx, http.MethodPatch, "/api/v1/nodes/"+name, "application/merge-patch+json", patch, nil)
	if err != nil {
		return fmt.Errorf("label node %s: %w", name, err)
	}
	return nil
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"time"
)

// serveControl answers on loopback so that a test can break the cluster:
//
//	POST /COMPONENT/stop, /COMPONENT/start   etcd, apiserver, controller-manager, scheduler, kwok
//	POST /nodes/NAME/gone, /nodes/NAME/back
//
// Each answers once it is so, with the pids as JSON, or with an error as text.
func (c *cluster) serveControl(ctx context.Context) (address string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("serve control: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /{component}/{verb}", c.answer(c.controlComponent))
	mux.HandleFunc("POST /nodes/{name}/{verb}", c.answer(c.controlNode))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second,
		BaseContext: func(net.Listener) context.Context { return ctx }} // a waiting call must not hold up the end
	go func() { _ = server.Serve(l) }() // until the process ends
	return "http://" + l.Addr().String(), nil
}

func (c *cluster) answer(act func(context.Context, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		ctx, cancel := context.WithTimeout(r.Context(), startTimeout)
		defer cancel()
		if err := act(ctx, r); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(c.pids())
	}
}

func (c *cluster) controlComponent(ctx context.Context, r *http.Request) error {
	p := c.component(r.PathValue("component"))
	if p == nil {
		return fmt.Errorf("no component %q", r.PathValue("component"))
	}
	switch r.PathValue("verb") {
	case "stop":
		p.stop(0) // as a crash does; a polite API server takes seconds to close its watches
		return nil
	case "start":
		return c.run(ctx, p)
	}
	return fmt.Errorf("no verb %q; there are stop and start", r.PathValue("verb"))
}

func (c *cluster) controlNode(ctx context.Context, r *http.Request) error {
	switch name := r.PathValue("name"); r.PathValue("verb") {
	case "gone":
		return c.client.nodeGone(ctx, name)
	case "back":
		return c.client.nodeBack(ctx, name)
	}
	return fmt.Errorf("no verb %q; there are gone and back", r.PathValue("verb"))
}

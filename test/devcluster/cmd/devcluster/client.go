package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// client speaks to the API server as admin. It is all of Kubernetes this command
// links, which is why it starts, and builds, at once.
type client struct {
	base  string
	token string
	http  *http.Client
}

func newClient(base, token string, caPEM []byte) *client {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(caPEM)
	return &client{base: base, token: token, http: &http.Client{
		Timeout:   10 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}},
	}}
}

// do sends one request and decodes a JSON answer into out unless that is nil. A
// status of 400 or more is an error that carries the server's message.
func (c *client) do(ctx context.Context, method, path, contentType string, body []byte, out any) error {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Accept", "application/json")
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if resp.StatusCode >= http.StatusBadRequest {
		var status struct{ Message string }
		_ = json.Unmarshal(data, &status)
		return fmt.Errorf("%s %s: %s %s", method, path, resp.Status, status.Message)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("%s %s: decode answer: %w", method, path, err)
	}
	return nil
}

// ready tells whether the API server answers /readyz with ok.
func (c *client) ready(ctx context.Context) bool {
	return c.do(ctx, http.MethodGet, "/readyz", "", nil, nil) == nil
}

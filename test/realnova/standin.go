package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// imageID is the one image there is.
const imageID = "11111111-1111-1111-1111-111111111111"

// startStandIns plays as much of Glance and Neutron as booting a server without a
// network asks for. Neither checks tokens.
func startStandIns(ctx context.Context) error {
	image := map[string]any{
		"id": imageID, "name": "nothing", "status": "active", "visibility": "public", "disk_format": "raw",
		"container_format": "bare", "size": 1, "min_disk": 0, "min_ram": 0, "created_at": "2026-01-01T00:00:00Z",
		"updated_at": "2026-01-01T00:00:00Z", "schema": "/v2/schemas/image", "protected": false, "tags": []any{},
	}
	properties := map[string]any{} // nova drops what the schema doesn't list
	for key := range image {
		properties[key] = map[string]any{}
	}
	glance := func(path string) any {
		switch {
		case strings.HasPrefix(path, "/v2/images/"):
			return image
		case path == "/v2/schemas/image":
			return map[string]any{"name": "image", "properties": properties, "additionalProperties": true}
		case path == "/", path == "/versions":
			return map[string]any{"versions": []any{map[string]any{"id": "v2.9", "status": "CURRENT", "links": []any{
				map[string]any{"rel": "self", "href": serviceURL("glance", portGlance) + "/v2/"},
			}}}}
		}
		return nil
	}
	neutron := func(path string) any {
		path = strings.TrimSuffix(path, "/")
		if path == "" {
			return map[string]any{"versions": []any{map[string]any{"id": "v2.0", "status": "CURRENT", "links": []any{
				map[string]any{"rel": "self", "href": serviceURL("neutron", portNeutron) + "/v2.0/"},
			}}}}
		}
		last := path[strings.LastIndex(path, "/")+1:]
		return map[string]any{last: []any{}}
	}
	for port, answer := range map[string]func(string) any{portGlance: glance, portNeutron: neutron} {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", at(port))
		if err != nil {
			return fmt.Errorf("start a stand-in: %w", err)
		}
		server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body := answer(r.URL.Path)
			if body == nil {
				http.NotFound(w, r)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(body)
		})}
		go func() { _ = server.Serve(listener) }()
		context.AfterFunc(ctx, func() { _ = server.Close() })
	}
	return nil
}

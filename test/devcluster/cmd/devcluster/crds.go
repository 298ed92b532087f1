package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/c5c3/nova-operator/test/devcluster/standins"
)

// foreign are the definitions read from the module cache, at the versions the
// product's own go.mod requires: there is one pin, and it can't drift.
var foreign = map[string]struct{ module, glob string }{
	"gateway": {"sigs.k8s.io/gateway-api", "config/crd/standard/*.yaml"},
	"vpa":     {"k8s.io/autoscaler/vertical-pod-autoscaler", "deploy/vpa-v1-crd-gen.yaml"},
	"mariadb": {"github.com/mariadb-operator/mariadb-operator", "config/crd/bases/*.yaml"},
}

// crdSets resolves the value of --crds into a list of sets.
func crdSets(value string) ([]string, error) {
	known := append(slices.Sorted(maps.Keys(foreign)), standins.Names()...)
	switch value {
	case "all":
		return known, nil
	case "none", "":
		return nil, nil
	}
	sets := strings.Split(value, ",")
	for _, s := range sets {
		if !slices.Contains(known, s) {
			return nil, fmt.Errorf("unknown set of definitions %q; there are all, none, %s", s, strings.Join(known, ", "))
		}
	}
	return sets, nil
}

// crdDocuments returns the YAML documents of the sets, definitions only: Gateway
// API ships an admission policy beside them.
func crdDocuments(ctx context.Context, sets []string) ([]string, error) {
	var docs []string
	for _, set := range sets {
		src, isForeign := foreign[set]
		if !isForeign {
			docs = append(docs, standins.Documents(set)...)
			continue
		}
		dir, err := moduleDir(ctx, src.module)
		if err != nil {
			return nil, fmt.Errorf("find definitions %s: %w", set, err)
		}
		files, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(src.glob)))
		if err != nil || len(files) == 0 {
			return nil, fmt.Errorf("find definitions %s in %s: %w", set, dir, errors.Join(err, fs.ErrNotExist))
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				return nil, fmt.Errorf("read definitions %s: %w", set, err)
			}
			docs = append(docs, standins.Split(string(data))...)
		}
	}
	return docs, nil
}

// moduleDir returns the folder of a module the product requires, downloading it
// when the module cache lacks it.
func moduleDir(ctx context.Context, module string) (string, error) {
	root, err := sourceDir()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", module)
	cmd.Dir = filepath.Join(root, "..", "..")
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	var info struct{ Dir, Error string }
	if jsonErr := json.Unmarshal(out, &info); jsonErr != nil || info.Error != "" || info.Dir == "" {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			info.Error += string(exit.Stderr)
		}
		return "", fmt.Errorf("go mod download %s: %w %s", module, errors.Join(err, jsonErr), info.Error)
	}
	return info.Dir, nil
}

// installCRDs creates the definitions and waits until all are served.
func (c *client) installCRDs(ctx context.Context, docs []string) error {
	const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	for _, doc := range docs {
		if err := c.do(ctx, http.MethodPost, path, "application/yaml", []byte(doc), nil); err != nil {
			return fmt.Errorf("install definition: %w", err)
		}
	}
	return poll(ctx, "definitions established", func() (bool, error) {
		var list struct {
			Items []struct {
				Status struct {
					Conditions []struct{ Type, Status string }
				}
			}
		}
		if err := c.do(ctx, http.MethodGet, path, "", nil, &list); err != nil {
			return false, err
		}
		established := 0
		for _, item := range list.Items {
			for _, cond := range item.Status.Conditions {
				if cond.Type == "Established" && cond.Status == "True" {
					established++
				}
			}
		}
		return established >= len(docs), nil
	})
}

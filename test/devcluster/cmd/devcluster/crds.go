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

// crdSets resolves the value of --crds into sets and paths. A word with a slash is a
// path, of the caller's own definitions.
func crdSets(value string) ([]string, error) {
	known := append(slices.Sorted(maps.Keys(foreign)), standins.Names()...)
	var sets []string
	for word := range strings.SplitSeq(value, ",") {
		switch {
		case word == "all":
			sets = append(sets, known...)
		case word == "none" || word == "":
		case strings.Contains(word, "/") || slices.Contains(known, word):
			sets = append(sets, word)
		default:
			return nil, fmt.Errorf("unknown set of definitions %q; there are all, none, %s, and paths with a slash",
				word, strings.Join(known, ", "))
		}
	}
	return sets, nil
}

// crdDocuments returns the YAML documents of the sets, definitions only: Gateway
// API ships an admission policy beside them, and a folder of ours a kustomization.
func crdDocuments(ctx context.Context, sets []string) ([]string, error) {
	var docs []string
	for _, set := range sets {
		if own := standins.Documents(set); own != nil {
			docs = append(docs, own...)
			continue
		}
		pattern := set
		if src, ok := foreign[set]; ok {
			dir, err := moduleDir(ctx, src.module)
			if err != nil {
				return nil, fmt.Errorf("find definitions %s: %w", set, err)
			}
			pattern = filepath.Join(dir, filepath.FromSlash(src.glob))
		}
		files, err := yamlFiles(pattern)
		if err != nil {
			return nil, fmt.Errorf("find definitions %s: %w", set, err)
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

// yamlFiles lists what a path stands for: itself, a folder's YAML files, or the
// matches of a pattern. None is an error.
func yamlFiles(path string) ([]string, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, "*.yaml")
	}
	files, err := filepath.Glob(path)
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s: %w", path, fs.ErrNotExist)
	}
	return files, err
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
	return poll(ctx, "definitions are established", func() (bool, error) {
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

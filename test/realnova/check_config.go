package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// fragment is the key of the compute contract that holds configuration.
const fragment = "nova-compute.conf"

// optionNamespaces list every option that Nova's processes and their libraries register.
var optionNamespaces = []string{
	"nova.conf", "oslo.log", "oslo.messaging", "oslo.policy", "oslo.privsep", "oslo.service.periodic_task", "oslo.service.service",
	"oslo.service.sslutils", "oslo.db", "oslo.db.concurrency", "oslo.cache", "oslo.middleware", "oslo.middleware.cors",
	"oslo.middleware.http_proxy_to_wsgi", "oslo.concurrency", "oslo.limit", "oslo.reports", "oslo.versionedobjects",
	"osprofiler", "os_vif", "os_brick", "keystonemiddleware.auth_token",
}

// renderedFiles are the configuration files the pods mount and the contract's fragment.
func (r *rig) renderedFiles(ctx context.Context) (map[string]string, error) {
	n, err := r.nova(ctx)
	if err != nil {
		return nil, err
	}
	pods, err := r.pods(ctx, "api")
	if err != nil || len(pods) == 0 {
		return nil, errors.Join(err, errors.New("no API pod runs"))
	}
	files := map[string]string{}
	for _, v := range pods[0].Spec.Volumes {
		if v.Name != "config" {
			continue
		}
		config := &corev1.ConfigMap{}
		if err := r.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: v.ConfigMap.Name}, config); err != nil {
			return nil, err
		}
		for name, text := range config.Data {
			if strings.HasSuffix(name, ".conf") {
				files[name] = text
			}
		}
	}
	contract := &corev1.Secret{}
	if err := r.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: n.Status.ComputeConfigSecretRef.Name}, contract); err != nil {
		return nil, err
	}
	files[fragment] = string(contract.Data[fragment])
	return files, nil
}

// checkConfig has oslo.config's validator read every file in the images of both releases.
func checkConfig(ctx context.Context, r *rig) (string, error) {
	files, err := r.renderedFiles(ctx)
	if err != nil {
		return "", err
	}
	var problems error
	trees := []tree{r.box.Assets.Older, r.box.Assets.Newer}
	if r.pairMissing() != nil {
		trees = trees[:1]
	}
	for _, t := range trees {
		root := filepath.Join(r.box.Dir, "validate-"+t.Release)
		if err := overlay(t.Path, root, filepath.Join(r.box.Dir, "layers", "validate-"+t.Release)); err != nil {
			return "", err
		}
		for _, name := range slices.Sorted(maps.Keys(files)) {
			if err := os.WriteFile(filepath.Join(root, "etc", "nova", name), []byte(files[name]), 0o644); err != nil {
				return "", err
			}
			args := []string{"--input-file", "/etc/nova/" + name}
			for _, namespace := range optionNamespaces {
				args = append(args, "--namespace", namespace)
			}
			if _, err := chroot(ctx, root, "oslo-config-validator", args...); err != nil {
				problems = errors.Join(problems, fmt.Errorf("%s at %s: %w", name, t.Release, err))
			}
		}
	}
	return fmt.Sprintf("%d files, %d releases", len(files), len(trees)), problems
}

// Command others renders what test/speed compares with, by the libraries of Helm and
// kustomize, one process a measurement:
//
//	others kustomize FOLDER
//	others helm CHART
//
// It is a module of its own, because what it links has no place in the product.
package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/releaseutil"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

var tools = map[string]func(string) (string, error){"kustomize": kustomize, "helm": helm}

func main() {
	if len(os.Args) != 3 || tools[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: others kustomize|helm FOLDER")
		os.Exit(1)
	}
	out, err := tools[os.Args[1]](os.Args[2])
	if err == nil {
		_, err = io.WriteString(os.Stdout, out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// kustomize is `kustomize build`.
func kustomize(folder string) (string, error) {
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		return "", err
	}
	raw, err := built.AsYaml()
	return string(raw), err
}

// helm is `helm template`: load, render, sort.
func helm(folder string) (string, error) {
	chart, err := loader.Load(folder)
	if err != nil {
		return "", err
	}
	values, err := chartutil.ToRenderValues(chart, nil, chartutil.ReleaseOptions{Name: "speed", Namespace: "default"}, nil)
	if err != nil {
		return "", err
	}
	rendered, err := engine.Render(chart, values)
	if err != nil {
		return "", err
	}
	_, manifests, err := releaseutil.SortManifests(rendered, nil, releaseutil.InstallOrder)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for _, m := range manifests {
		out.WriteString("---\n" + m.Content + "\n")
	}
	return out.String(), nil
}

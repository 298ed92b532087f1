package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/cmd/internal/check"
	"github.com/c5c3/nova-operator/cmd/internal/manifest"
	"github.com/c5c3/nova-operator/render"
)

// errFindings says that the input has findings, which are printed already.
var errFindings = errors.New("the input has findings")

// sourceFlags are the flags of every command that reads manifests.
func sourceFlags(command *cobra.Command, source *manifest.Source) {
	flags := command.Flags()
	flags.StringSliceVarP(&source.Places, "filename", "f", nil, "file, directory or - for standard input; may be repeated")
	flags.StringVarP(&source.Kustomization, "kustomize", "k", "", "directory with a kustomization to build")
	flags.StringVarP(&source.Namespace, "namespace", "n", "default", "namespace of documents that name none")
	command.MarkFlagsOneRequired("filename", "kustomize")
	command.MarkFlagsMutuallyExclusive("filename", "kustomize")
}

// resource is one checked document of our kinds.
type resource struct {
	manifest.Document
	check.Outcome
}

// input is everything a command read.
type input struct {
	resources []resource
	// secrets are the Secrets of the input, by namespace and name.
	secrets map[string]map[string]map[string]string
	// failed is set when anything has to be corrected.
	failed bool
}

// readInput reads and checks a source and prints every finding to stderr. The error is
// about the source as a whole.
func readInput(source manifest.Source, stdin io.Reader, stderr io.Writer) (input, error) {
	documents, err := source.Read(stdin)
	if err != nil {
		return input{}, err
	}
	in := input{secrets: map[string]map[string]map[string]string{}}
	seen := map[render.Key]bool{}
	for _, document := range documents {
		switch {
		case document.Err != nil:
			in.finding(stderr, document, document.Err.Error())
		case document.IsSecret():
			in.addSecret(stderr, document)
		case check.Ours(document.Object):
			r := resource{document, check.Resource(document.Object, joinedRelease(documents, document))}
			in.resources = append(in.resources, r)
			in.report(stderr, r)
			key := render.KeyOf(document.Object)
			if seen[key] {
				in.finding(stderr, document, "metadata.name: the input holds this resource twice")
			}
			seen[key] = true
		}
	}
	if len(in.resources) == 0 && !in.failed {
		return input{}, fmt.Errorf("the input holds no %s and no %s", v1alpha1.KindNova, v1alpha1.KindNovaCompute)
	}
	return in, nil
}

func (in *input) finding(stderr io.Writer, where manifest.Document, message string) {
	in.failed = true
	_, _ = fmt.Fprintf(stderr, "%s: %s\n", where, message)
}

func (in *input) report(stderr io.Writer, r resource) {
	for _, f := range r.Findings {
		if f.Warning {
			_, _ = fmt.Fprintf(stderr, "warning: %s: %s\n", r.Document, f.Message)
			continue
		}
		in.finding(stderr, r.Document, f.Message)
	}
}

func (in *input) addSecret(stderr io.Writer, document manifest.Document) {
	data, err := manifest.Secret(document.Object)
	if err != nil {
		for _, one := range unjoin(err) {
			in.finding(stderr, document, one.Error())
		}
		return
	}
	namespace := document.Object.GetNamespace()
	if in.secrets[namespace] == nil {
		in.secrets[namespace] = map[string]map[string]string{}
	}
	in.secrets[namespace][document.Object.GetName()] = data
}

// unjoin lists the single errors of a joined one. It does not look inside an error that
// wraps a joined one, whose own words count.
func unjoin(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var out []error
	for _, one := range joined.Unwrap() {
		out = append(out, unjoin(one)...)
	}
	return out
}

// joinedRelease is the release of the Nova a NovaCompute joins, when it is in the input.
func joinedRelease(documents []manifest.Document, pool manifest.Document) string {
	name, _, _ := unstructured.NestedString(pool.Object.Object, "spec", "novaRef", "name")
	for _, d := range documents {
		if d.Err == nil && d.Object.GetKind() == v1alpha1.KindNova && d.Object.GetName() == name && d.Object.GetNamespace() == pool.Object.GetNamespace() {
			release, _, _ := unstructured.NestedString(d.Object.Object, "spec", "openStackRelease")
			return release
		}
	}
	return ""
}

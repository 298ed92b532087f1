package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/cmd/internal/check"
	"github.com/c5c3/nova-operator/cmd/internal/kind"
	"github.com/c5c3/nova-operator/cmd/internal/manifest"
	"github.com/c5c3/nova-operator/cmd/internal/report"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/facts"
)

// errFindings says that the input has findings, which are printed already.
var errFindings = errors.New("the input has findings")

// errNoResources says that a source holds nothing of this operator.
var errNoResources = fmt.Errorf("the input holds no %s and no %s", v1alpha1.KindNova, v1alpha1.KindNovaCompute)

// sourceFlags are the flags of a command that reads manifests and nothing else.
func sourceFlags(command *cobra.Command, source *manifest.Source) {
	placeFlags(command, source)
	command.MarkFlagsOneRequired("filename", "kustomize")
}

// placeFlags say where manifests are.
func placeFlags(command *cobra.Command, source *manifest.Source) {
	flags := command.Flags()
	flags.StringSliceVarP(&source.Places, "filename", "f", nil, "file, directory, kustomization, git:REV:PATH, or - for standard input; may be repeated")
	flags.StringVarP(&source.Kustomization, "kustomize", "k", "", "directory or git:REV:PATH with a kustomization to build")
	flags.StringVarP(&source.Namespace, "namespace", "n", "default", "namespace of documents that name none")
	command.MarkFlagsMutuallyExclusive("filename", "kustomize")
}

// resource is one checked document of our kinds.
type resource struct {
	manifest.Document
	check.Outcome
}

// decides is the row of the kind of the resource; nil for a kind that this build does not
// decide about, and for a document that does not decode.
func (r resource) decides() *kind.Kind {
	if r.Resource == nil {
		return nil
	}
	return kind.Named(r.Object.GetKind())
}

// fullName is namespace/name.
func (r resource) fullName() string { return r.Object.GetNamespace() + "/" + r.Object.GetName() }

// input is everything a command read.
type input struct {
	resources []resource
	// secrets are the Secrets of the input, by namespace and name.
	secrets map[string]map[string]map[string]string
	// findings are in the order they are printed.
	findings []report.Finding
	// failed is set when anything has to be corrected.
	failed bool
}

// readInput reads and checks a source and prints every finding to stderr. The error is
// about the source as a whole.
func readInput(source manifest.Source, stdin io.Reader, stderr io.Writer) (input, error) {
	in, err := gather(source, stdin)
	if err == nil {
		err = report.Text(stderr, in.findings)
	}
	return in, err
}

// gather reads and checks a source. The error is about the source as a whole.
func gather(source manifest.Source, stdin io.Reader) (input, error) {
	documents, err := source.Read(stdin)
	if err != nil {
		return input{}, err
	}
	in := assemble(documents)
	if len(in.resources) == 0 && !in.failed {
		return input{}, errNoResources
	}
	return in, nil
}

// assemble checks documents.
func assemble(documents []manifest.Document) input {
	in := input{secrets: map[string]map[string]map[string]string{}}
	seen := map[render.Key]string{}
	for _, document := range documents {
		switch {
		case document.Err != nil:
			in.find(document, check.Finding{Rule: check.RuleParse, Message: document.Err.Error()})
		case document.IsSecret():
			in.addSecret(document)
		case check.Ours(document.Object):
			r := resource{document, check.Resource(document.Object, joinedRelease(documents, document))}
			in.resources = append(in.resources, r)
			for _, f := range r.Findings {
				in.find(document, f)
			}
			key := render.KeyOf(document.Object)
			if first, twice := seen[key]; twice {
				in.find(document, check.Finding{
					Rule: check.RuleDuplicate, Path: "metadata.name", Message: "the input holds this resource twice", Suggestion: "the first is " + first,
				})
				continue
			}
			at := document.Find("metadata.name")
			seen[key] = "in " + at.String()
		}
	}
	in.sharedSchemas()
	return in
}

// sharedSchemas finds the schemas that two Novas of the input name; the second is told.
func (in *input) sharedSchemas() {
	for i, r := range in.resources {
		nova, ok := r.Resource.(*v1alpha1.Nova)
		if !ok {
			continue
		}
		for _, other := range in.resources[:i] {
			first, ok := other.Resource.(*v1alpha1.Nova)
			if !ok || first.Namespace == nova.Namespace && first.Name == nova.Name {
				continue
			}
			for _, s := range nova.SharedSchemas(first) {
				f := check.Finding{
					Rule: check.RuleSchemaInUse, Path: s.Path, Message: fmt.Sprintf("%s belongs to Nova %s", s, first.Name),
					Suggestion: "each Nova needs schemas of its own",
				}
				in.resources[i].Findings = append(in.resources[i].Findings, f)
				in.find(r.Document, f)
			}
		}
	}
}

// find keeps a finding about a document.
func (in *input) find(where manifest.Document, f check.Finding) report.Finding {
	in.failed = in.failed || !f.Warning
	out := report.New(where, f)
	in.findings = append(in.findings, out)
	return out
}

func (in *input) addSecret(document manifest.Document) {
	data, problems := manifest.Secret(document.Object)
	if len(problems) > 0 {
		for _, problem := range problems {
			in.find(document, problem)
		}
		return
	}
	namespace := document.Object.GetNamespace()
	if in.secrets[namespace] == nil {
		in.secrets[namespace] = map[string]map[string]string{}
	}
	in.secrets[namespace][document.Object.GetName()] = data
}

// secretsOf are the Secrets of the input under the names a decision about a resource reads
// them by.
func (in *input) secretsOf(r v1alpha1.Resource) map[string]facts.SecretData {
	out := map[string]facts.SecretData{}
	for namespace, secrets := range in.secrets {
		for name, data := range secrets {
			values := facts.SecretData{}
			for key, value := range data {
				values[key] = render.Sensitive(value)
			}
			out[facts.SecretKey(r.GetNamespace(), namespace, name)] = values
		}
	}
	return out
}

// joinedRelease is the release of the Nova a NovaCompute joins, when it is in the input.
func joinedRelease(documents []manifest.Document, pool manifest.Document) string {
	name, _, _ := unstructured.NestedString(pool.Object.Object, "spec", "novaRef", "name")
	for _, d := range documents {
		if d.Err == nil && d.Object.GetKind() == v1alpha1.KindNova && d.Object.GetName() == name &&
			d.Object.GetNamespace() == pool.Object.GetNamespace() {
			release, _, _ := unstructured.NestedString(d.Object.Object, "spec", "openStackRelease")
			return release
		}
	}
	return ""
}

package main

import (
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/kio/kioutil"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/cmd/internal/check"
	"github.com/c5c3/nova-operator/cmd/internal/manifest"
	"github.com/c5c3/nova-operator/cmd/internal/report"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/foresee"
	"github.com/c5c3/nova-operator/render/stream"
)

const (
	// functionGroup is the API group of the function's own configuration.
	functionGroup = "fn." + v1alpha1.GroupName
	// functionKind is its kind.
	functionKind = "RenderNova"
)

// renderedFrom marks an object of the function with the namespace/name of its Nova, so
// that the next run replaces it.
const renderedFrom = functionGroup + "/rendered-from"

func newFunctionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "function",
		Short: "Render the Novas of a ResourceList, as a KRM function",
		Long: `Reads a ResourceList on standard input, as kustomize, kpt and others pass it to a
function, checks every Nova and NovaCompute among its items, and adds the objects each
Nova stands for, in the world that render assumes. What it finds is in the results, and
the exit code is 1 when there is an error among them; the items are then passed on as
they came.

Values of Secrets are never rendered: rendered Secrets are left out, or hold placeholders.
The functionConfig is a RenderNova (` + functionGroup + `) or a ConfigMap with the same
fields as data:

  objects: Add|Replace|Omit    what happens to rendered objects: they stand beside the
                               Nova, in its place, or are not returned (default Add)
  secrets: Omit|Placeholder    rendered Secrets (default Omit)
  namespace                    namespace of items that name none (default "default")
  operatorNamespace            namespace of the operator, which a NetworkPolicy lets in
  defaultImagePullPolicy       the operator's flag of this name`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return runFunction(command.InOrStdin(), command.OutOrStdout())
		},
	}
}

// runFunction reads one ResourceList and writes the next. The error repeats the results
// that are errors: kustomize shows what goes to standard error and drops the results.
func runFunction(stdin io.Reader, stdout io.Writer) error {
	list := &kio.ByteReadWriter{Reader: stdin, Writer: stdout, KeepReaderAnnotations: true}
	items, err := list.Read()
	if err != nil {
		// The reader's own words can quote the text, which may be a credential.
		return errors.New("standard input does not parse as YAML")
	}
	if list.WrappingKind != kio.ResourceListKind {
		return fmt.Errorf("standard input must be one %s of %s; render and validate read plain manifests", kio.ResourceListKind, kio.ResourceListAPIVersion)
	}
	for i, item := range items {
		if !isObject(item) {
			return fmt.Errorf("items[%d] is no object", i)
		}
	}
	// Callers say in one of two spellings where an item comes from. These two calls of the
	// library let this command know one, and return both.
	spellings, err := kio.PreprocessResourcesForInternalAnnotationMigration(items)
	if err != nil {
		return fmt.Errorf("read annotations: %w", err)
	}
	f := function{items: items}
	if f.config, err = readFunctionConfig(list.FunctionConfig); err != nil {
		f.results = framework.Results{{Message: err.Error(), Severity: framework.Error}}
	} else if err := f.run(); err != nil {
		return err
	}
	if err := kio.ReconcileInternalAnnotations(f.items, spellings); err != nil {
		return fmt.Errorf("write annotations: %w", err)
	}
	list.Results = nil
	if len(f.results) > 0 {
		raw, err := kyaml.Marshal(f.results)
		if err != nil {
			return err
		}
		if list.Results, err = kyaml.Parse(string(raw)); err != nil {
			return err
		}
	}
	if err := list.Write(f.items); err != nil {
		return err
	}
	return f.failure()
}

// isObject reports whether an item has the shape the library takes for granted.
func isObject(item *kyaml.RNode) bool {
	at := item
	for _, name := range []string{"", "metadata", "annotations"} {
		if name != "" {
			field := at.Field(name)
			if field == nil {
				return true
			}
			at = field.Value
		}
		if at == nil || at.YNode() == nil || at.YNode().Kind != kyaml.MappingNode {
			return false
		}
	}
	return true
}

// function is one run.
type function struct {
	config  functionConfig
	items   []*kyaml.RNode
	results framework.Results
}

// run replaces the items by what the function returns, unless there is an error.
func (f *function) run() error {
	documents, err := f.documents()
	if err != nil {
		return err
	}
	in := assemble(documents)
	f.report(in.findings)
	if in.failed {
		return nil
	}
	out := f.remaining(in)
	for _, r := range in.resources {
		if r.decides() == nil {
			f.note(r.Document, r.undecided())
			continue
		}
		added, err := f.render(r, in, out)
		if err != nil {
			return err
		}
		if f.config.Objects == objectsReplace {
			out = slices.DeleteFunc(out, func(item *kyaml.RNode) bool { return item == f.items[r.Number-1] })
		}
		if f.config.Objects != objectsOmit {
			out = append(out, added...)
		}
	}
	if f.results.ExitCode() == 0 {
		f.items = out
	}
	return nil
}

// documents are the items, without those an earlier run made, and without files that
// belong to tools, such as a kustomization that names no kind. The number of each leads
// back to its item.
func (f *function) documents() ([]manifest.Document, error) {
	var out []manifest.Document
	for i, item := range f.items {
		if item.GetAnnotations()[renderedFrom] != "" || item.GetKind() == "" {
			continue
		}
		raw, err := item.String()
		if err != nil {
			return nil, fmt.Errorf("item %d does not print as YAML", i)
		}
		for _, d := range manifest.Parse("items["+strconv.Itoa(i)+"]", []byte(raw), f.config.Namespace) {
			d.Number = i + 1
			out = append(out, d)
		}
	}
	return out, nil
}

// remaining are the items without those an earlier run made for a Nova that is still
// here.
func (f *function) remaining(in input) []*kyaml.RNode {
	here := map[string]bool{}
	for _, r := range in.resources {
		if r.decides() != nil {
			here[r.fullName()] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(f.items), func(item *kyaml.RNode) bool {
		return here[item.GetAnnotations()[renderedFrom]]
	})
}

// render decides one Nova and returns its objects, marked. Others are the items that
// stay: an object of theirs must not be one of the Nova.
func (f *function) render(r resource, in input, others []*kyaml.RNode) ([]*kyaml.RNode, error) {
	world := r.decides().World(r.Resource, f.config.settings())
	world.AddSecrets(in.secretsOf(r.Resource))
	settled, placeholders := foresee.Settle(world)
	d := decision{r, settled, placeholders}
	for _, problem := range d.problems(true) {
		f.report([]report.Finding{report.New(d.Document, check.Finding{Rule: check.RuleRender, Message: problem})})
	}
	for _, name := range d.placeholders {
		f.note(d.Document, "a placeholder stands in for "+name)
	}
	taken := map[render.Key]bool{}
	for _, item := range others {
		taken[f.key(item)] = true
	}
	var desired stream.Document
	desired.Fill(d.Set, stream.Options{})
	var out []*kyaml.RNode
	for _, object := range desired.Desired {
		u := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(object.Object)}
		key := render.KeyOf(u)
		switch {
		case taken[key]:
			f.report([]report.Finding{report.New(d.Document, check.Finding{
				Rule: check.RuleRender, Message: "renders " + key.String() + ", which is among the items", Suggestion: "rename one of the two",
			})})
			continue
		case u.GroupVersionKind() == render.KindSecret && f.config.Secrets == secretsOmit:
			f.note(d.Document, key.String()+" is left out: its values come from the cluster")
			continue
		}
		item, err := f.mark(u, r, len(out))
		if err != nil {
			return nil, fmt.Errorf("print %s: %w", key, err)
		}
		out = append(out, item)
	}
	return out, nil
}

// key identifies an item; one that is no object has a key of its own.
func (f *function) key(item *kyaml.RNode) render.Key {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetAPIVersion(item.GetApiVersion())
	u.SetKind(item.GetKind())
	u.SetName(item.GetName())
	u.SetNamespace(item.GetNamespace())
	if u.GetNamespace() == "" {
		u.SetNamespace(f.config.Namespace)
	}
	return render.KeyOf(u)
}

// mark turns a rendered object into an item that says where it comes from, and that
// belongs into a file beside the one of its Nova.
func (f *function) mark(u *unstructured.Unstructured, r resource, index int) (*kyaml.RNode, error) {
	annotations := u.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[renderedFrom] = r.fullName()
	if file, _ := fileOf(f.items[r.Number-1]); file != "" {
		beside := path.Join(path.Dir(file), strings.Join([]string{r.Object.GetNamespace(), r.Object.GetName(), "rendered.yaml"}, "-"))
		annotations[kioutil.PathAnnotation] = beside
		annotations[kioutil.IndexAnnotation] = strconv.Itoa(index)
	}
	u.SetAnnotations(annotations)
	raw, err := yaml.Marshal(u.Object)
	if err != nil {
		return nil, err
	}
	return kyaml.Parse(string(raw))
}

// fileOf is the file an item was read from, "" when the caller did not say, and its
// place among the objects of that file.
func fileOf(item *kyaml.RNode) (file string, index int) {
	annotations := item.GetAnnotations()
	index, _ = strconv.Atoi(annotations[kioutil.IndexAnnotation])
	return annotations[kioutil.PathAnnotation], index
}

// report turns findings into results.
func (f *function) report(findings []report.Finding) {
	for _, found := range findings {
		result := &framework.Result{
			Message: found.Message, Severity: framework.Severity(found.Severity), Tags: map[string]string{"rule": found.Rule},
		}
		if found.Suggestion != "" {
			result.Message += "; " + found.Suggestion
		}
		if found.Path != "" {
			result.Field = &framework.Field{Path: found.Path}
		}
		f.refer(result, found.Document)
		f.results = append(f.results, result)
	}
}

// note adds a result that asks for nothing.
func (f *function) note(d manifest.Document, message string) {
	result := &framework.Result{Message: message, Severity: framework.Info}
	f.refer(result, d.Number)
	f.results = append(f.results, result)
}

// refer says which item a result is about.
func (f *function) refer(result *framework.Result, number int) {
	item := f.items[number-1]
	result.ResourceRef = &kyaml.ResourceIdentifier{
		TypeMeta: kyaml.TypeMeta{APIVersion: item.GetApiVersion(), Kind: item.GetKind()},
		NameMeta: kyaml.NameMeta{Name: item.GetName(), Namespace: item.GetNamespace()},
	}
	if file, index := fileOf(item); file != "" {
		result.File = &framework.File{Path: file, Index: index}
	}
}

// failure lists the errors, nil without one.
func (f *function) failure() error {
	var errs []error
	for _, result := range f.results {
		if result.Severity == framework.Error {
			errs = append(errs, errors.New(result.String()))
		}
	}
	return errors.Join(errs...)
}

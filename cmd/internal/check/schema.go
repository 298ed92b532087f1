package check

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/nova-operator/api/catalog"
	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/kustomize/crd"
)

// definition is the generated schema of one kind, ready to judge.
type definition struct {
	structural *structuralschema.Structural
	schema     validation.SchemaValidator
	rules      *cel.Validator
}

// definitions loads each kind once, when one is met: compiling its rules takes a moment.
var definitions = map[string]func() (map[schema.GroupVersionKind]*definition, error){
	v1alpha1.KindNova:        definitionFile("novas"),
	v1alpha1.KindNovaCompute: definitionFile("novacomputes"),
}

func definitionFile(plural string) func() (map[schema.GroupVersionKind]*definition, error) {
	return sync.OnceValues(func() (map[schema.GroupVersionKind]*definition, error) {
		name := v1alpha1.GroupName + "_" + plural + ".yaml"
		raw, err := crd.Files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		out := map[schema.GroupVersionKind]*definition{}
		if err := load(raw, out); err != nil {
			return nil, fmt.Errorf("definition %s: %w", name, err)
		}
		return out, nil
	})
}

func load(raw []byte, into map[schema.GroupVersionKind]*definition) error {
	var file apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(raw, &file); err != nil {
		return err
	}
	for _, version := range file.Spec.Versions {
		var internal apiextensions.JSONSchemaProps
		if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(version.Schema.OpenAPIV3Schema, &internal, nil); err != nil {
			return err
		}
		structural, err := structuralschema.NewStructural(&internal)
		if err != nil {
			return err
		}
		validator, _, err := validation.NewSchemaValidator(&internal)
		if err != nil {
			return err
		}
		gvk := schema.GroupVersionKind{Group: file.Spec.Group, Version: version.Name, Kind: file.Spec.Names.Kind}
		into[gvk] = &definition{
			structural: structural, schema: validator,
			rules: cel.NewValidator(structural, true, celconfig.PerCallLimit),
		}
	}
	return nil
}

// definitionOf returns the schema of a kind, or says what our group has instead.
func definitionOf(kind schema.GroupVersionKind) (*definition, error) {
	if versions := definitions[kind.Kind]; versions != nil {
		all, err := versions()
		if err != nil {
			return nil, err
		}
		if found := all[kind]; found != nil {
			return found, nil
		}
	}
	return nil, fmt.Errorf("%s %s is not served; this build knows %s and %s of %s",
		kind.GroupVersion(), kind.Kind, v1alpha1.KindNova, v1alpha1.KindNovaCompute, v1alpha1.GroupVersion)
}

// prune drops unknown fields and fills the defaults of the schema. It returns the
// paths it dropped, sorted.
func (d *definition) prune(object map[string]any) []string {
	unknown := pruning.PruneWithOptions(object, d.structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	defaulting.Default(object, d.structural)
	defaulting.PruneNonNullableNullsWithoutDefaults(object, d.structural)
	return slices.Compact(slices.Sorted(slices.Values(unknown)))
}

// alternatives names the fields beside an unknown one that are spelt alike.
func (d *definition) alternatives(path string) string {
	at, name := d.structural, path
	for {
		part, rest, more := strings.Cut(name, ".")
		if !more {
			return catalog.DidYouMean(name, slices.Sorted(maps.Keys(at.Properties)))
		}
		above, _, isItem := strings.Cut(part, "[")
		next, known := at.Properties[above]
		if !known {
			return ""
		}
		at, name = &next, rest
		if isItem && at.Items != nil {
			at = at.Items
		}
	}
}

// validate is what the API server does on a create, in its order: the schema, then the
// rules. It is not complete while a field is missing or of another type: rules could not
// be evaluated then.
func (d *definition) validate(u *unstructured.Unstructured) (errs, broken field.ErrorList, complete bool) {
	errs = apivalidation.ValidateObjectMetaAccessor(u, true, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	errs = append(errs, validation.ValidateCustomResource(nil, u.Object, d.schema)...)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, d.structural, u.Object)...)
	if slices.ContainsFunc(errs, blocking) {
		return errs, nil, false
	}
	if d.rules != nil {
		broken, _ = d.rules.Validate(context.Background(), nil, d.structural, u.Object, nil, celconfig.RuntimeCELCostBudget)
	}
	return errs, broken, true
}

func blocking(err *field.Error) bool {
	return slices.Contains([]field.ErrorType{
		field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid,
	}, err.Type)
}

// patched puts a merge patch on an object.
func patched(object map[string]any, patch []byte) (map[string]any, error) {
	raw, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	merged, err := jsonpatch.MergePatch(raw, patch)
	if err != nil {
		return nil, err
	}
	return decodeObject(merged)
}

// absent puts a merge patch on an object where it has nothing.
func absent(object map[string]any, patch []byte) (map[string]any, error) {
	raw, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	merged, err := jsonpatch.MergePatch(patch, raw)
	if err != nil {
		return nil, err
	}
	return decodeObject(merged)
}

func decodeObject(raw []byte) (map[string]any, error) {
	var out map[string]any
	err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &out)
	return out, err
}

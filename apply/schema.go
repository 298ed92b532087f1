package apply

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/openapi"
	"k8s.io/kube-openapi/pkg/spec3"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	smdschema "sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/c5c3/nova-operator/apply/diff"
)

// schemaRetry is the shortest time between two attempts to read the schema of one
// group version that was missing or did not fit.
const schemaRetry = time.Minute

// neverOwned is what the API server leaves out of every field set (stripmeta.go in
// k8s.io/apimachinery/pkg/util/managedfields/internal).
var neverOwned = fieldpath.NewSet(
	fieldpath.MakePathOrDie("apiVersion"),
	fieldpath.MakePathOrDie("kind"),
	fieldpath.MakePathOrDie("metadata"),
	fieldpath.MakePathOrDie("metadata", "name"),
	fieldpath.MakePathOrDie("metadata", "namespace"),
	fieldpath.MakePathOrDie("metadata", "uid"),
)

// schemas holds the cluster's own OpenAPI schemas, one document a group version,
// read when first needed and kept.
type schemas struct {
	source openapi.Client
	now    func() time.Time

	mu   sync.Mutex
	docs map[schema.GroupVersion]*schemaDoc
}

type schemaDoc struct {
	once  sync.Once
	conv  managedfields.TypeConverter
	err   error
	since time.Time
}

func newSchemas(source openapi.Client, now func() time.Time) *schemas {
	return &schemas{source: source, now: now, docs: map[schema.GroupVersion]*schemaDoc{}}
}

// proves says whether applying desired to live would change nothing. true is a
// proof: our Apply entry lists exactly the fields of desired, with its values, in
// its order. false means "do not know", be it for want of a schema.
func (s *schemas) proves(desired, live *unstructured.Unstructured) bool {
	if s == nil || s.source == nil {
		return false
	}
	fields, version := diff.OwnedFields(live)
	if fields == nil || version != desired.GetAPIVersion() || live.GroupVersionKind() != desired.GroupVersionKind() {
		return false
	}
	gv := desired.GroupVersionKind().GroupVersion()
	conv, err := s.converter(gv)
	if err != nil {
		return false
	}
	want, err := conv.ObjectToTyped(desired)
	if err != nil {
		s.expire(gv) // a kind or field the schema does not know: it may be outdated
		return false
	}
	have, err := conv.ObjectToTyped(live, typed.AllowDuplicates)
	if err != nil {
		s.expire(gv)
		return false
	}
	return equalOwned(want, have, fields)
}

// equalOwned compares the desired value with the part of the live value that our
// field set covers.
func equalOwned(want, have *typed.TypedValue, fields map[string]any) bool {
	raw, err := json.Marshal(fields)
	if err != nil {
		return false
	}
	owned := &fieldpath.Set{}
	if err := owned.FromJSON(bytes.NewReader(raw)); err != nil {
		return false
	}
	set, err := want.ToFieldSet()
	if err != nil || !set.Difference(neverOwned).Equals(owned) {
		return false
	}
	mine := have.ExtractItems(owned.Leaves(), typed.WithAppendKeyFields())
	bare := want.RemoveItems(neverOwnedLeaves).AsValue()
	return value.Equals(bare, mine.AsValue()) ||
		defaulted(mine.Schema(), mine.TypeRef(), bare.Unstructured(), mine.AsValue().Unstructured())
}

// defaulted says whether have is want plus fields at their schema default. Those
// show up inside what we own as a whole (an atomic list, an item of a plain list):
// the API server would fill them in again.
func defaulted(sc *smdschema.Schema, ref smdschema.TypeRef, want, have any) bool {
	atom, ok := sc.Resolve(ref)
	if !ok {
		return false
	}
	switch w := want.(type) {
	case map[string]any:
		h, ok := have.(map[string]any)
		if !ok || atom.Map == nil {
			return diff.DigestOf(want) == diff.DigestOf(have)
		}
		for k := range w {
			if _, there := h[k]; !there {
				return false
			}
		}
		for k, v := range h {
			field, known := atom.FindField(k)
			if !known {
				field = smdschema.StructField{Type: atom.Map.ElementType}
			}
			wanted, there := w[k]
			if !there {
				wanted = field.Default
			}
			if wanted == nil || diff.DigestOf(wanted) != diff.DigestOf(v) && !defaulted(sc, field.Type, wanted, v) {
				return false
			}
		}
		return true
	case []any:
		h, ok := have.([]any)
		if !ok || atom.List == nil || len(w) != len(h) {
			return false
		}
		for i := range w {
			if !defaulted(sc, atom.List.ElementType, w[i], h[i]) {
				return false
			}
		}
		return true
	default:
		return diff.DigestOf(want) == diff.DigestOf(have)
	}
}

// neverOwnedLeaves is neverOwned without metadata itself, which holds owned fields.
var neverOwnedLeaves = neverOwned.Difference(fieldpath.NewSet(fieldpath.MakePathOrDie("metadata")))

// converter returns the type converter of a group version, reading its schema once.
func (s *schemas) converter(gv schema.GroupVersion) (managedfields.TypeConverter, error) {
	s.mu.Lock()
	doc, ok := s.docs[gv]
	if ok && doc.err != nil && s.now().Sub(doc.since) >= schemaRetry {
		ok = false
	}
	if !ok {
		doc = &schemaDoc{since: s.now()}
		s.docs[gv] = doc
	}
	s.mu.Unlock()
	doc.once.Do(func() {
		conv, err := s.read(gv)
		s.mu.Lock()
		doc.conv, doc.err = conv, err
		s.mu.Unlock()
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	return doc.conv, doc.err
}

// expire makes the next call read the schema anew, unless it is fresh.
func (s *schemas) expire(gv schema.GroupVersion) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if doc, ok := s.docs[gv]; ok && s.now().Sub(doc.since) >= schemaRetry {
		delete(s.docs, gv)
	}
}

func (s *schemas) read(gv schema.GroupVersion) (managedfields.TypeConverter, error) {
	all, err := s.source.Paths()
	if err != nil {
		return nil, fmt.Errorf("read the OpenAPI index: %w", err)
	}
	path := "apis/" + gv.String()
	if gv.Group == "" {
		path = "api/" + gv.Version
	}
	doc, ok := all[path]
	if !ok {
		return nil, fmt.Errorf("no OpenAPI schema of %s", gv)
	}
	raw, err := doc.Schema("application/json")
	if err != nil {
		return nil, fmt.Errorf("read the OpenAPI schema of %s: %w", gv, err)
	}
	var parsed spec3.OpenAPI
	if err := json.Unmarshal(raw, &parsed); err != nil {
		return nil, fmt.Errorf("decode the OpenAPI schema of %s: %w", gv, err)
	}
	if parsed.Components == nil {
		return nil, fmt.Errorf("the OpenAPI schema of %s names no type", gv)
	}
	return managedfields.NewTypeConverter(parsed.Components.Schemas, false)
}

// Package check finds what an API server with our webhooks would refuse in a Nova or a
// NovaCompute, without one: unknown fields, the generated schema with its CEL rules,
// and the rules of the validating webhook.
//
// Input: one manifest. Output: the resource as the API server would store it, and every
// finding, in a stable order. It reads no cluster: rules that compare with the stored
// resource, or look something up, are not checked here.
package check

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"github.com/c5c3/nova-operator/api/v1alpha1"
)

// Finding is one thing to correct, or a warning about it.
type Finding struct {
	// Message is "path: what is wrong".
	Message string
	Warning bool
}

// Outcome is what is known about one manifest. Nova or Compute is set for a manifest
// that decodes, whatever else was found.
type Outcome struct {
	Nova     *v1alpha1.Nova
	Compute  *v1alpha1.NovaCompute
	Findings []Finding
}

// Failed reports whether anything has to be corrected.
func (o Outcome) Failed() bool {
	return slices.ContainsFunc(o.Findings, func(f Finding) bool { return !f.Warning })
}

// Ours reports whether a manifest is of this operator's API group.
func Ours(u *unstructured.Unstructured) bool {
	return u.GroupVersionKind().Group == v1alpha1.GroupName
}

// Resource checks one manifest of our group. Release is the OpenStack release of the
// Nova that a NovaCompute joins, "" when it is not known.
func Resource(u *unstructured.Unstructured, release string) Outcome {
	kind := u.GroupVersionKind()
	definition, err := definitionOf(kind)
	if err != nil {
		return Outcome{Findings: []Finding{{Message: err.Error()}}}
	}
	u = u.DeepCopy()
	c := &checker{object: u, seen: map[string]bool{}}
	for _, path := range definition.prune(u.Object) {
		c.find(path + ": unknown field")
	}
	var undecodable error
	if kind.Kind == v1alpha1.KindNova {
		undecodable = c.nova()
	} else {
		undecodable = c.compute(release)
	}
	errs, complete := definition.validate(u)
	c.errors(errs)
	if !complete {
		c.find("some validation rules were not checked because the object was invalid; correct the existing errors to complete validation")
	}
	if undecodable != nil && !c.outcome.Failed() {
		c.find(typeProblem(undecodable))
	}
	return c.sorted()
}

// typeProblem names the field of a value that is of another type.
func typeProblem(err error) string {
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) {
		return fmt.Sprintf("%s: must be of type %s, not %s", mismatch.Field, mismatch.Type, mismatch.Value)
	}
	return err.Error()
}

// nova applies the webhooks of a Nova. The error is why it does not decode.
func (c *checker) nova() error {
	nova := new(v1alpha1.Nova)
	if err := c.decode(nova); err != nil {
		return err
	}
	c.outcome.Nova = nova
	c.stored(nova, nova.Default)
	c.rules(v1alpha1.ValidateNova(nova, nil))
	return nil
}

func (c *checker) compute(release string) error {
	compute := new(v1alpha1.NovaCompute)
	if err := c.decode(compute); err != nil {
		return err
	}
	c.outcome.Compute = compute
	c.rules(v1alpha1.ValidateNovaCompute(compute, nil, release))
	return nil
}

// checker collects the findings about one object.
type checker struct {
	object  *unstructured.Unstructured
	outcome Outcome
	seen    map[string]bool
}

func (c *checker) find(message string) {
	c.outcome.Findings = append(c.outcome.Findings, Finding{Message: message})
}

// errors keeps each finding once: the schema and the webhook share rules and their
// words, and differ in the value they quote.
func (c *checker) errors(list field.ErrorList) {
	for _, err := range list {
		id := err.Field + ": " + err.Detail
		if err.Detail == "" {
			id = err.Error()
		}
		if !c.seen[id] {
			c.seen[id] = true
			c.find(err.Error())
		}
	}
}

func (c *checker) rules(list field.ErrorList, warnings []string) {
	c.errors(list)
	for _, warning := range warnings {
		c.outcome.Findings = append(c.outcome.Findings, Finding{Message: warning, Warning: true})
	}
}

// decode fills a typed resource. What keeps it from decoding is mostly told by the
// schema, in words that name the path. The schema leaves extraConfig alone, so its
// values are judged here, and the rest of the resource without the bad ones.
func (c *checker) decode(into any) error {
	good := c.object.DeepCopy()
	for _, problem := range dropExtraConfig(good) {
		c.find(problem)
	}
	raw, err := json.Marshal(good.Object)
	if err != nil {
		return err
	}
	return kjson.UnmarshalCaseSensitivePreserveInts(raw, into)
}

// dropExtraConfig removes the options whose value has no line in a file, and says which
// they are.
func dropExtraConfig(u *unstructured.Unstructured) []string {
	extra, _, err := unstructured.NestedFieldNoCopy(u.Object, "spec", "extraConfig")
	sections, ok := extra.(map[string]any)
	if err != nil || !ok {
		return nil
	}
	var problems []string
	for _, section := range slices.Sorted(maps.Keys(sections)) {
		before := len(problems)
		options, ok := sections[section].(map[string]any)
		if !ok {
			problems = append(problems, fmt.Sprintf("spec.extraConfig[%s]: must map options to values", section))
			delete(sections, section)
		}
		for _, option := range slices.Sorted(maps.Keys(options)) {
			raw, err := json.Marshal(options[option])
			if err == nil {
				_, err = v1alpha1.ParseConfigValue(raw)
			}
			if err != nil {
				problems = append(problems, fmt.Sprintf("spec.extraConfig[%s][%s]: %v", section, option, err))
				delete(options, option)
			}
		}
		if ok && len(options) == 0 && len(problems) > before {
			delete(sections, section)
		}
	}
	return problems
}

// stored lays what the mutating webhook changes over the object, so that the schema
// judges what the API server would store.
func (c *checker) stored(resource any, mutate func()) {
	before, err := json.Marshal(resource)
	if err != nil {
		return
	}
	mutate()
	after, err := json.Marshal(resource)
	if err != nil {
		return
	}
	if merged, err := patched(c.object.Object, before, after); err == nil {
		c.object.Object = merged
	}
}

// sorted orders the findings, and leaves out one that another repeats with a reason.
func (c *checker) sorted() Outcome {
	all := c.outcome.Findings
	slices.SortStableFunc(all, func(a, b Finding) int { return strings.Compare(a.Message, b.Message) })
	c.outcome.Findings = slices.DeleteFunc(slices.Clone(all), func(f Finding) bool {
		return slices.ContainsFunc(all, func(other Finding) bool { return strings.HasPrefix(other.Message, f.Message+": ") })
	})
	return c.outcome
}

// Package check finds what an API server with our webhooks would refuse in a Nova or a
// NovaCompute, without one: unknown fields, the generated schema with its CEL rules,
// and the rules of the validating webhook.
//
// Input: one manifest. Output: the resource as the API server would store it, and every
// finding, in a stable order. It reads no cluster: rules that compare with the stored
// resource, or look something up, are not checked here.
package check

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"github.com/c5c3/nova-operator/api/v1alpha1"
)

// The rules a finding can break. Their names are part of the output: they stay.
const (
	RuleParse        = "parse"
	RuleKind         = "kind"
	RuleUnknownField = "unknown-field"
	RuleSchema       = "schema"
	RuleCEL          = "cel"
	RuleWebhook      = "rule"
	RuleCatalog      = "catalog"
	RuleDuplicate    = "duplicate"
	RuleSchemaInUse  = "schema-in-use"
	RuleSecret       = "secret"
	RuleRender       = "render"
)

// Rule describes a rule to people.
type Rule struct{ ID, Short, Help string }

// Rules are all rules, in the order of a check.
var Rules = []Rule{
	{RuleParse, "The document can't be read", "A document is one YAML or JSON object with apiVersion and kind, and no key twice."},
	{RuleKind, "The kind is not served", "This build knows one version of Nova and NovaCompute."},
	{RuleUnknownField, "The field is unknown", "The API server drops a field that the definition does not have, with a warning at most."},
	{RuleSchema, "The value does not fit the definition", "The API server refuses the resource."},
	{RuleCEL, "The values contradict each other", "The API server refuses the resource by a rule of the definition."},
	{RuleWebhook, "The operator's webhook refuses it", "The API server refuses the resource when the webhooks are installed; the operator can't carry it out without."},
	{RuleCatalog, "The option does not fit the release", "Nova ignores an option it does not know. Some options the operator sets itself."},
	{RuleDuplicate, "The resource is there twice", "The one that is applied last wins."},
	{RuleSchemaInUse, "Two Novas name one database schema", "Each would undo, and in the end drop, what the other made."},
	{RuleSecret, "The Secret can't be read", "Values under data are base64 of text; stringData takes the text."},
	{RuleRender, "The Nova does not come up", "The objects can't be rendered, or the Nova would not turn ready with them."},
}

// Finding is one thing to correct, or a warning about it.
type Finding struct {
	Rule    string
	Warning bool
	// Path is the field, such as spec.extraConfig[DEFAULT][debug]; "" is the resource.
	Path    string
	Message string
	// Suggestion is what to do, where it is known.
	Suggestion string
}

// String is "path: message; suggestion".
func (f Finding) String() string {
	out := f.Message
	if f.Path != "" {
		out = f.Path + ": " + out
	}
	if f.Suggestion != "" {
		out += "; " + f.Suggestion
	}
	return out
}

// Outcome is what is known about one manifest. Resource is set for a manifest that
// decodes, whatever else was found.
type Outcome struct {
	Resource v1alpha1.Resource
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
		return Outcome{Findings: []Finding{{Rule: RuleKind, Path: "kind", Message: err.Error()}}}
	}
	u = u.DeepCopy()
	c := &checker{object: u, seen: map[string]bool{}}
	for _, path := range definition.prune(u.Object) {
		c.find(Finding{Rule: RuleUnknownField, Path: path, Message: "unknown field", Suggestion: definition.alternatives(path)})
	}
	var undecodable error
	if kind.Kind == v1alpha1.KindNova {
		undecodable = c.nova()
	} else {
		undecodable = c.compute(release)
	}
	errs, broken, complete := definition.validate(u)
	c.errors(RuleSchema, errs)
	c.errors(RuleCEL, broken)
	// Without a decoded resource the rules of the webhook had nothing to look at.
	if !complete || (undecodable != nil && c.outcome.Failed()) {
		c.find(Finding{
			Rule: RuleSchema, Message: "some validation rules were not checked because the object was invalid",
			Suggestion: "correct the existing errors to complete validation",
		})
	}
	if undecodable != nil && !c.outcome.Failed() {
		c.find(typeProblem(undecodable))
	}
	return c.sorted()
}

// typeProblem names the field of a value that is of another type.
func typeProblem(err error) Finding {
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) {
		return Finding{Rule: RuleSchema, Path: mismatch.Field, Message: fmt.Sprintf("must be of type %s, not %s", mismatch.Type, mismatch.Value)}
	}
	return Finding{Rule: RuleSchema, Message: err.Error()}
}

// nova applies the webhooks of a Nova. The error is why it does not decode.
func (c *checker) nova() error {
	nova := new(v1alpha1.Nova)
	if err := c.decode(nova); err != nil {
		// The rest of it is decoded: its defaults are, or they would be missed.
		c.stored(nova, nova.Default, absent)
		return err
	}
	c.outcome.Resource = nova
	c.stored(nova, nova.Default, patched)
	c.rules(v1alpha1.ValidateNova(nova, nil))
	return nil
}

func (c *checker) compute(release string) error {
	compute := new(v1alpha1.NovaCompute)
	if err := c.decode(compute); err != nil {
		return err
	}
	c.outcome.Resource = compute
	c.rules(v1alpha1.ValidateNovaCompute(compute, nil, release))
	return nil
}

// checker collects the findings about one object.
type checker struct {
	object  *unstructured.Unstructured
	outcome Outcome
	seen    map[string]bool
}

// userinfo is the user in a URL, with a password.
var userinfo = regexp.MustCompile(`//[^/"]*@`)

func (c *checker) find(f Finding) {
	f.Message = userinfo.ReplaceAllString(f.Message, "//(hidden)@")
	c.outcome.Findings = append(c.outcome.Findings, f)
}

// errors keeps each finding once: the schema and the webhook share rules and their
// words, and differ in the value they quote.
func (c *checker) errors(rule string, list field.ErrorList) {
	for _, err := range list {
		id := err.Field + ": " + err.Detail
		if err.Detail == "" {
			id = err.Error()
		}
		if !c.seen[id] {
			c.seen[id] = true
			named(err)
			// The schema repeats the path inside of its words.
			message, suggestion := advice(strings.Replace(err.ErrorBody(), err.Field+" in body ", "", 1))
			if err.Type == field.ErrorTypeTypeInvalid && strings.Contains(err.Detail, "must be of type string") {
				suggestion = "put the value in quotes"
			}
			c.find(Finding{Rule: rule, Path: err.Field, Message: message, Suggestion: suggestion})
		}
	}
}

// alternatives ends the message about a value that fits none of a field's types.
const alternatives = "must validate at least one schema (anyOf)"

// nameless are details with the path inside of them.
var nameless = regexp.MustCompile(`^(Checked value must be .*) in (\S+)$|^"(\S+)" (` + regexp.QuoteMeta(alternatives) + `)$`)

// named gives an error of the schema the path that stands in its text alone.
func named(err *field.Error) {
	if found := nameless.FindStringSubmatch(err.Detail); found != nil && err.Field == "<nil>" {
		err.Field, err.Detail = found[2]+found[3], found[1]+found[4]
		if err.BadValue == "" {
			err.BadValue = field.OmitValueType{}
		}
	}
}

// rules keeps what the webhook says.
func (c *checker) rules(list field.ErrorList, warnings []string) {
	for _, err := range list {
		rule := RuleWebhook
		if strings.HasPrefix(err.Field, extraConfig) {
			rule = RuleCatalog
		}
		c.errors(rule, field.ErrorList{err})
	}
	for _, warning := range warnings {
		c.find(warned(warning))
	}
}

// extraConfig is the path of the options.
const extraConfig = "spec.extraConfig"

// hints start the part of a message that says what to do.
var hints = regexp.MustCompile(`; (option exists in section|did you mean|plain text goes under) |, (replaced by \[)`)

// advice takes a message apart: what is wrong, and what to do.
func advice(message string) (problem, suggestion string) {
	at := hints.FindStringIndex(message)
	if at == nil {
		return message, ""
	}
	return message[:at[0]], strings.TrimLeft(message[at[0]:], ";, ")
}

// optionWarning starts a warning about one option.
var optionWarning = regexp.MustCompile(`^\[([^\]]*)\] ([^ :]+): `)

// warned finds the field a warning of the webhook is about, which is a sentence.
func warned(sentence string) Finding {
	out := Finding{Rule: RuleWebhook, Warning: true, Message: sentence}
	if strings.HasPrefix(sentence, "extraConfig ") {
		// The one about a Nova that is not there; here the input is all there is.
		out.Rule, out.Path, out.Suggestion = RuleCatalog, extraConfig, "add the Nova to the input"
		return out
	}
	if rest, ok := strings.CutPrefix(sentence, extraConfig+" "); ok {
		out.Rule, out.Path, out.Message = RuleCatalog, extraConfig, rest
		if option := optionWarning.FindStringSubmatch(rest); option != nil {
			out.Path += "[" + option[1] + "][" + option[2] + "]"
			out.Message = rest[len(option[0]):]
		}
	}
	out.Message, out.Suggestion = advice(out.Message)
	return out
}

// decode fills a typed resource. What keeps it from decoding is mostly told by the
// schema, in words that name the path. The schema leaves extraConfig alone, so its
// values are judged here, and the rest of the resource without the bad ones.
func (c *checker) decode(into any) error {
	good := c.object.DeepCopy()
	for _, err := range v1alpha1.TakeUnreadable(good.Object) {
		c.find(Finding{Rule: RuleCatalog, Path: err.Field, Message: err.Detail})
	}
	raw, err := json.Marshal(good.Object)
	if err != nil {
		return err
	}
	return kjson.UnmarshalCaseSensitivePreserveInts(raw, into)
}

// stored lays what the mutating webhook changes over the object, so that the schema
// judges what the API server would store. Merge puts a merge patch on an object.
func (c *checker) stored(resource any, mutate func(), merge func(object map[string]any, patch []byte) (map[string]any, error)) {
	patch, err := v1alpha1.DefaultsPatch(resource, mutate)
	if err != nil {
		return
	}
	if merged, err := merge(c.object.Object, patch); err == nil {
		c.object.Object = merged
	}
}

// sorted orders the findings by path, and leaves out those that say less than another.
func (c *checker) sorted() Outcome {
	all := c.outcome.Findings
	slices.SortStableFunc(all, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Message, b.Message))
	})
	c.outcome.Findings = slices.DeleteFunc(slices.Clone(all), func(f Finding) bool {
		return slices.ContainsFunc(all, func(other Finding) bool { return other.Path == f.Path && f.repeats(other.Message) })
	})
	return c.outcome
}

// repeats reports whether another message about the same field says more.
func (f Finding) repeats(other string) bool {
	switch {
	case other == f.Message:
		return false
	case strings.HasSuffix(f.Message, alternatives):
		return true
	case strings.Contains(f.Message, "Checked value must be of type "):
		return strings.Contains(other, "must be of type ")
	case strings.Contains(f.Message, "must be of type integer:"):
		// One of the types of a field that takes text as well.
		return strings.Contains(other, "must be of type integer,string:")
	}
	return strings.HasPrefix(other, f.Message+": ")
}

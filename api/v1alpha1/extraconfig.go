// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/c5c3/nova-operator/api/catalog"
)

// ExtraConfig is INI section → option → value, laid over what the operator renders.
type ExtraConfig map[string]map[string]ConfigValue

// ConfigValue is the value of one option: text, or a list of texts for an option that
// may be repeated (MultiStrOpt), which renders one line per item.
//
// In JSON it is a string, a boolean, a number, or an array of these. Booleans and
// numbers become text when read: true and false in lower case, a number as it was
// written. It is written back as a string or an array of strings.
type ConfigValue struct {
	// Values holds the items; a single value is a slice of one.
	Values []string
	// List tells a list of one item from a single value.
	List bool
	// Unreadable is the JSON of a value that has no line in an INI file. It is kept
	// instead of refused: one such resource, let in without admission, would otherwise
	// keep the operator from reading any other.
	Unreadable string
}

// Catalog is the form package catalog checks. The values are shared, not copied.
func (e ExtraConfig) Catalog() map[string]map[string]catalog.Value {
	if e == nil {
		return nil
	}
	out := make(map[string]map[string]catalog.Value, len(e))
	for section, options := range e {
		out[section] = make(map[string]catalog.Value, len(options))
		for key, value := range options {
			out[section][key] = catalog.Value{Values: value.Values, List: value.List, Unreadable: value.Unreadable != ""}
		}
	}
	return out
}

// SingleValue is a ConfigValue of one text.
func SingleValue(value string) ConfigValue {
	return ConfigValue{Values: []string{value}}
}

// ListValue is a ConfigValue with one line per item.
func ListValue(values ...string) ConfigValue {
	return ConfigValue{Values: values, List: true}
}

// MarshalJSON writes a string, or an array of strings for a list.
func (v ConfigValue) MarshalJSON() ([]byte, error) {
	if v.Unreadable != "" {
		return []byte(v.Unreadable), nil
	}
	if v.List {
		if v.Values == nil {
			return []byte("[]"), nil
		}
		return json.Marshal(v.Values)
	}
	if len(v.Values) > 1 {
		return nil, fmt.Errorf("a value of %d items must be a list", len(v.Values))
	}
	if len(v.Values) == 0 {
		return []byte(`""`), nil
	}
	return json.Marshal(v.Values[0])
}

// UnmarshalJSON reads what ParseConfigValue reads, and keeps anything else as
// Unreadable.
func (v *ConfigValue) UnmarshalJSON(data []byte) error {
	parsed, err := ParseConfigValue(data)
	if err != nil {
		parsed = ConfigValue{Unreadable: string(data)}
	}
	*v = parsed
	return nil
}

// wholeSection is the option under which a section that holds no options is kept.
const wholeSection = ""

// UnmarshalJSON reads sections of options. A section that holds no options is kept as
// an Unreadable value under an empty option name.
func (e *ExtraConfig) UnmarshalJSON(data []byte) error {
	var sections map[string]json.RawMessage
	if err := json.Unmarshal(data, &sections); err != nil {
		return err
	}
	if sections == nil {
		*e = nil
		return nil
	}
	out := make(ExtraConfig, len(sections))
	for name, raw := range sections {
		var options map[string]ConfigValue
		if err := json.Unmarshal(raw, &options); err != nil {
			options = map[string]ConfigValue{wholeSection: {Unreadable: string(raw)}}
		}
		out[name] = options
	}
	*e = out
	return nil
}

// MarshalJSON writes what was read, unreadable parts included.
func (e ExtraConfig) MarshalJSON() ([]byte, error) {
	if e == nil {
		return []byte("null"), nil
	}
	out := make(map[string]any, len(e))
	for name, options := range e {
		out[name] = options
		if whole, ok := options[wholeSection]; ok && len(options) == 1 && whole.Unreadable != "" {
			out[name] = json.RawMessage(whole.Unreadable)
		}
	}
	return json.Marshal(out)
}

// ParseConfigValue reads a string, a boolean, a number, or an array of these. It refuses
// null and objects, because neither has a line in an INI file. The error quotes no value.
func ParseConfigValue(data []byte) (ConfigValue, error) {
	data = bytes.TrimSpace(data)
	if len(data) > 0 && data[0] == '[' {
		var items []json.RawMessage
		if err := json.Unmarshal(data, &items); err != nil {
			return ConfigValue{}, err
		}
		values := make([]string, 0, len(items))
		for i, item := range items {
			text, err := scalar(item)
			if err != nil {
				return ConfigValue{}, fmt.Errorf("item %d: %w", i, err)
			}
			values = append(values, text)
		}
		return ListValue(values...), nil
	}
	text, err := scalar(data)
	if err != nil {
		return ConfigValue{}, err
	}
	return SingleValue(text), nil
}

// TakeUnreadable removes from a decoded resource the options of spec.extraConfig that
// have no line in an INI file, and says which they are. The schema admits any value
// there, and one of them would keep the whole resource from decoding into its Go type.
// A section left empty by it is removed too. No value is quoted: it may be a credential.
func TakeUnreadable(object map[string]any) field.ErrorList {
	spec, _ := object["spec"].(map[string]any)
	sections, _ := spec["extraConfig"].(map[string]any)
	var errs field.ErrorList
	for _, section := range slices.Sorted(maps.Keys(sections)) {
		path := field.NewPath("spec", "extraConfig").Key(section)
		options, ok := sections[section].(map[string]any)
		if !ok {
			errs = append(errs, field.Invalid(path, field.OmitValueType{}, "must map options to values"))
			delete(sections, section)
		}
		bad := unreadable(options, path)
		if errs = append(errs, bad...); len(bad) > 0 && len(options) == 0 {
			delete(sections, section)
		}
	}
	return errs
}

// unreadable removes the options of one section whose value no ConfigValue holds.
func unreadable(options map[string]any, section *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, option := range slices.Sorted(maps.Keys(options)) {
		raw, err := json.Marshal(options[option])
		if err == nil {
			_, err = ParseConfigValue(raw)
		}
		if err != nil {
			errs = append(errs, field.Invalid(section.Key(option), field.OmitValueType{}, err.Error()))
			delete(options, option)
		}
	}
	return errs
}

// scalar reads one JSON string, boolean or number as text. A number that was widened to
// a float on its way here (1e+06) is written out in full, since oslo.config reads no
// exponent in an integer.
func scalar(data []byte) (string, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return "", err
	}
	switch value := value.(type) {
	case string:
		return value, nil
	case bool:
		return strconv.FormatBool(value), nil
	case json.Number:
		return number(value)
	default:
		return "", errors.New("must be a string, a boolean, a number or a list of these")
	}
}

// number is the shortest decimal notation of n without an exponent.
func number(n json.Number) (string, error) {
	if _, err := n.Int64(); err == nil {
		return n.String(), nil
	}
	float, err := n.Float64()
	if err != nil {
		return "", err
	}
	return strconv.FormatFloat(float, 'f', -1, 64), nil
}

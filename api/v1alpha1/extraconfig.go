// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

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
			out[section][key] = catalog.Value(value)
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

// UnmarshalJSON reads a string, a boolean, a number, or an array of these. It refuses
// null and objects, because neither has a line in an INI file.
func (v *ConfigValue) UnmarshalJSON(data []byte) error {
	data = bytes.TrimSpace(data)
	if len(data) > 0 && data[0] == '[' {
		var items []json.RawMessage
		if err := json.Unmarshal(data, &items); err != nil {
			return err
		}
		values := make([]string, 0, len(items))
		for i, item := range items {
			text, err := scalar(item)
			if err != nil {
				return fmt.Errorf("item %d: %w", i, err)
			}
			values = append(values, text)
		}
		*v = ConfigValue{Values: values, List: true}
		return nil
	}
	text, err := scalar(data)
	if err != nil {
		return err
	}
	*v = SingleValue(text)
	return nil
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

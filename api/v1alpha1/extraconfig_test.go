// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/c5c3/nova-operator/api/catalog"
)

func TestConfigValue_ReadsScalarsAndLists(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want ConfigValue
		json string
	}{
		"a string":                    {`a`, SingleValue("a"), `"a"`},
		"an empty string":             {`""`, SingleValue(""), `""`},
		"a string that looks boolean": {`"True"`, SingleValue("True"), `"True"`},
		"a boolean":                   {`true`, SingleValue("true"), `"true"`},
		"a boolean in capitals":       {`False`, SingleValue("false"), `"false"`},
		"an integer":                  {`42`, SingleValue("42"), `"42"`},
		"a negative integer":          {`-1`, SingleValue("-1"), `"-1"`},
		"a great integer":             {`9007199254740993`, SingleValue("9007199254740993"), `"9007199254740993"`},
		"a number":                    {`0.5`, SingleValue("0.5"), `"0.5"`},
		"a number with an exponent":   {`1e6`, SingleValue("1000000"), `"1000000"`},
		"a list":                      {`[a, "b"]`, ListValue("a", "b"), `["a","b"]`},
		"a list of one":               {`[a]`, ListValue("a"), `["a"]`},
		"a list of scalars":           {`[a, true, 7, 1.5]`, ListValue("a", "true", "7", "1.5"), `["a","true","7","1.5"]`},
		"an empty list":               {`[]`, ListValue([]string{}...), `[]`},
	} {
		t.Run(name, func(t *testing.T) {
			var got struct {
				A ConfigValue `json:"a"`
			}
			if err := yaml.Unmarshal([]byte("a: "+tc.text), &got); err != nil {
				t.Fatal(err)
			}
			if tc.want.List && tc.want.Values == nil {
				tc.want.Values = []string{}
			}
			if diff := cmp.Diff(tc.want, got.A); diff != "" {
				t.Error(diff)
			}
			text, err := json.Marshal(got.A)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.json, string(text)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestConfigValue_RefusesWhatHasNoLine(t *testing.T) {
	for name, text := range map[string]string{
		"null":                  `null`,
		"an object":             `{"a": "b"}`,
		"a list in a list":      `[["a"]]`,
		"null in a list":        `["a", null]`,
		"an object in a list":   `[{}]`,
		"a number out of range": `1e999`,
	} {
		t.Run(name, func(t *testing.T) {
			if value, err := ParseConfigValue([]byte(text)); err == nil {
				t.Errorf("read %v", value)
			}
		})
	}
}

func TestConfigValue_SurvivesJSONAndUnstructured(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := ListValue(rapid.SliceOfN(rapid.String(), 0, 4).Draw(t, "items")...)
		if value.Values == nil {
			value.Values = []string{}
		}
		if rapid.Bool().Draw(t, "single") {
			value = SingleValue(rapid.String().Draw(t, "value"))
		}
		want := &Nova{Spec: NovaSpec{ExtraConfig: ExtraConfig{"s": {"k": value}}}}
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		got := &Nova{}
		if err := json.Unmarshal(text, got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
		object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(want)
		if err != nil {
			t.Fatal(err)
		}
		got = &Nova{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
		if diff := cmp.Diff(want, want.DeepCopy()); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestExtraConfig_Catalog(t *testing.T) {
	extra := ExtraConfig{"DEFAULT": {"debug": SingleValue("true")}, "pci": {"alias": ListValue("a", "b")}}
	want := map[string]map[string]catalog.Value{
		"DEFAULT": {"debug": {Values: []string{"true"}}},
		"pci":     {"alias": {Values: []string{"a", "b"}, List: true}},
	}
	if diff := cmp.Diff(want, extra.Catalog()); diff != "" {
		t.Error(diff)
	}
	if ExtraConfig(nil).Catalog() != nil {
		t.Error("nil became a map")
	}
}

func TestTakeUnreadable_LeavesWhatDecodes(t *testing.T) {
	for name, tc := range map[string]struct {
		extra, want string
		errs        []string
	}{
		"nothing to take": {
			extra: `{"DEFAULT": {"debug": true, "workers": 1}, "pci": {"alias": ["a", 1]}}`,
			want:  `{"DEFAULT": {"debug": true, "workers": 1}, "pci": {"alias": ["a", 1]}}`,
		},
		"a value left empty beside a good one": {
			extra: `{"DEFAULT": {"debug": null, "workers": 1}}`,
			want:  `{"DEFAULT": {"workers": 1}}`,
			errs:  []string{"spec.extraConfig[DEFAULT][debug]: Invalid value: must be a string, a boolean, a number or a list of these"},
		},
		"a section of nothing else": {
			extra: `{"a": {"b": {"c": "d"}}, "e": {"f": [["g"]]}}`,
			want:  `{}`,
			errs: []string{
				"spec.extraConfig[a][b]: Invalid value: must be a string, a boolean, a number or a list of these",
				"spec.extraConfig[e][f]: Invalid value: item 0: must be a string, a boolean, a number or a list of these",
			},
		},
		"sections that are none": {
			extra: `{"a": "b", "c": null, "d": {}}`,
			want:  `{"d": {}}`,
			errs: []string{
				"spec.extraConfig[a]: Invalid value: must map options to values",
				"spec.extraConfig[c]: Invalid value: must map options to values",
			},
		},
		"no extraConfig": {extra: `null`, want: `null`},
	} {
		t.Run(name, func(t *testing.T) {
			object, want := map[string]any{}, map[string]any{}
			if err := json.Unmarshal([]byte(`{"spec": {"extraConfig": `+tc.extra+`}}`), &object); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(`{"spec": {"extraConfig": `+tc.want+`}}`), &want); err != nil {
				t.Fatal(err)
			}
			var errs []string
			for _, err := range TakeUnreadable(object) {
				errs = append(errs, err.Error())
			}
			if diff := cmp.Diff(tc.errs, errs); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(want, object); diff != "" {
				t.Error(diff)
			}
			if errs := TakeUnreadable(map[string]any{}); errs != nil {
				t.Error(errs)
			}
		})
	}
}

// A value or a section that has no line must neither keep the resource from decoding
// nor be lost: the cache of the operator reads every Nova with one decoder.
func TestExtraConfig_KeepsWhatItCannotRead(t *testing.T) {
	const document = `{"DEFAULT":{"debug":{"a":"b"},"host":"h"},"api":null,"pci":{"alias":[null]},"vnc":5}`
	var extra ExtraConfig
	if err := json.Unmarshal([]byte(document), &extra); err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(extra)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(document, string(got)); diff != "" {
		t.Error(diff)
	}
	bad := map[string]bool{}
	for _, f := range catalog.CheckKeys(catalog.NovaKeys, extra.Catalog()).Errors {
		bad[f.Section+"/"+f.Key] = true
	}
	if want := map[string]bool{"DEFAULT/debug": true, "api/": true, "pci/alias": true, "vnc/": true}; !maps.Equal(want, bad) {
		t.Errorf("findings on %v, want %v", bad, want)
	}
}

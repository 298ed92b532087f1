// SPDX-License-Identifier: Apache-2.0

package option

import (
	"regexp"
	"strings"
	"testing"
)

func TestOption_ChecksValues(t *testing.T) {
	zero, five := 0.0, 5.0
	booleanWords := "must be one of true, false, yes, no, on, off, 1, 0"
	host := "must be an IP address (IPv6 without brackets) or a host name"
	for name, tc := range map[string]struct {
		option Option
		values string
		want   string
	}{
		"booleans":                  {Option{Type: TypeBool}, "true|FALSE|Yes|no|on|off|1|0|'true'", ""},
		"no booleans":               {Option{Type: TypeBool}, "|t|enabled|2|y", booleanWords},
		"integers":                  {Option{Type: TypeInt}, "|1|-1|+1|007| 5 |\"5\"", ""},
		"no integers":               {Option{Type: TypeInt}, "1.0|x|0x1|1e3|1_0|--1", "must be an integer"},
		"integers in bounds":        {Option{Type: TypeInt, Min: &zero, Max: &five}, "0|5|", ""},
		"integers below":            {Option{Type: TypeInt, Min: &zero}, "-1", "must be at least 0"},
		"integers above":            {Option{Type: TypeInt, Max: &five}, "6", "must be at most 5"},
		"integers of a choice":      {Option{Type: TypeInt, Choices: []string{"256", "512"}}, "256|", ""},
		"integers beside a choice":  {Option{Type: TypeInt, Choices: []string{"256", "512"}}, "257", `must be one of "256", "512"`},
		"numbers":                   {Option{Type: TypeFloat}, "1|1.5|.5|1e3|-2.", ""},
		"no numbers":                {Option{Type: TypeFloat}, "x|inf|nan|0x1p3|1,5", "must be a number"},
		"ports":                     {Option{Type: TypePort}, "0|65535|", ""},
		"no ports":                  {Option{Type: TypePort}, "-1|http", "must be a port number"},
		"ports above":               {Option{Type: TypePort}, "65536", "must be at most 65535"},
		"free text":                 {Option{Type: TypeString}, "|x|a b", ""},
		"a choice":                  {Option{Type: TypeString, Choices: []string{"a", "b"}}, "a|b|'a'", ""},
		"not a choice":              {Option{Type: TypeString, Choices: []string{"a", "b"}}, "|c|A", `must be one of "a", "b"`},
		"a choice without case":     {Option{Type: TypeString, Choices: []string{"Days"}, IgnoreCase: true}, "days|DAYS", ""},
		"an empty choice":           {Option{Type: TypeString, Choices: []string{"", "x"}}, "|x", ""},
		"a pattern":                 {Option{Type: TypeString, Regex: &Pattern{regexp.MustCompile(`^\d+:\d+$`)}}, "1:2", ""},
		"not a pattern":             {Option{Type: TypeString, Regex: &Pattern{regexp.MustCompile(`^\d+:\d+$`)}}, "|1", `must match ^\d+:\d+$`},
		"too long":                  {Option{Type: TypeString, MaxLength: 2}, "abc", "must be at most 2 characters"},
		"long enough":               {Option{Type: TypeString, MaxLength: 2}, "äö", ""},
		"lists":                     {Option{Type: TypeList, Items: &Option{Type: TypeInt}}, "|1|1, 2", ""},
		"a list with a wrong item":  {Option{Type: TypeList, Items: &Option{Type: TypeInt}}, "1, x", `item "x" must be an integer`},
		"dicts":                     {Option{Type: TypeDict}, "|a:b|a:b,c:d:e", ""},
		"no dict":                   {Option{Type: TypeDict}, "a|a:b,c|:", "must be key:value pairs separated by commas"},
		"a dict with a wrong value": {Option{Type: TypeDict, Items: &Option{Type: TypeBool}}, "a:x", `value of pair "a:x" ` + booleanWords},
		"a repeated dict":           {Option{Type: TypeMulti, Items: &Option{Type: TypeDict}}, "node:0,size:2048,count:64", ""},
		"hosts":                     {Option{Type: TypeHostAddress}, "192.0.2.1|fd00::1|a.example|a-b", ""},
		"no hosts":                  {Option{Type: TypeHostAddress}, "|[fd00::1]|a_b|-a|192.0.2.256|" + strings.Repeat("a", 64), host},
		"domains":                   {Option{Type: TypeHostDomain}, "a_b|_x.example|192.0.2.1", ""},
		"no domains":                {Option{Type: TypeHostDomain}, "|a b", host},
		"URIs":                      {Option{Type: TypeURI}, "http://x|telnet://y", ""},
		"no URIs":                   {Option{Type: TypeURI}, "|x|//x|http:|mailto:x|file:///x", "must be a URI with a scheme and a host"},
		"URIs of a scheme":          {Option{Type: TypeURI, Schemes: []string{"http", "https"}}, "HTTP://x", ""},
		"URIs of another scheme":    {Option{Type: TypeURI, Schemes: []string{"http", "https"}}, "ftp://x", "must be a URI with scheme http or https"},
		"references":                {Option{Type: TypeInt}, "$my_ip|a$", ""},
	} {
		t.Run(name, func(t *testing.T) {
			for value := range strings.SplitSeq(tc.values, "|") {
				if got := tc.option.Check(value); got != tc.want {
					t.Errorf("Check(%q) = %q, want %q", value, got, tc.want)
				}
			}
		})
	}
}

func TestDecode_RefusesABrokenList(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON":                          `{`,
		"an unknown field":                 `{"release": "2026.1", "x": 1}`,
		"an unknown field of an option":    `{"sections": {"a": {"b": {"type": "str", "x": 1}}}}`,
		"an unknown type":                  `{"sections": {"a": {"b": {"type": "bit"}}}}`,
		"no type":                          `{"sections": {"a": {"b": {}}}}`,
		"an unknown type of an item":       `{"sections": {"a": {"b": {"type": "list", "items": {"type": "x"}}}}}`,
		"a pattern that does not compile":  `{"sections": {"a": {"b": {"type": "str", "regex": "("}}}}`,
		"a pattern that is no text at all": `{"sections": {"a": {"b": {"type": "str", "regex": 1}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Decode([]byte(text)); err == nil {
				t.Error("accepted")
			}
		})
	}
}

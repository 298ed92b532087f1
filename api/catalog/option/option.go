// SPDX-License-Identifier: Apache-2.0

// Package option describes nova's configuration options and the lists of them, and
// checks a value against one. It holds no data: catalog embeds the lists.
package option

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Type is the type of an option or of an item.
type Type string

// The types of options.
const (
	TypeBool        Type = "bool"
	TypeInt         Type = "int"
	TypeFloat       Type = "float"
	TypePort        Type = "port"
	TypeString      Type = "str"
	TypeList        Type = "list"
	TypeMulti       Type = "multi"
	TypeDict        Type = "dict"
	TypeHostAddress Type = "hostaddress"
	TypeHostDomain  Type = "hostdomain"
	TypeURI         Type = "uri"
)

// Option is one option of a release, or the type of one item of a list, a multi or a
// dict.
type Option struct {
	Type Type `json:"type"`
	// Min and Max are inclusive bounds of numbers.
	Min *float64 `json:"min,omitempty"`
	Max *float64 `json:"max,omitempty"`
	// Choices are the only values accepted.
	Choices []string `json:"choices,omitempty"`
	// IgnoreCase compares choices without case.
	IgnoreCase bool `json:"ignoreCase,omitempty"`
	// Regex must match somewhere in the value.
	Regex *Pattern `json:"regex,omitempty"`
	// MaxLength of a text, in characters.
	MaxLength int `json:"maxLength,omitempty"`
	// Schemes of a URI.
	Schemes []string `json:"schemes,omitempty"`
	// Items is the type of one item; nil accepts any text.
	Items *Option `json:"items,omitempty"`
	// Secret marks a credential.
	Secret bool `json:"secret,omitempty"`
	// ReplacedBy names the options this deprecated name stands for, as section.option.
	ReplacedBy []string `json:"replacedBy,omitempty"`
	// Removal marks an option that goes without a replacement.
	Removal bool `json:"removal,omitempty"`
}

// Pattern is a regular expression that is compiled when it is read.
type Pattern struct{ *regexp.Regexp }

// UnmarshalJSON compiles the pattern.
func (p *Pattern) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	compiled, err := regexp.Compile(text)
	p.Regexp = compiled
	return err
}

// MarshalJSON writes the pattern's text.
func (p Pattern) MarshalJSON() ([]byte, error) {
	return json.Marshal(p.String())
}

// TakesList reports whether a list of values makes sense: one line each for a multi,
// one line with all of them for a list or dict.
func (o *Option) TakesList() bool {
	return o.Type == TypeMulti || o.Type == TypeList || o.Type == TypeDict
}

// Deprecated reports whether the name goes, with or without a successor.
func (o *Option) Deprecated() bool {
	return len(o.ReplacedBy) > 0 || o.Removal
}

// checkers has one row per type. Each takes a value as nova reads it from the file and
// returns what is wrong with it, or "".
var checkers map[Type]func(*Option, string) string

// The table is filled here because its rows use it again for items.
func init() {
	checkers = map[Type]func(*Option, string) string{
		TypeBool:        (*Option).checkBool,
		TypeInt:         (*Option).checkNumber,
		TypeFloat:       (*Option).checkNumber,
		TypePort:        (*Option).checkNumber,
		TypeString:      (*Option).checkString,
		TypeList:        (*Option).checkList,
		TypeMulti:       (*Option).checkItem,
		TypeDict:        (*Option).checkDict,
		TypeHostAddress: (*Option).checkHost,
		TypeHostDomain:  (*Option).checkHost,
		TypeURI:         (*Option).checkURI,
	}
}

// Check returns what is wrong with one line's value, or "". A value with a dollar is
// expanded by nova before it is parsed, so nothing is said about it.
func (o *Option) Check(value string) string {
	if strings.Contains(value, "$") {
		return ""
	}
	return checkers[o.Type](o, FileText(value))
}

// FileText is what oslo.config's file reader leaves of a value: no surrounding space,
// and one level of quotes less.
func FileText(value string) string {
	value = strings.TrimSpace(value)
	if n := len(value); n >= 2 && value[0] == value[n-1] && (value[0] == '"' || value[0] == '\'') {
		return value[1 : n-1]
	}
	return value
}

// booleans are the words oslo.config reads as a boolean, in any case.
var booleans = []string{"true", "false", "yes", "no", "on", "off", "1", "0"}

func (o *Option) checkBool(value string) string {
	if slices.Contains(booleans, strings.ToLower(value)) {
		return ""
	}
	return "must be one of " + strings.Join(booleans, ", ")
}

// notations are the decimal notations of the number types.
var notations = map[Type]struct {
	pattern *regexp.Regexp
	name    string
}{
	TypeInt:   {regexp.MustCompile(`^[+-]?[0-9]+$`), "an integer"},
	TypePort:  {regexp.MustCompile(`^[0-9]+$`), "a port number"},
	TypeFloat: {regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$`), "a number"},
}

// maxPort is the greatest port number.
const maxPort = 65535

// checkNumber accepts an empty value, which leaves the option unset.
func (o *Option) checkNumber(value string) string {
	value = strings.TrimSpace(value)
	if value == "" {
		return ""
	}
	notation := notations[o.Type]
	number, err := strconv.ParseFloat(value, 64)
	switch {
	case !notation.pattern.MatchString(value) || err != nil:
		return "must be " + notation.name
	case o.Type == TypePort && number > maxPort:
		return "must be at most " + strconv.Itoa(maxPort)
	case o.Min != nil && number < *o.Min:
		return "must be at least " + decimal(*o.Min)
	case o.Max != nil && number > *o.Max:
		return "must be at most " + decimal(*o.Max)
	case len(o.Choices) > 0 && !slices.Contains(o.Choices, decimal(number)):
		return o.choiceMessage()
	}
	return ""
}

func decimal(number float64) string {
	return strconv.FormatFloat(number, 'f', -1, 64)
}

func (o *Option) checkString(value string) string {
	switch {
	case len(o.Choices) > 0 && !o.chosen(value):
		return o.choiceMessage()
	case o.Regex != nil && !o.Regex.MatchString(value):
		return fmt.Sprintf("must match %s", o.Regex)
	case o.MaxLength > 0 && len([]rune(value)) > o.MaxLength:
		return fmt.Sprintf("must be at most %d characters", o.MaxLength)
	}
	return ""
}

func (o *Option) chosen(value string) bool {
	if o.IgnoreCase {
		return slices.ContainsFunc(o.Choices, func(c string) bool { return strings.EqualFold(c, value) })
	}
	return slices.Contains(o.Choices, value)
}

func (o *Option) choiceMessage() string {
	quoted := make([]string, len(o.Choices))
	for i, choice := range o.Choices {
		quoted[i] = strconv.Quote(choice)
	}
	return "must be one of " + strings.Join(quoted, ", ")
}

// checkList accepts an empty value, which is an empty list.
func (o *Option) checkList(value string) string {
	if value == "" {
		return ""
	}
	for item := range strings.SplitSeq(value, ",") {
		if problem := o.checkItem(strings.TrimSpace(item)); problem != "" {
			return fmt.Sprintf("item %q %s", strings.TrimSpace(item), problem)
		}
	}
	return ""
}

// checkDict accepts an empty value, which is an empty dict.
func (o *Option) checkDict(value string) string {
	if value == "" {
		return ""
	}
	for pair := range strings.SplitSeq(value, ",") {
		key, item, found := strings.Cut(pair, ":")
		if !found || strings.TrimSpace(key) == "" {
			return "must be key:value pairs separated by commas"
		}
		if problem := o.checkItem(strings.TrimSpace(item)); problem != "" {
			return fmt.Sprintf("value of pair %q %s", strings.TrimSpace(pair), problem)
		}
	}
	return ""
}

func (o *Option) checkItem(value string) string {
	if o.Items == nil {
		return ""
	}
	return checkers[o.Items.Type](o.Items, value)
}

// hostLabels are one label of a host name, without and with underscores.
var hostLabels = map[Type]*regexp.Regexp{
	TypeHostAddress: regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$`),
	TypeHostDomain:  regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?$`),
}

// maxHostName is the length limit of a host name.
const maxHostName = 253

// checkHost accepts an address (IPv6 without brackets) or a host name that does not look
// like a broken IPv4 address.
func (o *Option) checkHost(value string) string {
	if address, err := netip.ParseAddr(value); err == nil && address.Zone() == "" {
		return ""
	}
	labels := strings.Split(strings.TrimSuffix(value, "."), ".")
	isName := len(value) <= maxHostName && !allDigits(labels[len(labels)-1]) &&
		!slices.ContainsFunc(labels, func(l string) bool { return !hostLabels[o.Type].MatchString(l) })
	if !isName {
		return "must be an IP address (IPv6 without brackets) or a host name"
	}
	return ""
}

func allDigits(text string) bool {
	return strings.Trim(text, "0123456789") == ""
}

// uriScheme is the scheme of a URI, and the authority oslo.config wants behind it.
var uriScheme = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*)://[^/]`)

func (o *Option) checkURI(value string) string {
	scheme := uriScheme.FindStringSubmatch(value)
	switch {
	case scheme == nil:
		return "must be a URI with a scheme and a host"
	case len(o.Schemes) > 0 && !slices.Contains(o.Schemes, strings.ToLower(scheme[1])):
		return "must be a URI with scheme " + strings.Join(o.Schemes, " or ")
	}
	return o.checkString(value)
}

package report

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/c5c3/nova-operator/cmd/internal/check"
)

// version is the version of the JSON output. It grows when a field changes its meaning
// or goes; new fields keep it.
const version = 1

// jsonReport is the JSON output.
type jsonReport struct {
	Version int `json:"version"`
	Summary struct {
		Resources int `json:"resources"`
		Errors    int `json:"errors"`
		Warnings  int `json:"warnings"`
	} `json:"summary"`
	Findings  []Finding  `json:"findings"`
	Resources []Resource `json:"resources"`
}

func writeJSON(w io.Writer, r Report) error {
	out := jsonReport{Version: version, Findings: append([]Finding{}, r.Findings...), Resources: append([]Resource{}, r.Resources...)}
	out.Summary.Resources = len(r.Resources)
	for _, f := range r.Findings {
		if f.Severity == Error {
			out.Summary.Errors++
		} else {
			out.Summary.Warnings++
		}
	}
	return encode(w, out)
}

func encode(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// SARIF 2.1.0, as far as it is needed.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool struct {
			Driver sarifDriver `json:"driver"`
		} `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifDriver struct {
		Name  string      `json:"name"`
		Rules []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               string    `json:"id"`
		ShortDescription sarifText `json:"shortDescription"`
		Help             sarifText `json:"help"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID       string            `json:"ruleId"`
		RuleIndex    int               `json:"ruleIndex"`
		Level        string            `json:"level"`
		Message      sarifText         `json:"message"`
		Locations    []sarifLocation   `json:"locations"`
		Fingerprints map[string]string `json:"partialFingerprints"`
	}
	sarifLocation struct {
		Physical struct {
			Artifact struct {
				URI string `json:"uri"`
			} `json:"artifactLocation"`
			Region sarifRegion `json:"region"`
		} `json:"physicalLocation"`
		Logical []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitempty"`
	}
	sarifLogical struct {
		Name string `json:"fullyQualifiedName"`
	}
)

// writeSARIF writes one run. A finding without a line stands at line 1: code hosts show
// none without.
func writeSARIF(w io.Writer, findings []Finding, base string) error {
	run := sarifRun{ColumnKind: "unicodeCodePoints", Results: []sarifResult{}}
	run.Tool.Driver.Name = "nova-operator"
	index := map[string]int{}
	for i, rule := range check.Rules {
		index[rule.ID] = i
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{rule.ID, sarifText{rule.Short}, sarifText{rule.Help}})
	}
	for i, print := range fingerprints(findings, base) {
		f := findings[i]
		result := sarifResult{
			RuleID: f.Rule, RuleIndex: index[f.Rule], Level: string(f.Severity), Message: sarifText{f.sentence()},
			Fingerprints: map[string]string{"finding/v1": print},
		}
		var at sarifLocation
		at.Physical.Artifact.URI = (&url.URL{Path: relative(f.File, base)}).String()
		at.Physical.Region = sarifRegion{max(f.Line, 1), f.Column}
		if f.Kind != "" {
			at.Logical = []sarifLogical{{strings.TrimSuffix(f.Kind+"/"+f.Namespace+"/"+f.Name+"/"+f.Path, "/")}}
		}
		result.Locations = []sarifLocation{at}
		run.Results = append(run.Results, result)
	}
	return encode(w, sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}})
}

// fingerprints name findings so that a code host knows one again after lines moved: by
// all but the place in the file. Findings that are alike are counted.
func fingerprints(findings []Finding, base string) []string {
	out := make([]string, len(findings))
	seen := map[string]int{}
	for i, f := range findings {
		id := strings.Join([]string{
			relative(f.File, base), f.Rule, relative(f.Kustomization, base), f.Kind, f.Namespace, f.Name, f.Path, f.Message,
		}, "\x00")
		seen[id]++
		sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d", id, seen[id]))
		out[i] = hex.EncodeToString(sum[:16])
	}
	return out
}

// writeGitHub writes workflow commands, which a runner turns into annotations.
func writeGitHub(w io.Writer, findings []Finding, base string) error {
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace
	for _, f := range findings {
		var properties []string
		if f.File != "-" {
			properties = append(properties, "file="+property(relative(f.File, base)))
		}
		if f.Line > 0 {
			properties = append(properties, fmt.Sprintf("line=%d", f.Line))
		}
		if f.Column > 0 {
			properties = append(properties, fmt.Sprintf("col=%d", f.Column))
		}
		properties = append(properties, "title="+property("nova-operator "+f.Rule))
		if _, err := fmt.Fprintf(w, "::%s %s::%s\n", f.Severity, strings.Join(properties, ","), data(f.sentence())); err != nil {
			return err
		}
	}
	return nil
}

// writeGitLab writes a code quality report. It needs a line: 1 where none is known.
func writeGitLab(w io.Writer, findings []Finding, base string) error {
	type location struct {
		Path  string         `json:"path"`
		Lines map[string]int `json:"lines"`
	}
	type issue struct {
		Description string   `json:"description"`
		CheckName   string   `json:"check_name"`
		Fingerprint string   `json:"fingerprint"`
		Severity    string   `json:"severity"`
		Location    location `json:"location"`
	}
	severities := map[Severity]string{Error: "major", Warning: "minor"}
	out := []issue{}
	for i, print := range fingerprints(findings, base) {
		f := findings[i]
		out = append(out, issue{
			f.sentence(), f.Rule, print, severities[f.Severity],
			location{relative(f.File, base), map[string]int{"begin": max(f.Line, 1)}},
		})
	}
	return encode(w, out)
}

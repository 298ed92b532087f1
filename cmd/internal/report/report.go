// Package report prints what was found in manifests, for people and for the machines of
// a pipeline.
//
// Input: findings in the order to print them. Output: text, JSON of our own, SARIF,
// workflow commands of GitHub, or a code quality report of GitLab; byte-equal for equal
// input. It adds no words to a finding, so what is safe to put into one is safe to print.
package report

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/c5c3/nova-operator/cmd/internal/check"
	"github.com/c5c3/nova-operator/cmd/internal/manifest"
	"github.com/c5c3/nova-operator/render/stream"
)

// Severity says what a finding means for the exit code.
type Severity string

const (
	// Error has to be corrected.
	Error Severity = "error"
	// Warning does not, unless asked for.
	Warning Severity = "warning"
)

// Finding is one line of a report, and one entry of the JSON output.
type Finding struct {
	Severity Severity `json:"severity"`
	// Rule is one of the constants of package check.
	Rule string `json:"rule"`
	// File is the path as it was given.
	File string `json:"file"`
	// Line and Column count from 1; 0 is not known.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
	// Kustomization is the one whose output holds the resource, "" for a plain file.
	Kustomization string `json:"kustomization,omitempty"`
	// Document counts the documents of the file, or of the output, from 1.
	Document  int    `json:"document"`
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	// Path is the field, "" for the resource as a whole.
	Path       string `json:"path,omitempty"`
	Message    string `json:"message"`
	Suggestion string `json:"suggestion,omitempty"`
}

// New is a finding about a document.
func New(d manifest.Document, f check.Finding) Finding {
	at := d.Find(f.Path)
	out := Finding{
		Severity: Error, Rule: f.Rule, File: at.File, Line: at.Line, Column: at.Column,
		Document: d.Number, Path: f.Path, Message: f.Message, Suggestion: f.Suggestion,
	}
	if f.Warning {
		out.Severity = Warning
	}
	if d.Built() {
		out.Kustomization = d.File
	}
	if d.Err == nil {
		out.Kind, out.Namespace, out.Name = d.Object.GetKind(), d.Object.GetNamespace(), d.Object.GetName()
	}
	return out
}

// Formats are the names of the outputs.
var Formats = []string{"text", "json", "sarif", "github", "gitlab"}

// Write prints a whole report. Base is the directory that the paths of the formats for
// machines start at, absolute.
func Write(w io.Writer, format string, report Report, base string) error {
	switch format {
	case "json":
		return writeJSON(w, report)
	case "sarif":
		return writeSARIF(w, report.Findings, base)
	case "github":
		return writeGitHub(w, report.Findings, base)
	case "gitlab":
		return writeGitLab(w, report.Findings, base)
	}
	return Text(w, report.Findings)
}

// Text writes a line for each finding:
//
//	FILE:LINE: SEVERITY: KIND/NAME: PATH: MESSAGE; SUGGESTION
//
// What is not known is left out.
func Text(w io.Writer, findings []Finding) error {
	var b strings.Builder
	for _, f := range findings {
		b.WriteString(f.File)
		if f.Line > 0 {
			fmt.Fprintf(&b, ":%d", f.Line)
		}
		fmt.Fprintf(&b, ": %s: %s\n", f.Severity, f.sentence())
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// sentence is a finding without its place.
func (f Finding) sentence() string {
	var parts []string
	if f.Kind != "" {
		parts = append(parts, f.Kind+"/"+f.Name)
	}
	if f.Path != "" {
		parts = append(parts, f.Path)
	}
	out := strings.Join(append(parts, f.Message), ": ")
	if f.Suggestion != "" {
		out += "; " + f.Suggestion
	}
	if f.Kustomization != "" {
		out += " (built by " + f.Kustomization + ")"
	}
	return stream.OneLine(out)
}

// relative is a file as a code host names it: from the base, with slashes, and without
// the revision. A file elsewhere keeps its path, and standard input is called stdin.
func relative(file, base string) string {
	if rest, ok := strings.CutPrefix(file, manifest.GitPrefix); ok {
		_, inside, _ := strings.Cut(rest, ":")
		return inside
	}
	if file == "-" {
		return "stdin"
	}
	absolute, err := filepath.Abs(file)
	if err != nil {
		return filepath.ToSlash(file)
	}
	inside, err := filepath.Rel(base, absolute)
	if err != nil || inside == ".." || strings.HasPrefix(inside, ".."+string(filepath.Separator)) {
		return filepath.ToSlash(absolute)
	}
	return filepath.ToSlash(inside)
}

// Report is everything a run found.
type Report struct {
	Findings []Finding
	// Resources are all resources that were checked.
	Resources []Resource
}

// Resource is one resource that was checked.
type Resource struct {
	File      string `json:"file"`
	Document  int    `json:"document"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Valid     bool   `json:"valid"`
}

// Failed reports whether anything has to be corrected.
func (r Report) Failed() bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Severity == Error })
}

package manifest

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// kustomize builds a kustomization in this process. Its plugins stay off.
func (c *collection) kustomize(at place) error {
	tree := &offline{FileSystem: at.tree, traced: at.join(at.kustomizationFile()).path}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(tree, at.path)
	if len(tree.refused) > 0 {
		// The build itself only says that it found no kustomization.
		err = errors.Join(tree.refused...)
	}
	if err != nil {
		// Not wrapped: a file that is missing inside of the kustomization must not look
		// like a kustomization that is not there.
		return fmt.Errorf("build %s: %s", at, tree.redact(err.Error()))
	}
	from := &build{kustomization: at, tree: tree, parsed: map[string]parsed{}}
	for i, r := range built.Resources() {
		start, err := r.GetOrigin()
		if err == nil && !tree.keepOrigin {
			err = r.SetOrigin(nil)
		}
		if err != nil {
			return fmt.Errorf("build %s: %w", at, err)
		}
		raw, err := r.AsYAML()
		if err != nil {
			return fmt.Errorf("print %s: %w", at, err)
		}
		c.built(from, i+1, newText(raw, 0, 0), start)
	}
	return nil
}

// built keeps one resource of a kustomization. Start is nil for a generated one.
func (c *collection) built(from *build, number int, content *text, start *resource.Origin) {
	object, err := decode(content.raw)
	if err != nil || object == nil {
		// Not met: kustomize builds nothing but objects.
		return
	}
	made := &origin{build: from}
	if start != nil && start.Path != "" {
		made.file = new(from.kustomization.join(start.Path))
	}
	c.add(Document{File: from.kustomization.String(), Number: number, source: source{text: content, origin: made}}, object, nil)
}

// offline is a file system whose kustomizations name nothing that would be fetched: one
// that does is refused before kustomize sees it.
//
// It also has kustomize say which file each resource came from, as the option
// originAnnotations of the kustomization does.
type offline struct {
	filesys.FileSystem
	// traced is the kustomization that is built.
	traced string
	// keepOrigin is set when that kustomization asks for the annotations itself.
	keepOrigin bool
	// read are the manifests that were read.
	read    []string
	refused []error
}

// ReadFile returns the content of a file.
func (o *offline) ReadFile(name string) ([]byte, error) {
	isKustomization := slices.Contains(konfig.RecognizedKustomizationFileNames(), filepath.Base(name))
	raw, err := o.FileSystem.ReadFile(name)
	if err != nil {
		// Kustomize takes a kustomization it can't read for one that is not there.
		if isKustomization && o.Exists(name) {
			o.refused = append(o.refused, err)
		}
		return nil, err
	}
	if (isManifest(name) || isKustomization) && !slices.Contains(o.read, name) {
		o.read = append(o.read, name)
	}
	if !isKustomization && !strings.Contains(string(raw), "apiVersion: builtin") {
		return raw, nil
	}
	var content map[string]any
	if yaml.Unmarshal(raw, &content) != nil || content == nil {
		// Kustomize says what is wrong.
		return raw, nil
	}
	if found := remote("", content); found != "" {
		err := fmt.Errorf("%s names %s, and nothing is fetched here: vendor it, or pipe the output of kustomize build into -f -", name, found)
		o.refused = append(o.refused, err)
		return nil, err
	}
	if isKustomization && o.isTraced(name) {
		return o.trace(raw, content)
	}
	return raw, nil
}

// isTraced compares as kustomize names files: absolute, and without links.
func (o *offline) isTraced(name string) bool {
	directory, file, err := o.CleanedAbs(o.traced)
	return err == nil && directory.Join(file) == name
}

// trace adds the option to a kustomization.
func (o *offline) trace(raw []byte, content map[string]any) ([]byte, error) {
	options, ok := content["buildMetadata"].([]any)
	if !ok && content["buildMetadata"] != nil {
		return raw, nil
	}
	o.keepOrigin = slices.Contains(options, any(types.OriginAnnotations))
	if o.keepOrigin {
		return raw, nil
	}
	content["buildMetadata"] = append(options, types.OriginAnnotations)
	return yaml.Marshal(content)
}

var (
	// bases are the lists that may hold directories, which kustomize clones when they
	// look like a repository.
	bases = []string{"resources", "bases", "components", "generators", "transformers", "validators"}
	// files are the fields with paths of files, which kustomize gets when they are URLs.
	files = []string{
		"path", "paths", "files", "file", "env", "envs", "crds", "configurations", "patchesStrategicMerge",
		"patchesJson6902", "helmCharts", "helmChartInflationGenerator", "repo", "valuesFile", "additionalValuesFiles",
	}
	// texts are maps of free text.
	texts = []string{"commonAnnotations", "annotations", "commonLabels", "labels"}
	// repositories start like what kustomize clones.
	repositories = regexp.MustCompile(`(?i)^(git::)?(ssh://|https?://|file://|github\.com[/:]|[a-z][a-z0-9-]*@[^/]*[:/])`)
)

// remote returns the first value of a kustomization that would be fetched, "" without
// one. Field is the nearest field above the value.
func remote(field string, value any) string {
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			if slices.Contains(texts, key) {
				continue
			}
			if found := remote(key, value[key]); found != "" {
				return found
			}
		}
	case []any:
		for _, inner := range value {
			if found := remote(field, inner); found != "" {
				return found
			}
		}
	case string:
		return remoteText(field, value)
	}
	return ""
}

// remoteText judges one text. Plugins can stand in a kustomization as text.
func remoteText(field, text string) string {
	if slices.Contains(bases, field) {
		var plugin map[string]any
		if strings.Contains(text, "\n") && yaml.Unmarshal([]byte(text), &plugin) == nil {
			return remote("", plugin)
		}
		if repositories.MatchString(text) {
			return redacted(text)
		}
	}
	if !slices.Contains(files, field) {
		return ""
	}
	// A generator names a file as KEY=PATH.
	if _, target, ok := strings.Cut(text, "="); ok && field == "files" {
		text = target
	}
	if parsed, err := url.Parse(text); err == nil && (parsed.Scheme == "http" || parsed.Scheme == "https") {
		return redacted(text)
	}
	return ""
}

// userinfo is the user of a URL, whose password or token stands there.
var userinfo = regexp.MustCompile(`//[^/@]*@`)

// redacted is a URL without what may be a credential.
func redacted(text string) string {
	text, _, _ = strings.Cut(text, "?")
	return userinfo.ReplaceAllString(text, "//")
}

// Command speed times the previews as whole processes, beside `kustomize build` and
// `helm template` of the same objects, in one run:
//
//	go run ./test/speed -runs 5
//
// The runs of all commands take turns, so that a noisy machine is noisy for all.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

// novas and namespaces are the size of the large comparison.
const (
	novas      = 100
	namespaces = 20
)

func main() {
	runs := flag.Int("runs", 5, "runs of each command")
	flag.Parse()
	folder, err := os.MkdirTemp("", "speed")
	if err == nil {
		err = run(folder, *runs, os.Stdout)
		err = errors.Join(err, os.RemoveAll(folder))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "speed:", err)
		os.Exit(1)
	}
}

// contest is one row of the table.
type contest struct {
	what    string
	command []string
	// differs: exit code 1 is success.
	differs bool

	walls []time.Duration
	// memory is the largest resident set of any run, in MiB.
	memory int64
}

func run(folder string, runs int, out io.Writer) error {
	s := &stage{folder: folder}
	operator, others := s.path("nova-operator"), s.path("others")
	for _, build := range [][]string{
		{"go", "build", "-o", operator, "./cmd/nova-operator"},
		{"go", "build", "-C", "test/speed/others", "-o", others, "."},
	} {
		if raw, err := exec.Command(build[0], build[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", strings.Join(build, " "), err, raw)
		}
	}
	if err := s.prepare(operator); err != nil {
		return err
	}
	contests := []*contest{
		{what: "nova-operator render, 1 Nova", command: []string{operator, "render", "-f", s.path("one.yaml")}},
		{what: "kustomize build, its objects", command: []string{others, "kustomize", s.path("kustomize-1")}},
		{what: "helm template, its objects", command: []string{others, "helm", s.path("helm-1")}},
		{what: fmt.Sprintf("nova-operator diff --from --to, %d Novas that all change", novas), command: []string{operator, "diff", "--from", s.path("a"), "--to", s.path("b")}, differs: true},
		{what: fmt.Sprintf("nova-operator diff --from --to, %d Novas of which one changes", novas), command: []string{operator, "diff", "--from", s.path("a"), "--to", s.path("c")}, differs: true},
		{what: fmt.Sprintf("kustomize build, the objects of %d Novas, one side", novas), command: []string{others, "kustomize", s.path("kustomize-100")}},
		{what: fmt.Sprintf("helm template, the objects of %d Novas, one side", novas), command: []string{others, "helm", s.path("helm-100")}},
	}
	for range runs {
		for _, c := range contests {
			if err := c.measure(); err != nil {
				return err
			}
		}
	}
	fmt.Fprintln(out, "| Process | fastest | median | memory |\n| --- | --- | --- | --- |")
	for _, c := range contests {
		slices.Sort(c.walls)
		fmt.Fprintf(out, "| %s | %.2f s | %.2f s | %d MiB |\n", c.what, c.walls[0].Seconds(), c.walls[len(c.walls)/2].Seconds(), c.memory)
	}
	return nil
}

// measure runs the command once.
func (c *contest) measure() error {
	command := exec.Command(c.command[0], c.command[1:]...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	start := time.Now()
	err := command.Run()
	wall := time.Since(start)
	if err != nil && (!c.differs || command.ProcessState.ExitCode() != 1) {
		return fmt.Errorf("%s: %w: %s", strings.Join(c.command, " "), err, stderr.String())
	}
	c.walls = append(c.walls, wall)
	if usage, ok := command.ProcessState.SysUsage().(*syscall.Rusage); ok {
		c.memory = max(c.memory, usage.Maxrss/1024)
	}
	return nil
}

// stage holds the inputs.
type stage struct{ folder string }

func (s *stage) path(name string) string { return filepath.Join(s.folder, name) }

func (s *stage) write(name, text string) error {
	if err := os.MkdirAll(filepath.Dir(s.path(name)), 0o700); err != nil {
		return err
	}
	return os.WriteFile(s.path(name), []byte(text), 0o600)
}

// prepare writes the Novas, and what they render to as sources of the others.
func (s *stage) prepare(operator string) error {
	raw, err := os.ReadFile("fixtures/nova/minimal/nova.yaml")
	if err != nil {
		return fmt.Errorf("run it from the root of the repository: %w", err)
	}
	one := string(raw)
	errs := []error{s.write("one.yaml", one)}
	for i := range novas {
		text := strings.NewReplacer("namespace: openstack", "namespace: "+namespace(i), "name: nova\n", fmt.Sprintf("name: nova-%d\n", i)).Replace(one)
		changed := text + "  conductor: {workers: 5}\n"
		file := fmt.Sprintf("/%03d.yaml", i)
		c := text
		if i == 0 {
			c = changed
		}
		errs = append(errs, s.write("a"+file, text), s.write("b"+file, changed), s.write("c"+file, c))
	}
	rendered, err := exec.Command(operator, "render", "-f", s.path("one.yaml")).Output()
	if err != nil {
		return fmt.Errorf("render one Nova: %w", err)
	}
	objects := strings.Split(string(rendered), "---\n")[1:]
	errs = append(errs, s.kustomizations(objects), s.chart("helm-1", objects, 1), s.chart("helm-100", objects, novas))
	return errors.Join(errs...)
}

func namespace(i int) string { return fmt.Sprintf("region-%d", i%namespaces) }

// kustomizations are a base with one file an object, an overlay of it, and a hundred.
func (s *stage) kustomizations(objects []string) error {
	var errs []error
	base := "resources:\n"
	for i, object := range objects {
		file := fmt.Sprintf("%02d.yaml", i)
		base += "  - " + file + "\n"
		errs = append(errs, s.write("base/"+file, object))
	}
	overlay := func(i int) string {
		return fmt.Sprintf("namespace: %s\nnamePrefix: n%d-\nimages: [{name: registry.example.com/nova, newTag: \"2026.2\"}]\nresources: [../base]\n", namespace(i), i)
	}
	all := "resources:\n"
	for i := range novas {
		folder := fmt.Sprintf("overlay-%d", i)
		all += "  - ../" + folder + "\n"
		errs = append(errs, s.write(folder+"/kustomization.yaml", overlay(i)))
	}
	return errors.Join(append(errs, s.write("base/kustomization.yaml", base), s.write("kustomize-1/kustomization.yaml", overlay(0)), s.write("kustomize-100/kustomization.yaml", all))...)
}

// named is the name of an object.
var named = regexp.MustCompile(`(?m)^  name: (.*)$`)

// chart is one template an object, which prints it for every Nova.
func (s *stage) chart(folder string, objects []string, count int) error {
	errs := []error{
		s.write(folder+"/Chart.yaml", "apiVersion: v2\nname: speed\nversion: 1.0.0\n"),
		s.write(folder+"/values.yaml", fmt.Sprintf("count: %d\nimage: registry.example.com/nova:2026.2\n", count)),
	}
	for i, object := range objects {
		object = named.ReplaceAllString(object, "  name: $1-{{ $$i }}")
		object = strings.NewReplacer(
			"namespace: openstack", fmt.Sprintf("namespace: region-{{ mod $i %d }}", namespaces),
			"registry.example.com/nova:2026.1", "{{ $.Values.image }}",
		).Replace(object)
		errs = append(errs, s.write(fmt.Sprintf("%s/templates/%02d.yaml", folder, i), "{{- range $i := until (int .Values.count) }}\n---\n"+object+"{{- end }}\n"))
	}
	return errors.Join(errs...)
}

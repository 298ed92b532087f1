package manifest

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// history is a repository with three commits, made by git itself, and clones of it.
//
//	v1          deploy/nova.yaml, apps/base, apps/prod (kustomization over ../base)
//	main~1      deploy/nova.yaml renamed to deploy/10-nova.yaml
//	main        links, a remote base
func history(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	origin := filepath.Join(root, "origin")
	nova := func(name string) string {
		return "apiVersion: example.com/v1\nkind: Nova\nmetadata: {name: " + name + "}\n"
	}
	runGit(t, root, "init", "-q", "-b", "main", origin)
	commit := func(message string, content map[string]string) {
		for name, text := range content {
			file := filepath.Join(origin, name)
			if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		runGit(t, origin, "add", "-A")
		runGit(t, origin, "commit", "-q", "-m", message)
	}
	commit("first", map[string]string{
		"deploy/nova.yaml":             nova("first"),
		"deploy/README":                "not a manifest",
		"apps/base/kustomization.yaml": "resources: [nova.yaml]\n",
		"apps/base/nova.yaml":          nova("base"),
		"apps/prod/kustomization.yaml": "resources: [../base]\nnamePrefix: prod-\nnamespace: prod\n",
	})
	runGit(t, origin, "tag", "-a", "-m", "one", "v1")
	runGit(t, origin, "mv", "deploy/nova.yaml", "deploy/10-nova.yaml")
	commit("second", map[string]string{"deploy/20-nova.json": `{"apiVersion": "example.com/v1", "kind": "Nova", "metadata": {"name": "second"}}`})
	for name, target := range map[string]string{"current": "apps/prod", "deploy/link.yaml": "../apps/base/nova.yaml", "out": "../../etc", "loop": "loop"} {
		if err := os.Symlink(target, filepath.Join(origin, name)); err != nil {
			t.Fatal(err)
		}
	}
	commit("third", map[string]string{
		"remote/kustomization.yaml": "resources:\n- https://user:hunter2@example.com/base?token=hunter2\n",
		"broken/kustomization.yaml": "resources: [missing.yaml]\n",
		"empty/README":              "nothing",
	})
	return root
}

func runGit(t *testing.T, directory string, args ...string) {
	t.Helper()
	command := exec.Command("git", args...)
	command.Dir = directory
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@example.com", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@example.com")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// names are the documents of a place, as FILE NAMESPACE/NAME.
func names(t *testing.T, spec string) ([]string, error) {
	t.Helper()
	documents, err := Open(spec, "default", strings.NewReader(""))
	var out []string
	for _, d := range documents {
		if d.Err != nil {
			t.Errorf("%s: %v", d, d.Err)
			continue
		}
		out = append(out, d.File+" "+d.Object.GetNamespace()+"/"+d.Object.GetName())
	}
	return out, err
}

func TestOpen_GitRevisions(t *testing.T) {
	root := history(t)
	cases := map[string]struct {
		spec, directory string
		want            []string
	}{
		"a file at a tag":                    {"git:v1:deploy/nova.yaml", "", []string{"git:v1:deploy/nova.yaml default/first"}},
		"a directory":                        {"git:main:deploy", "", []string{"git:main:deploy/10-nova.yaml default/first", "git:main:deploy/20-nova.json default/second", "git:main:deploy/link.yaml default/base"}},
		"a directory before main":            {"git:main~1:deploy/", "", []string{"git:main~1:deploy/10-nova.yaml default/first", "git:main~1:deploy/20-nova.json default/second"}},
		"HEAD, from the working directory":   {"git:HEAD~2:./nova.yaml", "deploy", []string{"git:HEAD~2:deploy/nova.yaml default/first"}},
		"from above the working directory":   {"git:@:../deploy/20-nova.json", "apps", []string{"git:@:deploy/20-nova.json default/second"}},
		"from the root, wherever one stands": {"git:v1^0:deploy/nova.yaml", "apps/base", []string{"git:v1^0:deploy/nova.yaml default/first"}},
		"a kustomization and its base":       {"git:HEAD:apps/prod", "", []string{"git:HEAD:apps/prod prod/prod-base"}},
		"a linked kustomization":             {"git:HEAD:current", "", []string{"git:HEAD:current prod/prod-base"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Chdir(filepath.Join(root, "origin", tc.directory))
			got, err := names(t, tc.spec)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOpen_GitFromALinkToTheRepository(t *testing.T) {
	root := history(t)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(filepath.Join(root, "origin", "apps"), link); err != nil {
		t.Fatal(err)
	}
	t.Chdir(link)
	got, err := names(t, "git:HEAD:./prod")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"git:HEAD:apps/prod prod/prod-base"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestOpen_GitErrors(t *testing.T) {
	root := history(t)
	for name, tc := range map[string]struct {
		spec, want string
		notThere   bool
	}{
		"no path":                      {"git:main", "must be git:REV:PATH", false},
		"no revision":                  {"git::deploy", "must be git:REV:PATH", false},
		"an unknown revision":          {"git:nowhere:deploy", "git:nowhere:deploy: revision nowhere is not in this clone: fetch it first", false},
		"before the first commit":      {"git:main~7:deploy", "revision main~7: the history ends before it", false},
		"the reflog":                   {"git:main@{1}:deploy", "name a branch, a tag or a hash", false},
		"a revision of nothing":        {"git:~1:deploy", "name a branch, a tag or a hash", false},
		"a path that is not there":     {"git:v1:deploy/10-nova.yaml", "git:v1:deploy/10-nova.yaml: find /deploy/10-nova.yaml: file does not exist", true},
		"below a file":                 {"git:v1:deploy/nova.yaml/x", "file does not exist", true},
		"a path from the root of disk": {"git:v1:/deploy", "starts at the root of the repository, without a slash", false},
		"a path that leaves":           {"git:v1:deploy/../../x", "leaves the repository", false},
		"a link that leaves":           {"git:main:out", "the link out leaves the repository", false},
		"a link to itself":             {"git:main:loop", "too many symbolic links", false},
		"a directory of other files":   {"git:main:empty", "git:main:empty holds no manifest", false},
		"a part that is missing":       {"git:main:broken", "build git:main:broken: ", false},
		"a remote base":                {"git:main:remote", "names https://example.com/base, and nothing is fetched here", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(filepath.Join(root, "origin"))
			_, err := names(t, tc.spec)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("got %v, want %q", err, tc.want)
			}
			if errors.Is(err, fs.ErrNotExist) != tc.notThere {
				t.Errorf("fs.ErrNotExist is %t: %v", !tc.notThere, err)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("a credential: %v", err)
			}
		})
	}
}

// TestOpen_EveryKindOfClone reads one commit through clones that keep their objects in
// other places, and finds nothing changed in them.
func TestOpen_EveryKindOfClone(t *testing.T) {
	root := history(t)
	runGit(t, root, "clone", "-q", "--bare", "origin", "bare.git")
	runGit(t, root, "clone", "-q", "--shared", "origin", "shared")
	runGit(t, root, "clone", "-q", "--depth=1", "file://"+root+"/origin", "shallow")
	runGit(t, root, "clone", "-q", "origin", "packed")
	runGit(t, filepath.Join(root, "packed"), "gc", "-q")
	runGit(t, filepath.Join(root, "origin"), "worktree", "add", "-q", filepath.Join(root, "worktree"), "v1")
	runGit(t, root, "clone", "-q", "origin", "sparse")
	runGit(t, filepath.Join(root, "sparse"), "sparse-checkout", "set", "empty")
	for name, tc := range map[string]struct{ spec, want, err string }{
		"origin":   {"git:HEAD:apps/prod", "prod/prod-base", ""},
		"bare.git": {"git:main:apps/prod", "prod/prod-base", ""},
		"shared":   {"git:v1:apps/prod", "prod/prod-base", ""},
		"packed":   {"git:v1:apps/prod", "prod/prod-base", ""},
		"sparse":   {"git:origin/main:apps/prod", "prod/prod-base", ""},
		"worktree": {"git:HEAD:deploy/nova.yaml", "default/first", ""},
		"shallow":  {"git:HEAD~1:deploy", "", "revision HEAD~1 is not in this clone: fetch it first, in a pipeline with fetch-depth: 0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(filepath.Join(root, name))
			before := everyFile(t, filepath.Join(root, name))
			got, err := names(t, tc.spec)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("got %v, want %q", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{tc.spec + " " + tc.want}, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(before, everyFile(t, filepath.Join(root, name))); diff != "" {
				t.Errorf("the clone changed:\n%s", diff)
			}
		})
	}
	t.Run("a partial clone says what it lacks", func(t *testing.T) {
		runGit(t, filepath.Join(root, "origin"), "config", "uploadpack.allowFilter", "true")
		runGit(t, root, "clone", "-q", "--filter=blob:none", "--no-checkout", "file://"+root+"/origin", "partial")
		t.Chdir(filepath.Join(root, "partial"))
		for _, place := range []string{"git:v1:deploy/nova.yaml", "git:v1:apps/prod"} {
			if _, err := names(t, place); err == nil || !strings.Contains(err.Error(), "partial one: clone without --filter") {
				t.Errorf("%s: %v", place, err)
			}
		}
	})
	t.Run("outside of a repository", func(t *testing.T) {
		t.Chdir(root)
		if _, err := names(t, "git:HEAD:deploy"); err == nil || !strings.Contains(err.Error(), "in no git repository") {
			t.Error(err)
		}
	})
	t.Run("a bare clone has no working directory", func(t *testing.T) {
		t.Chdir(filepath.Join(root, "bare.git"))
		if _, err := names(t, "git:HEAD:./deploy"); err == nil || !strings.Contains(err.Error(), "bare clone") {
			t.Error(err)
		}
	})
}

// everyFile lists the files of a folder with their sizes and times.
func everyFile(t *testing.T, folder string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			out = append(out, path+" "+info.Mode().String()+" "+info.ModTime().String())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

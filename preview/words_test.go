package preview

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestShow(t *testing.T) {
	for name, tc := range map[string]struct {
		value any
		want  string
	}{
		"absent":              {nil, "(none)"},
		"text":                {"a b", "a b"},
		"empty text":          {"", `""`},
		"text that says none": {"(none)", `"(none)"`},
		"two lines":           {"a\nb", `"a\nb"`},
		"a terminal sequence": {"\x1b[2J", `"\x1b[2J"`},
		"a number":            {int64(3), "3"},
		"a map":               {map[string]any{"b": "x", "a": []any{true}}, `{"a":[true],"b":"x"}`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := show(tc.value); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}

// A value is cut between characters, never inside of one.
func TestBrief(t *testing.T) {
	if text := strings.Repeat("x", longest); brief(text) != text {
		t.Error("what fits is cut")
	}
	text := strings.Repeat("x", longest-1) + "éz"
	if got, want := brief(text), strings.Repeat("x", longest-1)+"… (2002 bytes)"; got != want {
		t.Errorf("it ends with %q", got[longest-5:])
	}
}

func TestSummary_Headline(t *testing.T) {
	for name, tc := range map[string]struct {
		summary Summary
		want    string
	}{
		"nothing":                      {Summary{}, "nothing changes"},
		"everything is the same":       {Summary{Unchanged: 3}, "3 unchanged"},
		"no pod":                       {Summary{Change: 1}, "restarts no pod, 1 to change"},
		"what is held restarts no pod": {Summary{Held: 1}, "1 held"},
		"what can't be written":        {Summary{Refused: 2}, "2 that can't be written"},
		"one rolls":                    {Summary{Rollouts: 1, Deployments: 1, Pods: 1, Change: 1}, "rolls 1 Deployment, 1 pod, 1 to change"},
		"several roll":                 {Summary{Rollouts: 2, Deployments: 2, Pods: 3}, "rolls 2 Deployments, 3 pods"},
		"one rolls twice":              {Summary{Rollouts: 2, Deployments: 1, Pods: 4}, "rolls 1 Deployment in 2 rollouts, 4 pods"},
		"DaemonSets":                   {Summary{Rollouts: 2, DaemonSets: 2, Pods: 9}, "rolls 2 DaemonSets, 9 pods"},
		"both kinds":                   {Summary{Rollouts: 2, Deployments: 1, DaemonSets: 1, Pods: 9}, "rolls 1 Deployment and 1 DaemonSet, 9 pods"},
		"a start is no restart":        {Summary{Create: 1, Started: 1}, "starts 1 pod, 1 to create"},
		"a stop is no restart":         {Summary{Delete: 1, Stopped: 2}, "stops 2 pods, 1 to delete"},
		"the order": {
			Summary{Create: 1, Change: 2, Recreate: 3, Delete: 4, Held: 5, Unchanged: 6, Refused: 7, Jobs: 2, Started: 1},
			"starts 1 pod, runs 2 Jobs, 4 to delete, 3 to recreate, 1 to create, 2 to change, 7 that can't be written, 5 held, 6 unchanged",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.summary.Headline(); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

func TestDocument_CountsByKind(t *testing.T) {
	for want, kinds := range map[string][]string{
		"0 Novas": nil, "1 Nova": {"Nova"}, "2 Novas, 1 NovaCompute": {"Nova", "NovaCompute", "Nova"}, "2 NovaComputes, 1 Nova": {"NovaCompute", "Nova", "NovaCompute"},
	} {
		d := &Document{}
		for _, kind := range kinds {
			d.Resources = append(d.Resources, Resource{Kind: kind})
		}
		if got := d.counted(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestDocument_AddsUp(t *testing.T) {
	one := Summary{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}
	d := New(ModeLive, "a", "b", []Resource{{Summary: one}, {Summary: one}})
	if diff := cmp.Diff(Summary{2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28}, d.Summary); diff != "" {
		t.Error(diff)
	}
	if d.Mode != ModeLive || d.From != "a" || d.To != "b" || d.APIVersion != APIVersion || d.Kind != Kind {
		t.Errorf("%+v", d)
	}
	if New(ModeLive, "", "", nil).Resources == nil {
		t.Error("no resource is null in JSON")
	}
}

func TestDocument_DiffersAndFails(t *testing.T) {
	object := func(a Action) []Object { return []Object{{Action: ActionHeld}, {Action: a}} }
	for name, tc := range map[string]struct {
		resource        Resource
		differs, failed bool
	}{
		"unchanged":             {Resource{Action: ActionUnchanged}, false, false},
		"a change of its own":   {Resource{Action: ActionChange}, true, false},
		"created":               {Resource{Action: ActionCreate}, true, false},
		"deleted":               {Resource{Action: ActionDelete}, true, false},
		"an object is changed":  {Resource{Action: ActionUnchanged, Objects: object(ActionChange)}, true, false},
		"an object is created":  {Resource{Action: ActionUnchanged, Objects: object(ActionCreate)}, true, false},
		"an object is replaced": {Resource{Action: ActionUnchanged, Objects: object(ActionRecreate)}, true, false},
		"an object goes":        {Resource{Action: ActionUnchanged, Objects: object(ActionDelete)}, true, false},
		"an object waits":       {Resource{Action: ActionUnchanged, Objects: object(ActionWait)}, true, false},
		"an object is refused":  {Resource{Action: ActionUnchanged, Objects: object(ActionRefused), Summary: Summary{Refused: 1}}, true, true},
		"an object is held":     {Resource{Action: ActionUnchanged, Objects: object(ActionHeld)}, false, false},
		"an error":              {Resource{Action: ActionUnchanged, Errors: []string{"x"}}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			d := New(ModeLive, "", "", []Resource{{Action: ActionUnchanged}, tc.resource})
			if d.Differs() != tc.differs || d.Failed() != tc.failed {
				t.Errorf("differs %v, failed %v", d.Differs(), d.Failed())
			}
		})
	}
}

// A resource of which there is something to say is never left out.
func TestResource_Quiet(t *testing.T) {
	for name, tc := range map[string]struct {
		resource Resource
		want     bool
	}{
		"nothing to say": {Resource{Action: ActionUnchanged, Held: []Held{{}}}, true},
		"a change":       {Resource{Action: ActionChange}, false},
		"an object":      {Resource{Action: ActionUnchanged, Objects: []Object{{}}}, false},
		"an error":       {Resource{Action: ActionUnchanged, Errors: []string{""}}, false},
		"a note":         {Resource{Action: ActionUnchanged, Notes: []string{""}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.resource.quiet(); got != tc.want {
				t.Errorf("quiet is %v", got)
			}
		})
	}
}

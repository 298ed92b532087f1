package nova

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/pipeline"
)

// A replayed observation leads where the real one led.
func TestMask_DecidesAlike(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		in := randomInput(rt, t)
		masked := in
		masked.Mask()
		want, got := turns(Decide(in)), turns(Decide(masked))
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatal(diff)
		}
	})
}

func TestMask_HoldsNoCredential(t *testing.T) {
	const mark = "s3cret"
	in := readyWorld(t, nil)
	for name, data := range in.Observed.Secrets {
		for key := range data {
			if key != keyHost && key != keyPort {
				data[key] = render.Sensitive(mark + "/" + name + "\n")
			}
		}
	}
	in.Mask()
	for name, data := range in.Secrets() {
		for key, value := range data {
			if value == "" || strings.Contains(value.Reveal(), mark) {
				t.Errorf("%s/%s: %q", name, key, value.Reveal())
			}
		}
	}
	for name, want := range map[string]string{
		"rabbit://u:s3cret@mq-1:5672,v:s3cret@mq-2:5673/nova?ssl=1": "rabbit://placeholder-user:placeholder-password@mq-1:5672,placeholder-user:placeholder-password@mq-2:5673/nova",
		"amqp://u:s3cret@mq":      "amqp://placeholder",
		"s3cret":                  "placeholder",
		"rabbit://u:s3cret@:5672": "placeholder",
		"\n":                      "\n",
	} {
		if got := maskedURL(render.Sensitive(name)).Reveal(); got != want {
			t.Errorf("%q becomes %q, want %q", name, got, want)
		}
	}
}

// turns are what a decision depends on an observation for.
func turns(r pipeline.Decision) map[string][]string {
	out := map[string][]string{}
	for _, c := range r.Conditions {
		out["conditions"] = append(out["conditions"], c.Type+string(c.Status)+c.Reason)
		if c.Status == metav1.ConditionFalse && c.Reason != "ConfigError" && c.Reason != "ComputeConfigError" {
			out["messages"] = append(out["messages"], c.Message)
		}
	}
	for _, o := range r.Set.Desired {
		out["desired"] = append(out["desired"], o.Key().String())
	}
	for _, h := range r.Set.Held {
		out["held"] = append(out["held"], h.String()+h.Gate)
	}
	for _, a := range r.Set.Absent {
		out["absent"] = append(out["absent"], a.String()+a.Reason)
	}
	return out
}

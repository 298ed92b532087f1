package nova

import (
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/foresee"
	"github.com/c5c3/nova-operator/render/pipeline"
)

// A forecast ends where nothing moves, and what it says together is what its passes say
// one after the other.
func TestForesee_HoldsForAnyInput(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		in := randomInput(rt, t)
		in.forms = known
		before := in.Nova.DeepCopy()
		world := in.clone()
		f := foresee.Run(world)
		if !reflect.DeepEqual(before, in.Nova) {
			rt.Fatal("the resource was written to")
		}
		if len(f.Passes) == foresee.MaxPasses {
			rt.Fatalf("nothing settled after %d passes", foresee.MaxPasses)
		}
		if !reflect.DeepEqual(world.Decide().Conditions, f.Last.Conditions) {
			rt.Fatal("the end decides something else")
		}
		eachInOneList(rt, f)
		if n := len(f.Set.Desired); n > 0 {
			refused := f.Set.Desired[rapid.IntRange(0, n-1).Draw(rt, "refused")].Key()
			eachInOneList(rt, Foresee(in, refused))
		}
	})
}

// eachInOneList fails when a forecast loses an object or says two things about it.
func eachInOneList(rt *rapid.T, f foresee.Forecast) {
	lists := map[render.Key]int{}
	for _, o := range f.Set.Desired {
		lists[o.Key()]++
	}
	for _, a := range f.Set.Absent {
		lists[a.Key]++
	}
	for _, h := range f.Set.Held {
		lists[h.Key]++
	}
	for key, n := range lists {
		if n != 1 {
			rt.Fatalf("%s is in %d lists", key, n)
		}
	}
	for _, pass := range f.Passes {
		for _, o := range pass.Set.Desired {
			if lists[o.Key()] == 0 {
				rt.Fatalf("%s is lost", o.Key())
			}
		}
	}
}

func TestForesee_FollowsAnUpgrade(t *testing.T) {
	in := readyWorld(t, func(n *v1alpha1.Nova) { n.Spec.OpenStackRelease, n.Spec.Image.Tag = "2025.2", "2025.2" })
	in.Nova.Spec.OpenStackRelease, in.Nova.Spec.Image.Tag = "2026.1", "2026.1"
	f := Foresee(in)
	var phases []string
	for _, turn := range turnsOf(f) {
		phases = append(phases, turn.To)
	}
	if want := []string{"Expanding", "Migrating", "RollingUpdate", "Contracting", ""}; !slices.Equal(want, phases) {
		t.Errorf("phases %v", phases)
	}
	if statusOf(f.Last).InstalledRelease != "2026.1" || len(f.Replaced) != 1 {
		t.Errorf("installed %s, replaced %v", statusOf(f.Last).InstalledRelease, f.Replaced)
	}
}

// A gate that waits for an input stays closed: nothing is assumed of the world but what
// the operator itself brings about.
func TestForesee_AssumesNoInput(t *testing.T) {
	in := readyWorld(t, nil)
	delete(in.Observed.Secrets, "nova-db")
	f := Foresee(in)
	if len(f.Passes) != 2 || len(f.Set.Desired) != 0 {
		t.Errorf("%d passes write %d objects", len(f.Passes), len(f.Set.Desired))
	}
}

// A release that is taken back ends its upgrade, and does not complete it.
func TestForesee_TakesAnUpgradeBack(t *testing.T) {
	in := readyWorld(t, func(n *v1alpha1.Nova) { n.Spec.OpenStackRelease, n.Spec.Image.Tag = "2025.2", "2025.2" })
	in.Nova.Status.UpgradePhase, in.Nova.Status.TargetRelease = v1alpha1.UpgradePhaseMigrating, "2026.1"
	want := []pipeline.Turn{{From: "Migrating", Aborted: true}}
	if f := Foresee(in); f.First.Turn == nil || !slices.Equal(want, turnsOf(f)) {
		t.Errorf("turns %+v", turnsOf(f))
	}
}

// turnsOf are the turns of the phase in a forecast, in order.
func turnsOf(f foresee.Forecast) (turns []pipeline.Turn) {
	for _, pass := range f.Passes {
		if pass.Turn != nil {
			turns = append(turns, *pass.Turn)
		}
	}
	return turns
}

// What can't be written holds the later waves, as in the applier; what stands in the same
// wave, or before it, is written.
func TestForesee_WaitsBehindWhatIsRefused(t *testing.T) {
	count := func(name string) (desired, held int) {
		in := readyWorld(t, nil)
		in.Nova.Spec.Image.Tag = "2026.1-next"
		in.Observed.Deployments = nil
		f := Foresee(in, render.Key{GroupVersionKind: render.KindSecret, Namespace: in.Nova.Namespace, Name: name})
		for _, o := range f.Set.Desired {
			if o.Stage > render.StageConfig {
				desired++
			}
		}
		return desired, len(f.Set.Held)
	}
	if desired, held := count("nova-transport-url"); desired != 0 || held == 0 {
		t.Errorf("%d objects are written behind a Secret that can't be, %d held", desired, held)
	}
	if desired, _ := count("not-one-of-them"); desired == 0 {
		t.Error("nothing is written")
	}
}

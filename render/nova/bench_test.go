package nova

import "testing"

// BenchmarkDecide_Everything measures one pass over the Nova with every feature on, in
// a world where everything came up.
func BenchmarkDecide_Everything(b *testing.B) {
	in := settledFixture(b, "everything")
	if r := Decide(in); r.Err != nil || len(r.Set.Desired) < 30 {
		b.Fatalf("%d objects, error %v", len(r.Set.Desired), r.Err)
	}
	b.ReportAllocs()
	for b.Loop() {
		Decide(in)
	}
}

// BenchmarkDecide_ClosedGate measures a pass that ends at the first gate.
func BenchmarkDecide_ClosedGate(b *testing.B) {
	in := loadFixture(b, "missing-store").in
	b.ReportAllocs()
	for b.Loop() {
		Decide(in)
	}
}

// BenchmarkSettle_Everything measures what render does without an observation.
func BenchmarkSettle_Everything(b *testing.B) {
	in := loadFixture(b, "everything").in
	b.ReportAllocs()
	for b.Loop() {
		Settle(in)
	}
}

package stream

import "testing"

func TestOneLine_LeavesNothingToObey(t *testing.T) {
	for in, want := range map[string]string{
		"a\n  b\tc":          "a b c",
		"\x1b[2Jgone\x07 \r": "[2Jgone",
		"blätter — ok":       "blätter — ok",
	} {
		if got := OneLine(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

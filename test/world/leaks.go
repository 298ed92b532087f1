package world

import (
	"encoding/base64"
	"slices"
	"strings"

	"github.com/c5c3/nova-operator/test/surroundings"
)

// Mark is in every credential of these tests and nowhere else, so that one that gets out
// is found.
const Mark = "s3cret"

// needles are the marks and what base64 makes of them: three each, because that depends
// on how much stands before.
var needles = func() []string {
	found := []string{Mark, surroundings.Password}
	for _, mark := range slices.Clone(found) {
		for before := range 3 {
			encoded := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat(" ", before) + mark))
			found = append(found, encoded[(before*8+5)/6:(before+len(mark))*8/6])
		}
	}
	return found
}()

// Leaks returns every line of a text that has a credential in it, in the clear or in
// base64, cut to what stands around the credential.
func Leaks(text string) []string {
	var found []string
	for line := range strings.SplitSeq(text, "\n") {
		for _, needle := range needles {
			if at := strings.Index(line, needle); at >= 0 {
				found = append(found, line[max(0, at-300):min(len(line), at+100)])
				break
			}
		}
	}
	return found
}

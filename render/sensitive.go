package render

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
)

// Sensitive is a credential. Every way of printing it yields a placeholder; Reveal
// is the one way to its bytes, and belongs in builders of Secrets and digests only.
type Sensitive string

// Placeholder is what a credential looks like wherever it is printed.
const Placeholder = "(sensitive)"

// Reveal returns the bytes of the credential.
func (s Sensitive) Reveal() string { return string(s) }

// Trimmed drops one trailing newline, the one an editor or `echo` adds. It is
// called once, where a value enters, so that every channel sees the same bytes.
func (s Sensitive) Trimmed() Sensitive {
	return Sensitive(strings.TrimSuffix(string(s), "\n"))
}

// Digest is the lower-case hex SHA-256 of the value, or "" for an empty one: an
// unknown value has no digest.
func (s Sensitive) Digest() string {
	if s == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// String prints the placeholder.
func (s Sensitive) String() string { return Placeholder }

// GoString prints the placeholder under %#v.
func (s Sensitive) GoString() string { return Placeholder }

// Format prints the placeholder under every verb.
func (s Sensitive) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(Placeholder)) }

// MarshalJSON writes the placeholder, so an observation can be printed.
func (s Sensitive) MarshalJSON() ([]byte, error) { return json.Marshal(Placeholder) }

// UnmarshalJSON reads the plain value of an observation file.
func (s *Sensitive) UnmarshalJSON(raw []byte) error {
	var v string
	if err := json.Unmarshal(raw, &v); err != nil {
		return fmt.Errorf("credential: %w", err)
	}
	*s = Sensitive(v)
	return nil
}

package diff

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
)

// Mask is the key of the digests that stand in for credentials: a change shows, and
// without the key no guess can be tried. Digests compare within the life of a key only.
type Mask [sha256.Size]byte

// Digest is "hidden:" and eight hex digits for a JSON value, nil for nil.
func (v Mask) Digest(value any) any {
	if value == nil {
		return nil
	}
	mac := hmac.New(sha256.New, v[:])
	mac.Write(appendValue(nil, value))
	return "hidden:" + hex.EncodeToString(mac.Sum(nil)[:4])
}

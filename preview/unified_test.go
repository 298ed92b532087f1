package preview

import (
	"errors"
	"testing"
)

// full is a disk without room.
type full struct{ room int }

func (f *full) Write(p []byte) (int, error) {
	if f.room -= len(p); f.room < 0 {
		return 0, errors.New("no space left on device")
	}
	return len(p), nil
}

// A patch that could not be written is an error, wherever the room ends.
func TestUnified_TellsThatItCouldNotWrite(t *testing.T) {
	d := New(ModeOffline, "a", "b", []Resource{{Kind: "Nova", Namespace: "openstack", Name: "nova", Action: ActionChange, Objects: []Object{{
		Kind: "Service", Namespace: "openstack", Name: "nova", Action: ActionChange,
		before: map[string]any{"port": 1}, after: map[string]any{"port": 2},
	}}}})
	whole := &full{room: 1 << 20}
	if err := d.Unified(whole); err != nil {
		t.Fatal(err)
	}
	for room := range 1<<20 - whole.room {
		if err := d.Unified(&full{room: room}); err == nil {
			t.Fatalf("no error with room for %d bytes", room)
		}
	}
}

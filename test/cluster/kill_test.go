package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
)

// A killed devcluster can't clean up. The kernel ends its components, and the next
// start removes the folder.
func TestStart_NothingLeftAfterKill(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a cluster")
	}
	killed, err := Start(t.Context(), Options{Nodes: -1})
	if err != nil {
		t.Fatal(err)
	}
	if err := killed.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for name, pid := range killed.PIDs {
		Eventually(t, name+" gone", func(context.Context) (bool, error) {
			stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			// A zombie has ended too; who reaps it is up to the machine.
			return errors.Is(err, os.ErrNotExist) || bytes.Contains(stat, []byte(") Z ")), nil
		})
	}
	if err := killed.Stop(); err == nil {
		t.Error("stopping a killed cluster reports nothing")
	}
	StartFor(t, Options{Nodes: -1})
	if _, err := os.Stat(killed.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is left: %v", killed.Dir, err)
	}
}

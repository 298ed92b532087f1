package apply

import (
	"testing"

	"github.com/c5c3/nova-operator/render"
)

func TestApply_UnchangedCostsNoRequest(t *testing.T) {
	e := newEnv(t)
	set := desired(
		e.obj(render.StageConfig, render.Policy{}, configMapDoc),
		e.obj(render.StageWorkloads, render.Policy{}, deploymentDoc),
	)
	if got := actions(e.must(set)); got != "config:create api:create" {
		t.Error(got)
	}
	e.wantCalls("PATCH,PATCH")

	if got := actions(e.must(set)); got != "config:unchanged api:unchanged" {
		t.Error(got)
	}
	e.wantCalls("")

	e.restart()
	if got := actions(e.must(set)); got != "config:unchanged api:unchanged" {
		t.Error(got)
	}
	e.wantCalls("")
}

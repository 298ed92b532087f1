// Package health asks the tools that deliver a resource how it is: kstatus, which Flux
// and others wait with, and Argo CD, which runs a script.
//
// Input is an object as JSON has it. It reaches no cluster.
package health

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Argo CD's words for the health of a resource.
const (
	Healthy     = "Healthy"
	Progressing = "Progressing"
	Degraded    = "Degraded"
	Suspended   = "Suspended"
)

// scriptLimit is how long Argo CD lets a script run.
const scriptLimit = time.Second

// Answer is what a tool says of an object.
type Answer struct{ Status, Message string }

// KStatus is the answer of kstatus: InProgress, Current, Failed or Terminating.
func KStatus(object any) (Answer, error) {
	u, err := content(object)
	if err != nil {
		return Answer{}, err
	}
	result, err := status.Compute(&unstructured.Unstructured{Object: u})
	if err != nil {
		return Answer{}, fmt.Errorf("kstatus: %w", err)
	}
	return Answer{result.Status.String(), result.Message}, nil
}

// InArgo is the word Argo CD has for an answer of kstatus; "" where it has none.
func InArgo(status string) string {
	return map[string]string{"Current": Healthy, "Failed": Degraded, "InProgress": Progressing, "Terminating": Progressing}[status]
}

// Script is a health check of Argo CD.
type Script string

// Shipped reads the script of this repository, whose root is given.
func Shipped(root string) (Script, error) {
	raw, err := os.ReadFile(filepath.Join(root, "kustomize", "gitops", "argocd", "health.lua"))
	return Script(raw), err
}

// Check runs the script the way Argo CD does, and with less: nothing but the base and
// the table functions, for at most a second, with the object as `obj`.
func (s Script) Check(object any) (Answer, error) {
	u, err := content(object)
	if err != nil {
		return Answer{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), scriptLimit)
	defer cancel()
	vm := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer vm.Close()
	vm.SetContext(ctx)
	for name, open := range map[string]lua.LGFunction{lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable} {
		if err := vm.CallByParam(lua.P{Fn: vm.NewFunction(open), Protect: true}, lua.LString(name)); err != nil {
			return Answer{}, fmt.Errorf("open %q: %w", name, err)
		}
	}
	vm.SetGlobal("obj", value(vm, u))
	if err := vm.DoString(string(s)); err != nil {
		return Answer{}, fmt.Errorf("health check: %w", err)
	}
	result, ok := vm.Get(-1).(*lua.LTable)
	if !ok {
		return Answer{}, errors.New("health check: it returned no table")
	}
	out := Answer{lua.LVAsString(result.RawGetString("status")), lua.LVAsString(result.RawGetString("message"))}
	if !slices.Contains([]string{Healthy, Progressing, Degraded, Suspended}, out.Status) {
		return Answer{}, fmt.Errorf("health check: Argo CD knows no status %q", out.Status)
	}
	return out, nil
}

// content is an object in the shape clients of the API server decode it to.
func content(object any) (map[string]any, error) {
	raw, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(raw); err != nil {
		return nil, err
	}
	return u.Object, nil
}

// value makes a Lua value of a JSON one.
func value(vm *lua.LState, v any) lua.LValue {
	switch v := v.(type) {
	case bool:
		return lua.LBool(v)
	case int64:
		return lua.LNumber(v)
	case float64:
		return lua.LNumber(v)
	case string:
		return lua.LString(v)
	case []any:
		t := vm.CreateTable(len(v), 0)
		for _, item := range v {
			t.Append(value(vm, item))
		}
		return t
	case map[string]any:
		t := vm.CreateTable(0, len(v))
		for key, item := range v {
			t.RawSetString(key, value(vm, item))
		}
		return t
	default:
		return lua.LNil
	}
}

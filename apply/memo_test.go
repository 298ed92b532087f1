package apply

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/c5c3/nova-operator/apply/diff"
	"github.com/c5c3/nova-operator/render"
)

func TestMemo_IsBoundedAndForgets(t *testing.T) {
	m := newMemo(10)
	owner := func(i int) Owner { return Owner{Name: fmt.Sprint(i)} }
	key := func(i int) render.Key { return render.Key{Name: fmt.Sprint(i)} }
	for o := range 5 {
		for k := range 4 {
			m.put(owner(o), key(k), entry{})
		}
	}
	if m.size > 10 || len(m.owners) != 2 {
		t.Errorf("%d entries of %d owners", m.size, len(m.owners))
	}
	if _, ok := m.get(owner(4), key(3)); !ok {
		t.Error("the newest owner was forgotten")
	}
	m.retain(owner(4), map[render.Key]bool{key(1): true})
	if m.size != 5 {
		t.Errorf("%d entries after retain", m.size)
	}
	m.drop(owner(4), key(1))
	m.forget(owner(3))
	if m.size != 0 {
		t.Errorf("%d entries after forget", m.size)
	}
	for k := range 20 { // a single owner may exceed the limit: its own pass needs it
		m.put(owner(1), key(k), entry{})
	}
	if m.size != 20 {
		t.Errorf("%d entries", m.size)
	}
}

func TestMemo_KeepsOwnersApart(t *testing.T) {
	key := render.Key{Name: "config"}
	owner := Owner{GroupVersionKind: configMapKind, Namespace: "a", Name: "nova", UID: "u"}
	m := newMemo(0)
	m.put(owner, key, entry{})
	for name, tc := range map[string]struct {
		change func(*Owner)
		want   bool
	}{
		"itself":                       {func(*Owner) {}, true},
		"with more namespaces":         {func(o *Owner) { o.Namespaces = []string{"b"} }, true},
		"of another kind":              {func(o *Owner) { o.Kind = "Nova" }, false},
		"of another namespace":         {func(o *Owner) { o.Namespace = "b" }, false},
		"of another name":              {func(o *Owner) { o.Name = "other" }, false},
		"of another incarnation":       {func(o *Owner) { o.UID = "v" }, false},
		"whose children lie elsewhere": {func(o *Owner) { o.Remote = true }, false},
	} {
		o := owner
		tc.change(&o)
		if _, got := m.get(o, key); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestEntry_Judge(t *testing.T) {
	live := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"uid": "u", "resourceVersion": "10", "managedFields": []any{map[string]any{
			"manager": render.FieldOwner, "operation": "Apply", "apiVersion": "v1",
			"fieldsV1": map[string]any{"f:spec": map[string]any{"f:text": map[string]any{}}},
		}}},
		"spec": map[string]any{"text": "a"},
	}}
	sum := diff.DigestOf("desired")
	e := entryOf(sum, live)
	with := func(change func(*unstructured.Unstructured)) *unstructured.Unstructured {
		u := live.DeepCopy()
		change(u)
		return u
	}
	cases := map[string]struct {
		sum  diff.Digest
		live *unstructured.Unstructured
		want verdict
	}{
		"the answer itself":      {sum, live, same},
		"another payload":        {diff.DigestOf("other"), live, unknown},
		"a later status":         {sum, with(func(u *unstructured.Unstructured) { u.SetResourceVersion("11") }), same},
		"an older cache":         {sum, with(func(u *unstructured.Unstructured) { u.SetResourceVersion("9"); u.Object["spec"] = nil }), lagging},
		"a changed field":        {sum, with(func(u *unstructured.Unstructured) { u.SetResourceVersion("11"); u.Object["spec"] = nil }), drifted},
		"another incarnation":    {sum, with(func(u *unstructured.Unstructured) { u.SetUID("v") }), unknown},
		"versions without order": {sum, with(func(u *unstructured.Unstructured) { u.SetResourceVersion("x") }), same},
		"changed, without order": {sum, with(func(u *unstructured.Unstructured) { u.SetResourceVersion("x"); u.Object["spec"] = nil }), drifted},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := e.judge(tc.sum, tc.live); got != tc.want {
				t.Errorf("verdict %d, want %d", got, tc.want)
			}
		})
	}
}

package nova

import (
	"os"
	"reflect"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render"
	"github.com/c5c3/nova-operator/render/facts"
	"github.com/c5c3/nova-operator/render/foresee"
)

// mark is part of every random credential and of nothing else.
const mark = "hunter2"

var (
	randomStrings = rapid.OneOf(
		rapid.SampledFrom([]string{
			"", " ", "nova", "Nova", "nova_api", "a.b", "-", "_", "$x", "${x}", "%(x)s", "a\nb", "\r", "\x00", "\xff", "é", "a,b", "a=b", "[x]",
			"https://a/", "http://[::1]:99999", "://", "rabbit://u:p@h:1/", "2026.1", "2025.2", "2026.3", "x-y", "json", "text", "disabled",
			"verify-full", "Dynamic", "Static", "SecretStore", "@daily", "/", "nova-compute-config", "/\\", "{}", "DEFAULT", "vnc", "debug",
		}),
		rapid.String(),
	)
	randomNumbers    = rapid.SampledFrom([]int64{0, 1, -1, 2, 3, 30, 65535, 65536, 1 << 31, -1 << 31, 1<<31 - 1, 1<<63 - 1, -1 << 63})
	randomQuantities = rapid.SampledFrom([]string{"0", "1", "-1", "100m", "1Gi", "0.5", "1e3", "9223372036854775807", "1n"})
	// randomCredentials hold every character class that some reader misreads. None has
	// the mark as a URL's scheme, which is the one part of a URL that is named.
	randomCredentials = rapid.Custom(func(t *rapid.T) string {
		awkward := rapid.SampledFrom(append(awkwardValues, "")).Draw(t, "awkward")
		return rapid.SampledFrom([]string{
			mark + awkward, awkward + mark, "rabbit://" + mark + ":" + mark + "@" + mark + ":5672/" + awkward,
			"rabbit://u:" + mark + "@h/" + awkward, "amqp://" + mark + awkward,
		}).Draw(t, "credential")
	})
)

// randomize fills a value with whatever its type can hold. A field changes when as many
// coins as rarely says show heads, so 0 changes every one. Coins, because rapid's
// numbers are biased towards small ones; and a failing input shrinks to few changes.
func randomize(t *rapid.T, v reflect.Value, rarely, depth int) {
	change := func() bool {
		for range rarely {
			if !rapid.Bool().Draw(t, "change") {
				return false
			}
		}
		return true
	}
	switch special := v.Addr().Interface().(type) {
	case *render.Sensitive:
		if change() {
			*special = render.Sensitive(randomCredentials.Draw(t, "credential"))
		}
		return
	case *resource.Quantity:
		if change() {
			*special = resource.MustParse(randomQuantities.Draw(t, "quantity"))
		}
		return
	case *metav1.Time:
		*special = metav1.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "time"), 0)
		return
	case *time.Time:
		*special = time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "time"), 0).UTC()
		return
	case *intstr.IntOrString:
		*special = intstr.Parse(randomStrings.Draw(t, "int or string"))
		return
	case *v1alpha1.ConfigValue:
		if change() {
			values := rapid.SliceOfN(randomStrings, 0, 3).Draw(t, "values")
			*special = v1alpha1.ConfigValue{Values: values, List: len(values) != 1 || rapid.Bool().Draw(t, "list")}
		}
		return
	case *metav1.TypeMeta, *metav1.ObjectMeta:
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				randomize(t, v.Field(i), rarely, depth+1)
			}
		}
	case reflect.Pointer:
		if change() && rapid.IntRange(0, depth).Draw(t, "nil") > 2 {
			v.SetZero()
			return
		}
		if v.IsNil() {
			if !change() {
				return
			}
			v.Set(reflect.New(v.Type().Elem()))
			rarely = 0
		}
		randomize(t, v.Elem(), rarely, depth+1)
	case reflect.Slice:
		if change() {
			v.Set(reflect.MakeSlice(v.Type(), rapid.IntRange(0, 2).Draw(t, "items"), 2))
			rarely = 0
		}
		for i := range v.Len() {
			randomize(t, v.Index(i), rarely, depth+1)
		}
	case reflect.Map:
		randomizeMap(t, v, rarely, depth, change)
	case reflect.String:
		if change() {
			v.SetString(randomStrings.Draw(t, "string"))
		}
	case reflect.Bool:
		if change() {
			v.SetBool(rapid.Bool().Draw(t, "bool"))
		}
	case reflect.Int, reflect.Int32, reflect.Int64:
		if change() {
			v.SetInt(randomNumbers.Draw(t, "number"))
		}
	default:
		t.Fatalf("randomize knows no %s", v.Type())
	}
}

// randomizeMap changes the values of a map, and drops and adds keys.
func randomizeMap(t *rapid.T, v reflect.Value, rarely, depth int, change func() bool) {
	if v.IsNil() {
		if !change() {
			return
		}
		v.Set(reflect.MakeMap(v.Type()))
	}
	keys := v.MapKeys()
	sortValues(keys)
	for _, key := range keys {
		if change() && rapid.Bool().Draw(t, "drop") {
			v.SetMapIndex(key, reflect.Value{})
			continue
		}
		value := reflect.New(v.Type().Elem()).Elem()
		value.Set(v.MapIndex(key))
		randomize(t, value, rarely, depth+1)
		v.SetMapIndex(key, value)
	}
	if change() {
		for range rapid.IntRange(0, 2).Draw(t, "add") {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			key.SetString(randomStrings.Draw(t, "key"))
			randomize(t, value, 0, depth+1)
			v.SetMapIndex(key, value)
		}
	}
}

func sortValues(keys []reflect.Value) {
	for i := range keys {
		for j := i; j > 0 && keys[j].String() < keys[j-1].String(); j-- {
			keys[j], keys[j-1] = keys[j-1], keys[j]
		}
	}
}

// randomInput is an observation and a Nova: made up from nothing, or a fixture in a
// settled world with a few differences. The names of Nova and namespace are valid.
func randomInput(t *rapid.T, tb testing.TB) Input {
	folders, err := os.ReadDir(fixtures)
	if err != nil {
		tb.Fatal(err)
	}
	in := settledFixture(tb, rapid.SampledFrom(folders).Draw(t, "fixture").Name())
	rarely := rapid.SampledFrom([]int{0, 2, 6, 7, 8}).Draw(t, "rarely")
	for _, part := range []any{&in.Nova.Spec, &in.Nova.Status, &in.Observed, &in.Settings} {
		randomize(t, reflect.ValueOf(part).Elem(), rarely, 0)
	}
	if rapid.IntRange(0, 7).Draw(t, "target cluster") != 7 {
		in.Observed.TargetCluster = ""
	}
	if rapid.Bool().Draw(t, "open the first gates") {
		in.Settings.NamespaceScoped = false
		in.Observed = in.Observed.clone()
		in.assumeInputs()
	}
	in.Nova.Name = rapid.StringMatching(`[a-z]([a-z0-9-]{0,39}[a-z0-9])?`).Draw(t, "name")
	if rapid.Bool().Draw(t, "keep the name") {
		in.Nova.Name = "nova"
	}
	return in
}

// settled are the worlds of the fixtures that were settled already, by name. known are the
// canonical forms of the objects decided about: read only.
var (
	settled = map[string]Input{}
	known   = render.Forms{}
)

// settledFixture is a fixture's Nova in a world where everything came up, with marked
// credentials. It may be written to.
func settledFixture(tb testing.TB, name string) Input {
	tb.Helper()
	if _, ok := settled[name]; !ok {
		settled[name] = settle(loadFixture(tb, name))
	}
	return copyOf(settled[name])
}

func settle(f fixture) Input {
	in := f.in
	in.Observed = in.Observed.clone()
	if f.settle {
		in.assumeInputs()
		world := in.clone()
		foresee.Run(world)
		in = *world
	}
	for name, data := range in.Observed.Secrets {
		marked := facts.SecretData{}
		for key, value := range data {
			if key != "host" && key != "port" && key != "transport_url" && key != "url" {
				value += mark
			}
			marked[key] = value
		}
		in.Observed.Secrets[name] = marked
	}
	return in
}

// copyOf is an independent copy of an input, to write to. Its decisions share no forms.
func copyOf(in Input) Input {
	return Input{Nova: in.Nova.DeepCopy(), Observed: copyValue(reflect.ValueOf(in.Observed)).Interface().(Observed), Settings: in.Settings}
}

// copyValue copies what is behind pointers, maps and slices as well. Unexported fields are
// those of values that nobody changes, as of a time.
func copyValue(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			out.Set(reflect.New(v.Type().Elem()))
			out.Elem().Set(copyValue(v.Elem()))
		}
	case reflect.Slice:
		if !v.IsNil() {
			out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		}
		for i := range v.Len() {
			out.Index(i).Set(copyValue(v.Index(i)))
		}
	case reflect.Map:
		if !v.IsNil() {
			out.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
		}
		for _, key := range v.MapKeys() {
			out.SetMapIndex(key, copyValue(v.MapIndex(key)))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if out.Field(i).CanSet() {
				out.Field(i).Set(copyValue(v.Field(i)))
			}
		}
	default: // a copy already
	}
	return out
}

package main

import (
	"bytes"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/c5c3/nova-operator/api/v1alpha1"
)

// namespace is where the fixture's Nova lives.
const namespace = "openstack"

// fixture is fixtures/nova/real.
type fixture struct {
	nova    *unstructured.Unstructured
	secrets map[string]*unstructured.Unstructured
}

// login is an account.
type login struct{ Username, Password string }

// schema is a login and the database it is for.
type schema struct {
	login
	Schema string
}

// credentials are what the services must know for the fixture to work.
type credentials struct {
	APIDatabase, Database schema
	Bus                   login
	BusVHost              string
	ServiceUser           login
	MetadataSecret        string
}

func readFixture(root string) (*fixture, error) {
	file := filepath.Join(root, "fixtures", "nova", "real", "nova.yaml")
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	f := &fixture{secrets: map[string]*unstructured.Unstructured{}}
	for _, document := range bytes.Split(data, []byte("\n---\n")) {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, &o.Object); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if o.GetKind() == "Secret" {
			f.secrets[o.GetName()] = o
		} else {
			f.nova = o
		}
	}
	return f, nil
}

// objects are all of the fixture, the Nova last.
func (f *fixture) objects() []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for _, o := range f.secrets {
		all = append(all, o)
	}
	return append(all, f.nova)
}

// release has the Nova run an image by its release's name.
func (f *fixture) release(name string) error {
	return unstructuredSet(f.nova, map[string]string{"spec.openStackRelease": name, "spec.image.tag": name})
}

func unstructuredSet(o *unstructured.Unstructured, values map[string]string) error {
	for path, value := range values {
		if err := unstructured.SetNestedField(o.Object, value, strings.Split(path, ".")...); err != nil {
			return fmt.Errorf("set %s: %w", path, err)
		}
	}
	return nil
}

// imageName is the name of the fixture's image at a tag.
func (f *fixture) imageName(tag string) string {
	repository, _, _ := unstructured.NestedString(f.nova.Object, "spec", "image", "repository")
	return repository + ":" + tag
}

// credentials reads the fixture as the person would who sets up the services for it. One
// trailing line break of a password belongs to the file, not to the password.
func (f *fixture) credentials() (credentials, error) {
	var c credentials
	nova := &v1alpha1.Nova{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(f.nova.Object, nova); err != nil {
		return c, fmt.Errorf("read the Nova: %w", err)
	}
	value := func(ref v1alpha1.SecretRefSpec, key string) string {
		secret := &corev1.Secret{}
		if s := f.secrets[ref.Name]; s != nil {
			_ = runtime.DefaultUnstructuredConverter.FromUnstructured(s.Object, secret)
		}
		return strings.TrimSuffix(secret.StringData[key], "\n")
	}
	spec := nova.Spec
	c.APIDatabase = schema{login{value(spec.APIDatabase.SecretRef, "username"), value(spec.APIDatabase.SecretRef, "password")}, spec.APIDatabase.Database}
	c.Database = schema{login{value(spec.Database.SecretRef, "username"), value(spec.Database.SecretRef, "password")}, spec.Database.Database}
	c.ServiceUser = login{"nova", value(spec.ServiceUser.SecretRef, "password")}
	c.MetadataSecret = value(spec.Metadata.SharedSecretRef, "shared_secret")
	bus, err := url.Parse(value(*spec.Messaging.SecretRef, v1alpha1.DefaultTransportURLKey))
	if err != nil {
		return c, fmt.Errorf("read the transport URL of the fixture: %w", err)
	}
	c.Bus.Username = bus.User.Username()
	c.Bus.Password, _ = bus.User.Password()
	c.BusVHost = strings.TrimPrefix(bus.Path, "/")
	return c, nil
}

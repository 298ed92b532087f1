package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// cloud is a person's way to the APIs: a token and the addresses of the catalog.
type cloud struct {
	token   string
	project string
}

// signIn asks Keystone for a token of a project.
func signIn(ctx context.Context, l login, project string) (*cloud, error) {
	domain := map[string]any{"name": "Default"}
	code, header, body, err := request{
		method: http.MethodPost, url: serviceURL("keystone", portKeystone) + "/v3/auth/tokens",
		body: map[string]any{"auth": map[string]any{
			"identity": map[string]any{"methods": []any{"password"}, "password": map[string]any{
				"user": map[string]any{"name": l.Username, "password": l.Password, "domain": domain},
			}},
			"scope": map[string]any{"project": map[string]any{"name": project, "domain": domain}},
		}},
	}.do(ctx)
	if err != nil {
		return nil, fmt.Errorf("sign in as %s: %w", l.Username, err)
	}
	if code != http.StatusCreated {
		return nil, fmt.Errorf("sign in as %s: %d %s", l.Username, code, body)
	}
	var answer struct {
		Token struct{ Project struct{ ID string } }
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, fmt.Errorf("sign in as %s: %w", l.Username, err)
	}
	return &cloud{token: header.Get("X-Subject-Token"), project: answer.Token.Project.ID}, nil
}

// call asks an API and decodes the answer into out unless that is nil. A status other
// than those of a success is an error.
func (c *cloud) call(ctx context.Context, method, url string, body, out any) error {
	code, _, data, err := request{method: method, url: url, body: body, header: map[string]string{
		"X-Auth-Token": c.token, "OpenStack-API-Version": "compute 2.93", "X-OpenStack-Nova-API-Version": "2.93",
	}}.do(ctx)
	if err != nil {
		return err
	}
	if code >= http.StatusMultipleChoices {
		return fmt.Errorf("%s %s: %d %s", method, url, code, tail(data, 3))
	}
	if out == nil || len(data) == 0 {
		return nil
	}
	return json.Unmarshal(data, out)
}

// compute calls Nova's API.
func (c *cloud) compute(ctx context.Context, method, path string, body, out any) error {
	return c.call(ctx, method, serviceURL("nova", "8774")+"/v2.1"+path, body, out)
}

// catalogue makes projects, accounts and the catalog in Keystone.
func catalogue(ctx context.Context, serviceUser login) error {
	admin, err := signIn(ctx, login{"admin", adminPassword}, "admin")
	if err != nil {
		return err
	}
	identity := serviceURL("keystone", portKeystone) + "/v3"
	make := func(kind string, fields map[string]any) (string, error) {
		var answer map[string]struct{ ID string }
		if err := admin.call(ctx, http.MethodPost, identity+"/"+kind+"s", map[string]any{kind: fields}, &answer); err != nil {
			return "", fmt.Errorf("make the %s %v: %w", kind, fields["name"], err)
		}
		return answer[kind].ID, nil
	}
	project, err := make("project", map[string]any{"name": "service", "domain_id": "default"})
	if err != nil {
		return err
	}
	var roles struct{ Roles []struct{ ID, Name string } }
	if err := admin.call(ctx, http.MethodGet, identity+"/roles", nil, &roles); err != nil {
		return err
	}
	for _, l := range []login{serviceUser, {"placement", placementPassword}} {
		user, err := make("user", map[string]any{"name": l.Username, "password": l.Password, "domain_id": "default"})
		if err != nil {
			return err
		}
		for _, role := range roles.Roles {
			if role.Name != "admin" && role.Name != "service" {
				continue
			}
			url := fmt.Sprintf("%s/projects/%s/users/%s/roles/%s", identity, project, user, role.ID)
			if err := admin.call(ctx, http.MethodPut, url, nil, nil); err != nil {
				return err
			}
		}
	}
	for _, s := range []struct{ kind, name, url string }{
		{"placement", "placement", serviceURL("placement", portPlacement)},
		{"compute", "nova", serviceURL("nova", "8774") + "/v2.1"},
		{"image", "glance", serviceURL("glance", portGlance)},
		{"network", "neutron", serviceURL("neutron", portNeutron)},
	} {
		service, err := make("service", map[string]any{"name": s.name, "type": s.kind})
		if err != nil {
			return err
		}
		for _, face := range []string{"public", "internal", "admin"} {
			if _, err := make("endpoint", map[string]any{"service_id": service, "interface": face, "region_id": region, "url": s.url}); err != nil {
				return err
			}
		}
	}
	return nil
}

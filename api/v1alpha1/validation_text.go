// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// lineInNovaConf is why a text may not have a line break.
const lineInNovaConf = "value must not contain a newline or carriage return: it is rendered verbatim into nova.conf and nova-compute.conf, so a newline injects arbitrary config lines"

// validateRenderedText guards free texts that become lines of a configuration file.
func validateRenderedText(nova *Nova, spec *field.Path) field.ErrorList {
	user := spec.Child("serviceUser")
	var errs field.ErrorList
	for _, text := range []struct {
		path  *field.Path
		value string
	}{
		{spec.Child("region"), nova.Spec.Region},
		{user.Child("username"), nova.Spec.ServiceUser.Username},
		{user.Child("projectName"), nova.Spec.ServiceUser.ProjectName},
		{user.Child("userDomainName"), nova.Spec.ServiceUser.UserDomainName},
		{user.Child("projectDomainName"), nova.Spec.ServiceUser.ProjectDomainName},
	} {
		errs = append(errs, noLineBreak(text.path, text.value, lineInNovaConf)...)
	}
	if gateway := nova.Spec.ConsoleProxy.Gateway; gateway != nil {
		errs = append(errs, noLineBreak(spec.Child("consoleProxy", "gateway", "hostname"), gateway.Hostname, lineInNovaConf)...)
	}
	return errs
}

func validateKeystone(nova *Nova, spec *field.Path) field.ErrorList {
	path := spec.Child("keystoneEndpoint")
	errs := required(path, nova.Spec.KeystoneEndpoint, "keystoneEndpoint must be set")
	errs = append(errs, validateURL(path, nova.Spec.KeystoneEndpoint)...)
	return append(errs, validateURL(spec.Child("keystonePublicEndpoint"), nova.Spec.KeystonePublicEndpoint)...)
}

func validateEndpoints(nova *Nova, spec *field.Path) field.ErrorList {
	endpoints, path := &nova.Spec.Endpoints, spec.Child("endpoints")
	var errs field.ErrorList
	for _, service := range []struct{ name, override string }{
		{"placement", endpoints.Placement.Override},
		{"neutron", endpoints.Neutron.Override},
		{"glance", endpoints.Glance.Override},
		{"cinder", endpoints.Cinder.Override},
		{"barbican", endpoints.Barbican.Override},
	} {
		// Nova fills the project into the template of the volume service.
		override := strings.NewReplacer("%(project_id)s", "p", "%(tenant_id)s", "p").Replace(service.override)
		errs = append(errs, validateURL(path.Child(service.name, "override"), override)...)
	}
	return errs
}

func validateRemoteCompute(nova *Nova, spec *field.Path) field.ErrorList {
	remote, path := nova.Spec.RemoteCompute, spec.Child("remoteCompute")
	if remote == nil {
		return nil
	}
	endpoint := path.Child("keystoneEndpoint")
	errs := required(endpoint, remote.KeystoneEndpoint, "keystoneEndpoint must be set")
	shape := validateURL(endpoint, remote.KeystoneEndpoint)
	if len(shape) == 0 && strings.HasPrefix(strings.ToLower(remote.KeystoneEndpoint), "http:") {
		shape = append(shape, field.Invalid(endpoint, remote.KeystoneEndpoint,
			"must use scheme https: every compute on another cluster sends the nova service-user password to this URL across a cluster boundary"))
	}
	errs = append(errs, shape...)
	errs = append(errs, required(path.Child("transportURLSecretRef", "name"), remote.TransportURLSecretRef.Name,
		"transportURLSecretRef.name must be set: it carries the transport URL of the broker's external listener")...)
	if nova.Spec.Messaging.TLS == nil {
		errs = append(errs, field.Required(spec.Child("messaging", "tls"),
			"is required when spec.remoteCompute is set: a compute on another cluster verifies the broker against this CA bundle"))
	}
	return errs
}

// validateURL wants a URL somebody can connect to. An empty one is not set.
func validateURL(path *field.Path, value string) field.ErrorList {
	if value == "" {
		return nil
	}
	parsed, err := url.Parse(value)
	switch {
	case err != nil:
		return field.ErrorList{field.Invalid(path, value, "must be a valid URL: "+err.Error())}
	case parsed.Scheme != "http" && parsed.Scheme != "https":
		return field.ErrorList{field.Invalid(path, value, "scheme must be http or https")}
	case parsed.Hostname() == "":
		return field.ErrorList{field.Invalid(path, value, "URL must include a host")}
	}
	return nil
}

func validateGateways(nova *Nova, spec *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, block := range []struct {
		path    *field.Path
		gateway *GatewaySpec
	}{
		{spec.Child("gateway"), nova.Spec.Gateway},
		{spec.Child("metadata", "gateway"), nova.Spec.Metadata.Gateway},
		{spec.Child("consoleProxy", "gateway"), nova.Spec.ConsoleProxy.Gateway},
	} {
		if block.gateway == nil {
			continue
		}
		configured := " must be set when " + block.path.String() + " is configured"
		errs = append(errs, required(block.path.Child("hostname"), block.gateway.Hostname, "hostname"+configured)...)
		errs = append(errs, required(block.path.Child("parentRef", "name"), block.gateway.ParentRef.Name, "parentRef.name"+configured)...)
	}
	return errs
}

// logLevels are the levels of a logger.
var logLevels = []string{"DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"}

func validateLogging(nova *Nova, spec *field.Path) field.ErrorList {
	logging, path := nova.Spec.Logging, spec.Child("logging")
	if logging == nil {
		return nil
	}
	errs := oneOf(path.Child("format"), logging.Format, LoggingFormatText, LoggingFormatJSON)
	errs = append(errs, oneOf(path.Child("level"), logging.Level, logLevels...)...)
	for _, logger := range slices.Sorted(maps.Keys(logging.PerLoggerLevels)) {
		level, at := logging.PerLoggerLevels[logger], path.Child("perLoggerLevels").Key(logger)
		errs = append(errs, required(at, logger, "logger name must not be empty")...)
		errs = append(errs, noLineBreak(at, logger,
			"logger name must not contain a newline or carriage return: it is rendered verbatim into nova.conf, so a newline injects arbitrary config lines")...)
		if !slices.Contains(logLevels, level) {
			errs = append(errs, field.Invalid(at, level, "level must be one of "+strings.Join(logLevels, ", ")))
		}
	}
	return errs
}

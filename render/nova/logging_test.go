package nova

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/c5c3/nova-operator/api/v1alpha1"
	"github.com/c5c3/nova-operator/render/ini/initest"
)

// levelsScript configures Python's logging as oslo.log does and prints the effective
// levels of loggers, but without the formatter, which is oslo.log's.
const levelsScript = `
import io, json, logging, logging.config, sys
given = json.load(sys.stdin)
text = given["Text"].replace("class = oslo_log.formatters.JSONFormatter", "")
logging.config.fileConfig(io.StringIO(text), disable_existing_loggers=False)
print(json.dumps({name: logging.getLevelName(logging.getLogger(name).getEffectiveLevel()) for name in given["Loggers"]}))
`

func TestLogging_JSONKeepsLibrariesQuietAndTakesLevels(t *testing.T) {
	cases := map[string]struct {
		logging v1alpha1.LoggingSpec
		want    map[string]string
	}{
		"libraries are as quiet as with text": {
			v1alpha1.LoggingSpec{Level: "INFO"},
			map[string]string{"nova.compute": "INFO", "sqlalchemy.orm.mapper.Mapper": "WARNING", "amqp": "WARNING", "oslo.messaging._drivers": "INFO"},
		},
		"the spec's levels win": {
			v1alpha1.LoggingSpec{Level: "WARNING", PerLoggerLevels: map[string]string{"sqlalchemy": "DEBUG", "nova.virt": "ERROR", "100%, [odd]": "INFO"}},
			map[string]string{"nova.compute": "WARNING", "sqlalchemy.engine": "DEBUG", "nova.virt.fake": "ERROR", "amqp": "WARNING", "100%, [odd]": "INFO"},
		},
		"the root logger is one": {
			v1alpha1.LoggingSpec{Level: "INFO", PerLoggerLevels: map[string]string{"root": "ERROR"}},
			map[string]string{"nova": "ERROR", "amqp": "WARNING"},
		},
		"debug is": {
			v1alpha1.LoggingSpec{Level: "INFO", Debug: new(true)},
			map[string]string{"nova": "DEBUG", "amqp": "WARNING"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.logging.Debug == nil {
				tc.logging.Debug = new(false)
			}
			n := &v1alpha1.Nova{Spec: v1alpha1.NovaSpec{Logging: &tc.logging}}
			in := struct {
				Text    string
				Loggers []string
			}{Text: loggingINI(n).String()}
			for logger := range tc.want {
				in.Loggers = append(in.Loggers, logger)
			}
			var got map[string]string
			initest.Python(t, "logging", levelsScript, nil, in, &got)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// default_log_levels replaces nova's own list: naming one logger must not wake the others.
func TestLogging_TextKeepsLibrariesQuietBesideTheSpec(t *testing.T) {
	n := &v1alpha1.Nova{Spec: v1alpha1.NovaSpec{Logging: &v1alpha1.LoggingSpec{PerLoggerLevels: map[string]string{"nova": "DEBUG", "amqp": "INFO"}}}}
	levels := loggerLevels(n)
	for logger, want := range map[string]string{"nova": "DEBUG", "amqp": "INFO", "sqlalchemy": "WARNING"} {
		if levels[logger] != want {
			t.Errorf("%s is at %q, want %s", logger, levels[logger], want)
		}
	}
}

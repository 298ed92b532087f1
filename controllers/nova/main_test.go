package nova_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/zap/zapcore"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/c5c3/nova-operator/test/cluster"
	"github.com/c5c3/nova-operator/test/world"
)

func TestMain(m *testing.M) {
	world.Parallel(8)
	// One level deeper the work queue logs items it has not locked; from 8 on client-go
	// writes the bodies of requests.
	logger := zap.New(zap.WriteTo(logs), zap.Level(zapcore.Level(-4)))
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)
	cluster.Main(m, options())
}

// options are those of every cluster.
func options() cluster.Options { return cluster.Options{CRDs: world.Definitions("../..")} }

// logs is what every manager and client of this binary logged.
var logs = &logbook{}

type logbook struct {
	mu    sync.Mutex
	lines []string
	// leaks are the lines with a credential.
	leaks []string
}

// Write takes one line.
func (l *logbook) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, string(line))
	if len(world.Leaks(string(line))) > 0 {
		l.leaks = append(l.leaks, string(line))
	}
	return len(line), nil
}

// leaked returns the lines with a credential.
func (l *logbook) leaked() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.leaks)
}

// mentioning returns the lines with all of the texts.
func (l *logbook) mentioning(texts ...string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []string
next:
	for _, line := range l.lines {
		for _, text := range texts {
			if !strings.Contains(line, text) {
				continue next
			}
		}
		found = append(found, line)
	}
	return found
}

// Command promql answers two questions with the engine of Prometheus, from standard
// input to standard output as JSON:
//
//	promql eval    what do queries give on scraped metrics?
//	promql test    do the alerts of rule files fire as unit tests in promtool's
//	               format say? Prints what differs, a line each.
//
// It stores samples in memory and knows no metric.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "promql:", err)
		os.Exit(1)
	}
}

func run(args []string, in io.Reader, out io.Writer) error {
	if len(args) != 1 {
		return errors.New("usage: promql eval|test")
	}
	switch args[0] {
	case "eval":
		var request evalRequest
		if err := decode(in, &request); err != nil {
			return err
		}
		answers, err := eval(request)
		if err != nil {
			return err
		}
		return json.NewEncoder(out).Encode(answers)
	case "test":
		var request testRequest
		if err := decode(in, &request); err != nil {
			return err
		}
		report, err := test(request)
		if err != nil {
			return err
		}
		return json.NewEncoder(out).Encode(report)
	default:
		return fmt.Errorf("unknown command %q", args[0])
	}
}

func decode(in io.Reader, into any) error {
	decoder := json.NewDecoder(in)
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

// language is PromQL without experimental parts.
var language = parser.NewParser(parser.Options{})

func newEngine() *promql.Engine {
	return promql.NewEngine(promql.EngineOpts{
		MaxSamples: 1_000_000, Timeout: time.Minute, LookbackDelta: 5 * time.Minute,
		EnableAtModifier: true, EnableNegativeOffset: true, Parser: language,
	})
}

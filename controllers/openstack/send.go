package openstack

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"

	"github.com/c5c3/nova-operator/render/openstack"
)

// maxError is how much of an answer that is no success is kept, in bytes.
const maxError = 512

// send makes one request. A failure is an answer, too.
func send(ctx context.Context, web *http.Client, r openstack.Request) openstack.Answer {
	req, err := http.NewRequestWithContext(ctx, r.Method, r.URL, strings.NewReader(r.Body))
	if err != nil {
		return failed(err)
	}
	resp, err := web.Do(req)
	if err != nil {
		return failed(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxError))
	if err != nil {
		return failed(err)
	}
	out := openstack.Answer{Code: resp.StatusCode}
	if !out.OK() {
		out.Body = string(body)
	}
	return out
}

// failed classifies a request without an answer.
func failed(err error) openstack.Answer {
	var dns *net.DNSError
	class := openstack.ClassOther
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		class = openstack.ClassTimeout
	case errors.As(err, &dns):
		class = openstack.ClassUnresolved
	case errors.Is(err, syscall.ECONNREFUSED):
		class = openstack.ClassRefused
	}
	return openstack.Answer{Class: class, Error: err.Error()}
}

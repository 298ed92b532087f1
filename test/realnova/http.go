package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// httpClient opens a connection for each request, as clients of a cloud do who come by
// now and then: each then meets the endpoint the Service picks.
var httpClient = &http.Client{Timeout: 70 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

// request is one call of an API.
type request struct {
	method, url string
	header      map[string]string
	body        any
}

// do carries a request out and returns status, header and body; a status is no error.
func (r request) do(ctx context.Context) (int, http.Header, []byte, error) {
	var body io.Reader
	if r.body != nil {
		data, err := json.Marshal(r.body)
		if err != nil {
			return 0, nil, nil, err
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, r.url, body)
	if err != nil {
		return 0, nil, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	for key, value := range r.header {
		req.Header.Set(key, value)
	}
	answer, err := httpClient.Do(req)
	if err != nil {
		return 0, nil, nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, nil, nil, fmt.Errorf("%s %s: %w", r.method, r.url, err)
	}
	return answer.StatusCode, answer.Header, data, nil
}

// get asks for a page; a status that isn't a success is an error.
func get(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	code, _, _, err := request{method: http.MethodGet, url: url}.do(ctx)
	if err == nil && code >= http.StatusMultipleChoices {
		err = fmt.Errorf("GET %s: %d", url, code)
	}
	return err
}

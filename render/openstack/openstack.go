// Package openstack is the vocabulary of what a decision wants to know of OpenStack, and
// wants done there: plain data, so that a preview shows it and a test compares it.
//
// Questions are answered outside of a pass; the newest answers are part of what is
// observed. Calls are made after the set is applied, and their outcomes are folded into
// what is observed. Nothing here reaches a network.
package openstack

import (
	"net/http"
	"time"
)

// Request is one request to an OpenStack API, without a credential.
type Request struct {
	// Method is the HTTP method.
	Method string `json:"method"`
	// URL is absolute.
	URL string `json:"url"`
	// Body is the JSON that is sent; empty for none.
	Body string `json:"body,omitempty"`
}

// Question is something a decision wants to know.
type Question struct {
	// Step is the step it belongs to.
	Step string `json:"step"`
	Request
	// Words say what is asked, for a person.
	Words string `json:"words"`
	// MaxAge is how old an answer may be before it is asked for again.
	MaxAge time.Duration `json:"maxAge,omitempty"`
	// Timeout bounds the wait for the answer.
	Timeout time.Duration `json:"timeout,omitempty"`
}

// Class is the kind of failure of a request that got no answer.
type Class string

// The classes of failure.
const (
	// ClassTimeout: no answer in time.
	ClassTimeout Class = "Timeout"
	// ClassUnresolved: the host name does not resolve.
	ClassUnresolved Class = "Unresolved"
	// ClassRefused: nothing listens at the address.
	ClassRefused Class = "Refused"
	// ClassOther is every other failure.
	ClassOther Class = "Other"
)

// Answer is what came of a request. A request that failed is answered, too.
type Answer struct {
	// Code is the HTTP status; 0 when there was no answer.
	Code int `json:"code,omitempty"`
	// Body is the start of an answer that is not 2xx; empty otherwise.
	Body string `json:"body,omitempty"`
	// Class is set when there was no answer, Error is its text.
	Class Class  `json:"class,omitempty"`
	Error string `json:"error,omitempty"`
}

// OK reports whether the request was answered with success.
func (a Answer) OK() bool { return a.Code >= http.StatusOK && a.Code < http.StatusMultipleChoices }

// Call is something a decision wants done.
type Call struct {
	// Step is the step it belongs to.
	Step string `json:"step"`
	Request
	// Words say what it does, for a person.
	Words string `json:"words"`
}

// Ending is how a call ended.
type Ending string

// The endings of a call.
const (
	// Done: it changed something.
	Done Ending = "done"
	// AlreadySo: there was nothing left to do.
	AlreadySo Ending = "already so"
	// Refused: the API says no, and says it again until something else changes.
	Refused Ending = "refused"
	// Failed: there was no answer, or one that may differ the next time.
	Failed Ending = "failed"
)

// Outcome is a call that was made.
type Outcome struct {
	Call
	Ended Ending `json:"ended"`
	Answer
}

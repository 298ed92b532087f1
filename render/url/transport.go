package url

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Errors of ParseTransport and Transport.Check. None quotes the URL. Source of what
// oslo.messaging does: its RabbitMQ driver at 18.3, seen with test/realnova.
var (
	// ErrUnparsable means the text is no URL with a host.
	ErrUnparsable = errors.New("transport URL does not parse")
	// ErrNoPort means the last host names no port: Nova's cell mapping would store
	// the word None in its place.
	ErrNoPort = errors.New("the transport URL must name an explicit port: " +
		"nova expands its cell mapping from the parts of this URL, and a missing port becomes the word None")
	// ErrIPv6 means a host is an IPv6 literal: the expanded cell mapping loses its
	// brackets.
	ErrIPv6 = errors.New("the transport URL must not use an IPv6 literal host: " +
		"nova expands its cell mapping from the parts of this URL and drops the brackets; use a DNS name")
	// ErrSlash means a user or a password holds a slash. oslo.messaging takes the URL
	// apart and puts it together anew for its broker library, where it leaves slashes as
	// they are; no encoding gets one through.
	ErrSlash = errors.New("the user and the password of the transport URL must not contain a slash: " +
		"oslo.messaging passes it on unencoded, and the broker library takes what follows for the virtual host; " +
		"give the broker's user another password")
	// ErrVirtualHost means the virtual host holds what oslo.messaging passes on unencoded
	// and the broker library then takes for the end of the path or for an escape.
	ErrVirtualHost = errors.New("the virtual host of the transport URL must not contain ?, # or %: " +
		"oslo.messaging passes them on unencoded, and the broker library reads another name; rename the virtual host")
)

// SchemeError is a transport other than rabbit. It carries the scheme only.
type SchemeError struct{ Scheme string }

// Error names the scheme, never the URL.
func (e *SchemeError) Error() string {
	return fmt.Sprintf("transport URL scheme %q is not supported; use rabbit", e.Scheme)
}

// Host is one broker of a transport URL, credentials decoded.
type Host struct {
	User, Password string
	HasPassword    bool
	// Name is as written, brackets included.
	Name string
	// Port is 0 when the URL names none.
	Port int32
}

// Transport is a message bus URL taken apart.
type Transport struct {
	Hosts []Host
	// VirtualHost is decoded and without the leading slash; "" is the root vhost.
	VirtualHost string
	// Query is kept as written, apart from dollars.
	Query string
}

// ParseTransport reads a rabbit:// URL the way oslo.messaging does: several hosts
// separated by commas, each with credentials of its own, everything percent-decoded.
// It returns ErrUnparsable or a *SchemeError.
func ParseTransport(raw string) (Transport, error) {
	scheme, rest, ok := strings.Cut(strings.TrimSpace(raw), "://")
	if !ok || scheme == "" {
		return Transport{}, ErrUnparsable
	}
	if !isScheme(scheme) {
		// Whatever stands there may be part of a credential.
		return Transport{}, ErrUnparsable
	}
	if !strings.EqualFold(scheme, "rabbit") {
		return Transport{}, &SchemeError{Scheme: scheme}
	}
	rest, _, _ = strings.Cut(rest, "#")
	rest, query, _ := strings.Cut(rest, "?")
	netloc, path, _ := strings.Cut(rest, "/")
	t := Transport{VirtualHost: decode(path), Query: strings.ReplaceAll(query, "$", "%24")}
	for part := range strings.SplitSeq(netloc, ",") {
		h, err := parseHost(part)
		if err != nil {
			return Transport{}, err
		}
		t.Hosts = append(t.Hosts, h)
	}
	return t, nil
}

func isScheme(s string) bool {
	for i, c := range strings.ToLower(s) {
		if (c < 'a' || c > 'z') && (i == 0 || !strings.ContainsRune("0123456789+-.", c)) {
			return false
		}
	}
	return len(s) <= 32
}

func parseHost(part string) (Host, error) {
	var h Host
	address := part
	if at := strings.LastIndexByte(part, '@'); at >= 0 {
		user, password, has := strings.Cut(part[:at], ":")
		h.User, h.Password, h.HasPassword = decode(user), decode(password), has
		address = part[at+1:]
	}
	h.Name = address
	if colon := strings.LastIndexByte(address, ':'); colon > strings.LastIndexByte(address, ']') {
		port, err := strconv.ParseUint(address[colon+1:], 10, 16)
		if err != nil || port == 0 {
			return Host{}, ErrUnparsable
		}
		h.Name, h.Port = address[:colon], int32(port)
	}
	bare := strings.TrimSuffix(strings.TrimPrefix(h.Name, "["), "]")
	if bare == "" || strings.ContainsAny(bare, " \t@[]") {
		return Host{}, ErrUnparsable
	}
	return h, nil
}

// Check refuses what Nova's cell mapping cannot express, ErrNoPort and ErrIPv6, and what
// oslo.messaging cannot pass on to its broker library, ErrSlash and ErrVirtualHost.
func (t Transport) Check() error {
	for _, h := range t.Hosts {
		switch {
		case strings.HasPrefix(h.Name, "["):
			return ErrIPv6
		case strings.Contains(h.User+h.Password, "/"):
			return ErrSlash
		}
	}
	if strings.ContainsAny(t.VirtualHost, "?#%") {
		return ErrVirtualHost
	}
	if len(t.Hosts) == 0 || t.Port() == 0 {
		return ErrNoPort
	}
	return nil
}

// Port is the port of the last host, 0 when it names none.
func (t Transport) Port() int32 {
	if len(t.Hosts) == 0 {
		return 0
	}
	return t.Hosts[len(t.Hosts)-1].Port
}

// String is the URL with every part encoded, hosts in lower case.
func (t Transport) String() string {
	hosts := make([]string, len(t.Hosts))
	for i, h := range t.Hosts {
		var b strings.Builder
		if h.User != "" || h.HasPassword {
			b.WriteString(Encode(h.User))
			if h.HasPassword {
				b.WriteString(":" + Encode(h.Password))
			}
			b.WriteByte('@')
		}
		b.WriteString(strings.ToLower(h.Name))
		if h.Port != 0 {
			b.WriteString(":" + strconv.Itoa(int(h.Port)))
		}
		hosts[i] = b.String()
	}
	out := "rabbit://" + strings.Join(hosts, ",") + "/" + Encode(t.VirtualHost)
	if t.Query != "" {
		out += "?" + t.Query
	}
	return out
}

// Package url is the one encoder of the URLs Nova connects with: database
// connections and message bus transports.
//
// Input: parts as they are stored. Output: text that SQLAlchemy and oslo.messaging
// read back as the same parts, and that survives Nova's own template expansion
// (which splits at commas, lower-cases hosts and drops brackets). Errors never
// quote a URL.
package url

import (
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

const unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"

// Encode percent-encodes every byte but RFC 3986's unreserved characters. Go's own
// encoder leaves `$` and `,` alone, which break Nova.
func Encode(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; strings.IndexByte(unreserved, c) >= 0 {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}

// decode is Python's urllib unquote: an escape that is none stays as it is.
func decode(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if v, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(v))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// hostPort joins a host and a port, with brackets around an IPv6 literal and the
// host in lower case, as Nova's templates would render it.
func hostPort(host string, port int32) string {
	host = strings.ToLower(strings.Trim(host, "[]"))
	if addr, err := netip.ParseAddr(host); err == nil && addr.Is6() {
		return net.JoinHostPort(host, strconv.Itoa(int(port)))
	}
	return host + ":" + strconv.Itoa(int(port))
}

// Database is a connection of PyMySQL.
type Database struct {
	User, Password string
	// Host is a name, an IPv4 or an IPv6 address, with or without brackets.
	Host string
	Port int32
	// Schema matches ^[A-Za-z0-9_]+$.
	Schema string
	// Query holds further parameters. Values keep their slashes, because alembic
	// reads the URL through a parser that trips over a percent sign.
	Query map[string]string
}

// String is the SQLAlchemy URL, query parameters in lexical order, charset included.
func (d Database) String() string {
	query := map[string]string{"charset": "utf8"}
	maps.Copy(query, d.Query)
	parts := make([]string, 0, len(query))
	for _, k := range slices.Sorted(maps.Keys(query)) {
		parts = append(parts, Encode(k)+"="+strings.ReplaceAll(Encode(query[k]), "%2F", "/"))
	}
	return "mysql+pymysql://" + Encode(d.User) + ":" + Encode(d.Password) + "@" +
		hostPort(d.Host, d.Port) + "/" + d.Schema + "?" + strings.Join(parts, "&")
}

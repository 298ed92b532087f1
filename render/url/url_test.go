package url

import (
	"errors"
	neturl "net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/c5c3/nova-operator/render/ini/initest"
)

func TestEncode_LeavesOnlyUnreserved(t *testing.T) {
	if got, want := Encode(`a@b/c:d%e#f?g$h,i;j&k=l+m n~o`), "a%40b%2Fc%3Ad%25e%23f%3Fg%24h%2Ci%3Bj%26k%3Dl%2Bm%20n~o"; got != want {
		t.Errorf("Encode = %q, want %q", got, want)
	}
}

func TestDatabase_Form(t *testing.T) {
	cases := map[string]struct {
		in   Database
		want string
	}{
		"plain": {
			Database{User: "nova", Password: "p$,@", Host: "db.ns.svc", Port: 3306, Schema: "nova"},
			"mysql+pymysql://nova:p%24%2C%40@db.ns.svc:3306/nova?charset=utf8",
		},
		"IPv6 gains brackets": {
			Database{User: "u", Password: "p", Host: "fd00::1", Port: 3306, Schema: "s"},
			"mysql+pymysql://u:p@[fd00::1]:3306/s?charset=utf8",
		},
		"IPv6 keeps brackets": {
			Database{User: "u", Password: "p", Host: "[fd00::1]", Port: 3307, Schema: "s"},
			"mysql+pymysql://u:p@[fd00::1]:3307/s?charset=utf8",
		},
		"a host is lower-cased": {
			Database{User: "u", Password: "p", Host: "DB.Example", Port: 1, Schema: "s"},
			"mysql+pymysql://u:p@db.example:1/s?charset=utf8",
		},
		"query sorted, slashes literal": {
			Database{
				User: "u", Password: "p", Host: "h", Port: 1, Schema: "s",
				Query: map[string]string{"ssl_ca": "/etc/a/ca.crt", "ssl_check_hostname": "true"},
			},
			"mysql+pymysql://u:p@h:1/s?charset=utf8&ssl_ca=/etc/a/ca.crt&ssl_check_hostname=true",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.in.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTransport_ReencodesWhatNovaWouldMisread(t *testing.T) {
	cases := map[string]struct{ in, want string }{
		"clean stays":                 {"rabbit://u:p@h:5672/", "rabbit://u:p@h:5672/"},
		"a raw dollar":                {"rabbit://u:a$b@h:5672/v", "rabbit://u:a%24b@h:5672/v"},
		"an escape stays one":         {"rabbit://u:a%40b@h:5672/v", "rabbit://u:a%40b@h:5672/v"},
		"a percent that is no escape": {"rabbit://u:a%zz@h:5672/", "rabbit://u:a%25zz@h:5672/"},
		"no path is the root vhost":   {"rabbit://u:p@h:5672", "rabbit://u:p@h:5672/"},
		"a slash vhost":               {"rabbit://u:p@h:5672//", "rabbit://u:p@h:5672/%2F"},
		"an encoded slash vhost":      {"rabbit://u:p@h:5672/%2F", "rabbit://u:p@h:5672/%2F"},
		"two brokers":                 {"rabbit://u:p@H1:5672,u:p@h2:5671/v?ssl=1", "rabbit://u:p@h1:5672,u:p@h2:5671/v?ssl=1"},
		"a trailing newline":          {"rabbit://u:p@h:5672/\n", "rabbit://u:p@h:5672/"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := ParseTransport(tc.in)
			if err != nil {
				t.Fatal(err)
			}
			if err := got.Check(); err != nil {
				t.Fatal(err)
			}
			if got.String() != tc.want {
				t.Errorf("got %q, want %q", got.String(), tc.want)
			}
		})
	}
}

func TestTransport_Refusals(t *testing.T) {
	var scheme *SchemeError
	cases := map[string]struct {
		in   string
		want func(error) bool
	}{
		"no URL":                    {"s3cret", func(err error) bool { return errors.Is(err, ErrUnparsable) }},
		"another scheme":            {"amqp://u:s3cret@h:1/", func(err error) bool { return errors.As(err, &scheme) && scheme.Scheme == "amqp" }},
		"a scheme that is none":     {"s3 cret://h:1", func(err error) bool { return errors.Is(err, ErrUnparsable) }},
		"no port":                   {"rabbit://u:s3cret@h/", func(err error) bool { return errors.Is(err, ErrNoPort) }},
		"the last host has no port": {"rabbit://u:s3cret@h:1,u:p@h2/", func(err error) bool { return errors.Is(err, ErrNoPort) }},
		"the first one may lack it": {"rabbit://u:s3cret@h,u:p@h2:1/", func(err error) bool { return err == nil }},
		"an IPv6 literal":           {"rabbit://u:s3cret@[fd00::1]:5672/", func(err error) bool { return errors.Is(err, ErrIPv6) }},
		"a slash in the password":   {"rabbit://u:s3%2Fcret@h:1/", func(err error) bool { return errors.Is(err, ErrSlash) }},
		"a slash in the user":       {"rabbit://u%2F:s3cret@h:1,u:p@h2:1/", func(err error) bool { return errors.Is(err, ErrSlash) }},
		"a slash in the vhost":      {"rabbit://u:s3cret@h:1/a%2Fb", func(err error) bool { return err == nil }},
		"a question mark there":     {"rabbit://u:s3cret@h:1/a%3Fb", func(err error) bool { return errors.Is(err, ErrVirtualHost) }},
		"an escape there":           {"rabbit://u:s3cret@h:1/a%2525b", func(err error) bool { return errors.Is(err, ErrVirtualHost) }},
		"a port that is no number":  {"rabbit://u:s3cret@h:x/", func(err error) bool { return errors.Is(err, ErrUnparsable) }},
		"no host":                   {"rabbit:///v", func(err error) bool { return errors.Is(err, ErrUnparsable) }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			parsed, err := ParseTransport(tc.in)
			if err == nil {
				err = parsed.Check()
			}
			if !tc.want(err) {
				t.Errorf("got %v", err)
			}
			if err != nil && strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%q leaks a credential", err)
			}
		})
	}
}

var credential = rapid.StringMatching(`[ -~é$,;@:/%#?\\"']{1,20}`)

func TestTransport_RoundTripsAnyCredential(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := Transport{Hosts: []Host{
			{User: credential.Draw(t, "user"), Password: credential.Draw(t, "password"), HasPassword: true, Name: "h1", Port: 5672},
			{User: credential.Draw(t, "user2"), Password: credential.Draw(t, "password2"), HasPassword: true, Name: "h2", Port: 5671},
		}, VirtualHost: credential.Draw(t, "vhost")}
		out, err := ParseTransport(in.String())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(in, out); diff != "" {
			t.Fatal(diff)
		}
		if strings.ContainsAny(in.String(), "$ ") {
			t.Fatalf("%q would interpolate", in.String())
		}
	})
}

func TestDatabase_RoundTripsThroughGo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := Database{User: credential.Draw(t, "u"), Password: credential.Draw(t, "p"), Host: "h", Port: 3306, Schema: "nova"}
		u, err := neturl.Parse(d.String())
		if err != nil {
			t.Fatal(err)
		}
		p, _ := u.User.Password()
		if u.User.Username() != d.User || p != d.Password {
			t.Fatalf("%q came back as %q %q", d, u.User.Username(), p)
		}
	})
}

func FuzzParseTransport(f *testing.F) {
	f.Add("rabbit://u:p@h:5672/v?a=b")
	f.Fuzz(func(t *testing.T, raw string) {
		first, err := ParseTransport(raw)
		if err != nil {
			return
		}
		again, err := ParseTransport(first.String())
		if err != nil {
			t.Fatalf("own output refused: %v", err)
		}
		if again.String() != first.String() {
			t.Fatalf("not stable: %q then %q", first, again)
		}
	})
}

// SQLAlchemy's parser has the last word where Debian's package is installed.
func TestDatabase_RealSQLAlchemyReadsTheSameBytes(t *testing.T) {
	passwords := rapid.SliceOfN(credential, 300, 300).Example(3)
	var urls []string
	for _, p := range passwords {
		urls = append(urls, Database{User: p, Password: p, Host: "h", Port: 3306, Schema: "nova"}.String())
	}
	const script = "import json,sys\nfrom sqlalchemy.engine.url import make_url\nprint(json.dumps([[make_url(u).username, make_url(u).password] for u in json.load(sys.stdin)]))"
	var got [][2]string
	initest.Python(t, "sqlalchemy", script, nil, urls, &got)
	for i, p := range passwords {
		if got[i] != [2]string{p, p} {
			t.Errorf("%q came back as %q", p, got[i])
		}
	}
}

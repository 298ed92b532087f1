package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Ports of the services beside the pods.
const (
	portMariaDB   = "3306"
	portBus       = "5672"
	portBusTLS    = "5671"
	portMemcached = "11211"
	portKeystone  = "5000"
	portPlacement = "8778"
	portGlance    = "9292"
	portNeutron   = "9696"
)

// Credentials of what isn't under test.
const (
	adminPassword     = "admin-of-the-rig"
	placementPassword = "placement-of-the-rig"
	region            = "RegionOne"
)

// busNode is the broker's name to Erlang.
const busNode = "realnova@localhost"

// base are the services a Nova needs, confined to one tree with a layer of its own.
type base struct {
	dir, root string
	mariadb   *daemon
	rabbitmq  *daemon
	placement *daemon
	others    []*daemon
}

// at is where a service listens.
func at(port string) string { return net.JoinHostPort(hostAddress, port) }

// startBase starts MariaDB, RabbitMQ, memcached, Keystone and Placement.
func startBase(ctx context.Context, box sandbox, c credentials, pki *authority) (*base, error) {
	ctx, cancel := within(ctx, 3*time.Minute)
	defer cancel()
	b := &base{dir: box.Dir, root: filepath.Join(box.Dir, "base")}
	if err := overlay(box.Assets.Base.Path, b.root, filepath.Join(box.Dir, "layers", "base")); err != nil {
		return nil, err
	}
	for _, mount := range []string{"/proc", "/dev", "/sys"} {
		if err := syscall.Mount(mount, filepath.Join(b.root, mount), "", syscall.MS_BIND|syscall.MS_REC, ""); err != nil {
			return nil, fmt.Errorf("mount %s in the services' tree: %w", mount, err)
		}
	}
	if err := b.write(c, pki); err != nil {
		return nil, err
	}
	b.rabbitmq = b.daemon("rabbitmq", []string{"/usr/lib/rabbitmq/bin/rabbitmq-server"},
		"HOME=/var/lib/rabbitmq", "RABBITMQ_NODENAME="+busNode, "RUNNING_UNDER_SYSTEMD=1",
		"RABBITMQ_CONFIG_FILE=/etc/rig/rabbitmq.conf", "RABBITMQ_ENABLED_PLUGINS_FILE=/etc/rig/enabled_plugins",
		"RABBITMQ_CONF_ENV_FILE=/dev/null", "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=+S 1:1")
	if err := b.rabbitmq.start(); err != nil {
		return nil, err
	}
	if err := b.startMariaDB(ctx, c); err != nil {
		return nil, err
	}
	memcached := b.daemon("memcached", []string{"/usr/bin/memcached", "-u", "nobody", "-m", "32", "-l", hostAddress})
	keystone := b.wsgi("keystone", portKeystone, "keystone.wsgi.api:application", "OS_KEYSTONE_CONFIG_DIR=/etc/rig/keystone")
	b.placement = b.wsgi("placement", portPlacement, "placement.wsgi.api:application", "OS_PLACEMENT_CONFIG_DIR=/etc/rig/placement")
	b.others = []*daemon{b.placement, keystone, memcached}
	if err := memcached.start(); err != nil {
		return nil, err
	}
	for _, args := range [][]string{
		{"db_sync"},
		{
			"bootstrap", "--bootstrap-password", adminPassword, "--bootstrap-region-id", region,
			"--bootstrap-public-url", serviceURL("keystone", portKeystone) + "/v3",
			"--bootstrap-internal-url", serviceURL("keystone", portKeystone) + "/v3",
		},
	} {
		if _, err := chroot(ctx, b.root, "keystone-manage", append([]string{"--config-file", "/etc/rig/keystone/keystone.conf"}, args...)...); err != nil {
			return nil, err
		}
	}
	if err := keystone.start(); err != nil {
		return nil, err
	}
	if err := keystone.await(ctx, answers("http://"+at(portKeystone)+"/v3")); err != nil {
		return nil, err
	}
	if err := b.placement.start(); err != nil {
		return nil, err
	}
	if err := b.placement.await(ctx, answers("http://"+at(portPlacement)+"/")); err != nil {
		return nil, err
	}
	return b, b.rabbitmq.await(ctx, listening(at(portBus)))
}

// serviceURL is the address of a service in the cluster.
func serviceURL(name, port string) string {
	return fmt.Sprintf("http://%s.%s.svc:%s", name, namespace, port)
}

// answers is ready once a GET of the address succeeds.
func answers(url string) func(context.Context) error {
	return func(ctx context.Context) error {
		return get(ctx, url)
	}
}

// daemon is a process in the services' tree.
func (b *base) daemon(name string, args []string, env ...string) *daemon {
	return &daemon{
		name: name, args: args, root: b.root, log: logFile(b.dir, name),
		env: append([]string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8"}, env...),
	}
}

func (b *base) wsgi(name, port, module string, env ...string) *daemon {
	return b.daemon(name, []string{
		"/usr/bin/uwsgi", "--plugin", "python3", "--http-socket", at(port), "--module", module,
		"--master", "--die-on-term", "--lazy-apps", "--need-app", "--processes", "1", "--threads", "4", "--enable-threads",
		"--buffer-size", "65535", "--listen", "100", "--thunder-lock", "--no-orphans", "--rem-header", "Content-Length",
	}, env...)
}

// startMariaDB starts the server, on what data it has, and makes schemas and accounts
// where they lack.
func (b *base) startMariaDB(ctx context.Context, c credentials) error {
	if _, err := os.Stat(filepath.Join(b.root, "var/lib/rig/mysql")); errors.Is(err, os.ErrNotExist) {
		if _, err := chroot(ctx, b.root, "mariadb-install-db", "--no-defaults", "--user=root", "--datadir=/var/lib/rig/mysql",
			"--skip-test-db", "--auth-root-authentication-method=socket", "--skip-name-resolve"); err != nil {
			return err
		}
	}
	b.mariadb = b.daemon("mariadb", []string{
		"/usr/sbin/mariadbd", "--no-defaults", "--user=root", "--datadir=/var/lib/rig/mysql", "--socket=/run/mysql.sock",
		"--bind-address=" + hostAddress, "--port=" + portMariaDB, "--skip-name-resolve", "--max-connections=1000",
		"--character-set-server=utf8mb3", "--skip-log-bin", "--innodb-flush-log-at-trx-commit=0", "--innodb-doublewrite=0",
		"--innodb-flush-method=nosync", "--innodb-buffer-pool-size=256M",
		"--ssl-ca=/etc/rig/tls/ca.crt", "--ssl-cert=/etc/rig/tls/mariadb.crt", "--ssl-key=/etc/rig/tls/mariadb.key",
	})
	if err := b.mariadb.start(); err != nil {
		return err
	}
	if err := b.mariadb.await(ctx, func(ctx context.Context) error {
		_, err := b.sql(ctx, "select 1")
		return err
	}); err != nil {
		return err
	}
	var script strings.Builder
	for _, schema := range []string{"keystone", "placement", c.APIDatabase.Schema, c.Database.Schema, c.Database.Schema + "_cell0"} {
		fmt.Fprintf(&script, "CREATE DATABASE IF NOT EXISTS `%s`;\n", schema)
	}
	script.WriteString(account(login{Username: "keystone", Password: "keystone"}, "keystone"))
	script.WriteString(account(login{Username: "placement", Password: "placement"}, "placement"))
	script.WriteString(account(c.APIDatabase.login, c.APIDatabase.Schema))
	script.WriteString(account(c.Database.login, c.Database.Schema, c.Database.Schema+"_cell0"))
	_, err := b.sql(ctx, script.String())
	return err
}

// account makes a login and grants it schemas.
func account(l login, schemas ...string) string {
	who := quote(l.Username) + "@'%'"
	text := fmt.Sprintf("CREATE OR REPLACE USER %s IDENTIFIED BY %s;\n", who, quote(l.Password))
	for _, schema := range schemas {
		text += fmt.Sprintf("GRANT ALL PRIVILEGES ON `%s`.* TO %s;\n", schema, who)
	}
	return text
}

// quote makes a string of SQL.
func quote(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
}

// sql runs statements as root and returns the rows, columns apart by tabs.
func (b *base) sql(ctx context.Context, statements string) (string, error) {
	cmd := exec.CommandContext(ctx, "chroot", b.root, "/usr/bin/mariadb", "--no-defaults", "-uroot", "-S", "/run/mysql.sock", "-N", "-B")
	cmd.Stdin = strings.NewReader(statements)
	out, err := cmd.CombinedOutput()
	if err != nil {
		// The statements are left out: they hold passwords.
		return "", fmt.Errorf("run SQL: %w: %s", err, tail(out, 3))
	}
	return strings.TrimSpace(string(out)), nil
}

// restartAs starts the broker or the database again with a certificate of a name.
func (b *base) restartAs(ctx context.Context, d *daemon, pki *authority, name, address string) error {
	certificate, err := pki.issue(name)
	if err != nil {
		return err
	}
	d.stop(syscall.SIGTERM, 30*time.Second)
	for file, text := range map[string]string{d.name + ".crt": certificate.Cert, d.name + ".key": certificate.Key} {
		if err := os.WriteFile(filepath.Join(b.root, "etc/rig/tls", file), []byte(text), 0o600); err != nil {
			return err
		}
	}
	if err := d.start(); err != nil {
		return err
	}
	return d.await(ctx, listening(address))
}

// write puts the configuration of every service into the tree.
func (b *base) write(c credentials, pki *authority) error {
	definitions, err := json.Marshal(map[string]any{
		"users":  []any{map[string]any{"name": c.Bus.Username, "password": c.Bus.Password, "tags": "administrator"}},
		"vhosts": []any{map[string]any{"name": c.BusVHost}},
		"permissions": []any{map[string]any{
			"user": c.Bus.Username, "vhost": c.BusVHost, "configure": ".*", "write": ".*", "read": ".*",
		}},
	})
	if err != nil {
		return err
	}
	files := map[string]string{
		"etc/resolv.conf":                  resolvConf,
		"etc/rig/enabled_plugins":          "[].\n",
		"etc/rig/definitions.json":         string(definitions),
		"etc/rig/rabbitmq.conf":            rabbitConfig,
		"etc/rig/keystone/keystone.conf":   keystoneConfig,
		"etc/rig/placement/placement.conf": placementConfig,
	}
	for name, text := range pki.files("mariadb", "rabbitmq") {
		files["etc/rig/tls/"+name] = text
	}
	// What `keystone-manage fernet_setup` and `credential_setup` leave behind.
	for _, folder := range []string{"fernet-keys", "credential-keys"} {
		for _, name := range []string{"0", "1"} {
			key := make([]byte, 32)
			if _, err := rand.Read(key); err != nil {
				return err
			}
			files["var/lib/rig/"+folder+"/"+name] = base64.URLEncoding.EncodeToString(key)
		}
	}
	for name, text := range files {
		path := filepath.Join(b.root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.RemoveAll(path); err != nil { // a link, maybe
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

const rabbitConfig = `listeners.tcp.1 = ` + hostAddress + `:` + portBus + `
listeners.ssl.1 = ` + hostAddress + `:` + portBusTLS + `
ssl_options.cacertfile = /etc/rig/tls/ca.crt
ssl_options.certfile = /etc/rig/tls/rabbitmq.crt
ssl_options.keyfile = /etc/rig/tls/rabbitmq.key
ssl_options.verify = verify_none
load_definitions = /etc/rig/definitions.json
disk_free_limit.absolute = 50MB
log.console = true
log.console.level = warning
log.file = false
`

// The cache is the process's own, so Keystone runs as one process: without a cache a
// request costs half a second of CPU.
const keystoneConfig = `[DEFAULT]
use_stderr = true
[database]
connection = mysql+pymysql://keystone:keystone@` + hostAddress + `:` + portMariaDB + `/keystone?charset=utf8
[fernet_tokens]
key_repository = /var/lib/rig/fernet-keys
[fernet_receipts]
key_repository = /var/lib/rig/fernet-keys
[credential]
key_repository = /var/lib/rig/credential-keys
[identity]
password_hash_rounds = 4
[cache]
enabled = true
backend = oslo_cache.dict
`

var placementConfig = `[DEFAULT]
use_stderr = true
[placement_database]
connection = mysql+pymysql://placement:placement@` + hostAddress + `:` + portMariaDB + `/placement?charset=utf8
sync_on_startup = true
[keystone_authtoken]
auth_type = password
auth_url = ` + serviceURL("keystone", portKeystone) + `/v3
www_authenticate_uri = ` + serviceURL("keystone", portKeystone) + `/v3
username = placement
password = ` + placementPassword + `
project_name = service
user_domain_name = Default
project_domain_name = Default
`

// stop ends the services, MariaDB last.
func (b *base) stop() {
	for _, d := range append(b.others, b.rabbitmq, b.mariadb) {
		if d != nil {
			d.stop(syscall.SIGTERM, 15*time.Second)
		}
	}
}

# shellcheck shell=sh
# Finishes the online data migrations of the cell, then of cell0: this command
# reads [database] connection only and does not fan out. Run by sh -eu.
migrate() {
    rc=1
    while [ "$rc" -eq 1 ]; do
        rc=0
        nova-manage --config-dir /etc/nova/nova.conf.d db online_data_migrations --max-count 1000 || rc=$?
    done
    return "$rc"
}

migrate

# cell0 is the same server and login with another schema; TLS parameters stay.
case $OS_DATABASE__CONNECTION in
*\?*) OS_DATABASE__CONNECTION="${OS_DATABASE__CONNECTION%%\?*}_cell0?${OS_DATABASE__CONNECTION#*\?}" ;;
*) OS_DATABASE__CONNECTION="${OS_DATABASE__CONNECTION}_cell0" ;;
esac
export OS_DATABASE__CONNECTION

migrate

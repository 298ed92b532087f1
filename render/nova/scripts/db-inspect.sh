# shellcheck shell=sh
# Says which revision each schema of a new Nova is at, before the first db-sync writes to
# one, as the container's termination message: a line <command>=<revision> each, None for a
# schema without tables of nova. It changes nothing. Run by sh -eu.
for database in api_db db; do
    # Captured first: the exit code of a pipe is that of its end.
    found=$(nova-manage --config-dir /etc/nova/nova.conf.d "$database" version)
    printf '%s=%s\n' "$database" "$(printf '%s\n' "$found" | tail -n 1)" >>/dev/termination-log
done

# shellcheck shell=sh
# Brings both schemas to the image's revision, maps cell0 and the one real cell,
# and reports the cell map as the container's termination message.
# $1: name of the cell schema. Run by sh -eu: every step needs the one before it.
schema=$1
template='{scheme}://{username}:{password}@{hostname}:{port}'

nova_manage() {
    nova-manage --config-dir /etc/nova/nova.conf.d "$@"
}

# Brings schemas to the image's revision. One that is ahead, as an upgrade that was taken
# back leaves it, has all this image needs; nova-manage refuses it, since it doesn't know
# the revision, and that must not hold up a change of the configuration.
work=$(mktemp -d)
sync() {
    # Through a pipe, so that the log shows each line as it comes.
    { nova_manage "$@" && echo 0 >"$work/rc" || echo $? >"$work/rc"; } 2>&1 | tee "$work/log"
    rc=$(cat "$work/rc")
    if [ "$rc" -ne 0 ] && grep -q "Can't locate revision identified by" "$work/log"; then
        printf '%s: the schema is ahead of this image and stays as it is\n' "$*"
    elif [ "$rc" -ne 0 ]; then
        return "$rc"
    fi
}

sync api_db sync

# Before the cell schemas are migrated: without the row, db sync skips cell0.
nova_manage cell_v2 map_cell0 --database_connection "${template}/${schema}_cell0?{query}"

# Captured first: a failed listing piped into the guard would look like an empty
# table, and a second create_cell maps a second cell with exit code 0.
cells=$(nova_manage cell_v2 list_cells)

mapped=$(printf '%s\n' "$cells" | awk -F '|' -v tail="/${schema}" '
    NR > 3 {
        name = $2; connection = $5
        gsub(/ /, "", name); gsub(/ /, "", connection)
        sub(/\?.*/, "", connection)
        at = length(connection) - length(tail)
        if (name == "cell1" || (at > 0 && substr(connection, at + 1) == tail)) found = 1
    }
    END { print found + 0 }')

if [ "$mapped" -eq 0 ]; then
    nova_manage cell_v2 create_cell --name cell1 \
        --transport-url "${template}/{path}?{query}" \
        --database_connection "${template}/${schema}?{query}"
fi

sync db sync

cells=$(nova_manage cell_v2 list_cells)
printf '%s\n' "$cells" | awk -F '|' '
    NR > 3 && !/^\+/ {
        name = $2; uuid = $3
        gsub(/ /, "", name); gsub(/ /, "", uuid)
        if (name != "") print name "=" uuid
    }' >/dev/termination-log

# shellcheck shell=sh
# Moves soft-deleted rows into the shadow tables, batch by batch, for 50 minutes at
# most. Reads MAX_ROWS, SLEEP (seconds) and, with a window, RETENTION_DAYS. Run by
# sh -eu.
window=''
if [ -n "${RETENTION_DAYS:-}" ]; then
    # Rows of task_log are never soft-deleted: without a date they must stay.
    window="--before $(date -u -d "-${RETENTION_DAYS} days" +%Y-%m-%d) --task-log"
fi

end=$(($(date +%s) + 3000))
rc=1
while [ "$rc" -eq 1 ] && [ "$(date +%s)" -lt "$end" ]; do
    rc=0
    # shellcheck disable=SC2086 # no window adds no argument
    nova-manage --config-dir /etc/nova/nova.conf.d db archive_deleted_rows --all-cells --max_rows "$MAX_ROWS" $window || rc=$?
    if [ "$rc" -eq 1 ]; then
        sleep "$SLEEP"
    fi
done

# 1 is success with rows left for the next run.
[ "$rc" -le 1 ] || exit "$rc"

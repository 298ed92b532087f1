# shellcheck shell=sh
# Checks the deployment with the target release, then adds what its schemas add.
# Run by sh -eu.
rc=0
nova-status --config-dir /etc/nova/nova.conf.d upgrade check || rc=$?

# Written before the code is acted on, or a failing check leaves no trace.
printf 'nova-status upgrade check exit %s\n' "$rc" >/dev/termination-log
case $rc in
0 | 1) ;;
255)
    echo 'the check crashed before it could judge the deployment; its traceback is in the log of this pod' >>/dev/termination-log
    exit "$rc"
    ;;
*)
    echo 'a check failed; its table is in the log of this pod' >>/dev/termination-log
    exit "$rc"
    ;;
esac

nova-manage --config-dir /etc/nova/nova.conf.d api_db sync
nova-manage --config-dir /etc/nova/nova.conf.d db sync

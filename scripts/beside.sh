#!/usr/bin/env bash
# beside.sh OTHER COMMAND...: runs COMMAND, and beside it OTHER, a line of shell, at a lower priority:
# while COMMAND waits, OTHER has the processors. The output of OTHER is shown at the end. The exit code
# is that of COMMAND, which ends OTHER if it is not 0; else that of OTHER. COMMAND finds in TLSLAB_BESIDE
# the name of a file that is there while OTHER runs.
set -euo pipefail
other=$1
shift
log=$(mktemp)
running=$(mktemp)
# A third of the weight of COMMAND: with much less, OTHER would stand still meanwhile.
# Job control gives OTHER a process group of its own, so that all of it can be ended. Its seconds
# are no stage of .ci/run: they are those of COMMAND, too.
set -m
env -u TLSLAB_STAGES nice -n 5 bash -c 'trap "rm -f \"$0\"" EXIT; eval "$1"' "$running" "$other" \
    </dev/null >"$log" 2>&1 &
beside=$!
set +m
trap 'kill -- "-$beside" 2>/dev/null || true; cat "$log"; rm -f "$log" "$running"' EXIT
TLSLAB_BESIDE=$running "$@"
code=0
wait "$beside" || code=$?
# Its number may be another process's by now.
trap 'cat "$log"; rm -f "$log" "$running"' EXIT
exit "$code"

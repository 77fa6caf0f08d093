#!/usr/bin/env bash
# beside.sh OTHER COMMAND...: runs COMMAND, and beside it OTHER, a line of shell, behind all else
# on this machine: a command that waits for most of its time leaves the processors to one that
# needs nothing else. What OTHER said is shown at the end, whatever the exit code. The exit code is COMMAND's, and
# OTHER is ended when that is not 0; else it is OTHER's.
set -euo pipefail
other=$1
shift
log=$(mktemp)
# A third of the weight of COMMAND: with much less, OTHER would stand still meanwhile.
# Job control gives OTHER a process group of its own, so that all of it can be ended. Its seconds
# are no stage of .ci/run: they are those of COMMAND, too.
set -m
env -u TLSLAB_STAGES nice -n 5 bash -c "$other" </dev/null >"$log" 2>&1 &
beside=$!
set +m
trap 'kill -- "-$beside" 2>/dev/null || true; cat "$log"; rm -f "$log"' EXIT
"$@"
code=0
wait "$beside" || code=$?
# Its number may be another process's by now.
trap 'cat "$log"; rm -f "$log"' EXIT
exit "$code"

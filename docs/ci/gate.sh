#!/usr/bin/env bash
# Holds a server against the one that it is to replace: measures both on this machine, one after the
# other, and ends by what `tlslab compare --gate` says.
#
#   BASE_URL    the server as it is, running
#   HEAD_URL    the server with the change, running
#   GATE        the slowdown that is too much (3%)
#   RUNS        where the run folders go (runs)
#   EXPERIMENT  what is measured (groups)
#   Arguments go to both `tlslab run`: --ca my-ca.pem --set group=X25519 --blocks 20
#
# Exit code: 0 excluded, or cannot tell (with a warning); 1 slower; others: it could not be measured.
set -euo pipefail

: "${BASE_URL:?the URL of the server as it is}" "${HEAD_URL:?the URL of the server with the change}"
gate=${GATE:-3%}
runs=${RUNS:-runs}
experiment=${EXPERIMENT:-groups}

# A cell without a valid result ends the run with 1: the gate then says that it cannot tell.
measure() {
    local code=0
    tlslab run "$experiment" --target "$1" --out "$2" "${@:3}" || code=$?
    [ "$code" -le 1 ] || exit "$code"
}

measure "$BASE_URL" "$runs/base" "$@"
measure "$HEAD_URL" "$runs/head" "$@"

code=0
tlslab compare "$runs/base" "$runs/head" --gate "$gate" --out "$runs/compared" || code=$?
if [ "$code" -eq 4 ]; then
    # GitHub shows this line beside the job; elsewhere it is a line of the log.
    echo "::warning::tlslab cannot tell whether a slowdown of more than $gate is there: measure more blocks"
    exit 0
fi
exit "$code"

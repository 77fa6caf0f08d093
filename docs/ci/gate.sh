#!/usr/bin/env bash
# Holds a server against the one that it is to replace: measures the server as it is, the one with the
# change, and again the one as it is, and ends by what `tlslab compare --gate` says of both pairs. A
# machine that gets slower or faster meanwhile is not taken for the change: that shows against one of
# both measurements only.
#
#   BASE_URL    the server as it is, running
#   HEAD_URL    the server with the change, running
#   GATE        the slowdown that is too much (3%)
#   GATE_BY     the estimate that the gate looks at, as in summary.json (the rates); the server's
#               processor time, server_cpu_us_per_connection, is often steadier
#   BLOCKS      passes over all cells of the server with the change, 10 or more (20); half as many each
#               time of the server as it is
#   RUNS        where the run folders go (runs)
#   EXPERIMENT  what is measured (groups)
#   Arguments go to each `tlslab run`: --ca my-ca.pem --set group=X25519
#
# Exit code: 1 slower than both measurements of the server as it is; 0 excluded against both, or cannot
# tell (with a warning); others: it could not be measured.
set -euo pipefail

: "${BASE_URL:?the URL of the server as it is}" "${HEAD_URL:?the URL of the server with the change}"
gate=${GATE:-3%}
limit=(--gate "$gate" ${GATE_BY:+--gate-by "$GATE_BY"})
blocks=${BLOCKS:-20}
runs=${RUNS:-runs}
experiment=${EXPERIMENT:-groups}

case "$blocks" in *[!0-9]* | '') blocks=0 ;; esac
if [ "$blocks" -lt 10 ]; then
    echo "BLOCKS: a number, 10 or more" >&2
    exit 2
fi
case " $* " in *" --blocks"[\ =]*)
    echo "give the number of blocks as BLOCKS=$blocks, not with --blocks" >&2
    exit 2
    ;;
esac

# A cell without a valid result ends the run with 1: the gate then says that it cannot tell.
measure() {
    local code=0
    tlslab run "$experiment" --target "$1" --out "$2" --blocks "$3" "${@:4}" || code=$?
    [ "$code" -le 1 ] || exit "$code"
}

measure "$BASE_URL" "$runs/base-1" "$((blocks / 2))" "$@"
measure "$HEAD_URL" "$runs/head" "$blocks" "$@"
measure "$BASE_URL" "$runs/base-2" "$((blocks / 2))" "$@"

verdict() {
    local code=0
    tlslab compare "$runs/base-$1" "$runs/head" "${limit[@]}" --out "$runs/compared-$1" || code=$?
    case "$code" in
    0 | 1 | 4) verdicts+=("$code") ;;
    *) exit "$code" ;;
    esac
}

verdicts=()
verdict 1
verdict 2
case "${verdicts[*]}" in
"0 0" | "1 1") exit "${verdicts[0]}" ;;
"0 1" | "1 0") reason="the server as it is changed meanwhile, as much as that: measure on a quiet machine" ;;
*) reason="measure more blocks" ;;
esac
# GitHub shows this line beside the job; elsewhere it is a line of the log.
echo "::warning::tlslab cannot tell whether a slowdown of more than $gate is there: $reason"
exit 0

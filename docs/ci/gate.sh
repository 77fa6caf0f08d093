#!/usr/bin/env bash
# Compares a server with the one that it is to replace: measures both in one run, in turns, and ends
# by what `tlslab compare --gate` says of the pair. Every block of the run loads both servers: a
# machine that gets slower or faster meanwhile does so for both.
#
#   BASE_URL    the server as it is, running
#   HEAD_URL    the server with the change, running
#   GATE        the slowdown that is too much (3%)
#   GATE_BY     the estimate that the gate looks at, as in summary.json (the rates, and the server's
#               processor time for a new connection)
#   BLOCKS      passes over all cells of both servers, 5 or more (20)
#   RUNS        where the folders of the run and of the comparison go (runs)
#   EXPERIMENT  what is measured, of the kind matrix (groups)
#   Arguments go to `tlslab run`: --ca my-ca.pem --set group=X25519
#
# Exit code: 1 slower by more than that; 0 excluded, or cannot tell (with a warning); others: it could
# not be measured.
set -euo pipefail

: "${BASE_URL:?the URL of the server as it is}" "${HEAD_URL:?the URL of the server with the change}"
gate=${GATE:-3%}
blocks=${BLOCKS:-20}
runs=${RUNS:-runs}

if [ "$BASE_URL" = "$HEAD_URL" ]; then
    echo "BASE_URL and HEAD_URL are the same: start both servers, each on a port of its own" >&2
    exit 2
fi
case "$blocks" in *[!0-9]* | '') blocks=0 ;; esac
if [ "$blocks" -lt 5 ]; then
    echo "BLOCKS: a number, 5 or more" >&2
    exit 2
fi
case " $* " in *" --blocks"[\ =]*)
    echo "give the number of blocks as BLOCKS=$blocks, not with --blocks" >&2
    exit 2
    ;;
esac

# A cell without a valid result ends the run with 1: the gate then says that it cannot tell.
code=0
tlslab run "${EXPERIMENT:-groups}" --target "$BASE_URL" --target "$HEAD_URL" \
    --out "$runs/both" --blocks "$blocks" "$@" || code=$?
[ "$code" -le 1 ] || exit "$code"

code=0
tlslab compare "$runs/both" --gate "$gate" ${GATE_BY:+--gate-by "$GATE_BY"} \
    --out "$runs/compared" || code=$?
[ "$code" -eq 4 ] || exit "$code"
# GitHub shows this line beside the job; elsewhere it is a line of the log.
echo "::warning::tlslab cannot tell whether a slowdown of more than $gate is there (reasons above)"

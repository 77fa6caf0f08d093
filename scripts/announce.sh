#!/usr/bin/env bash
# Says what is being done, and how long it took: announce.sh ID begin|say|end TEXT
# Where TLSLAB_STAGES names a file, "end" adds a line to it: seconds, a tab, TEXT.
set -euo pipefail
stamp="${TMPDIR:-/tmp}/tlslab-announce-$1"
shift
case "$1" in
begin | say)
    [ "$1" = say ] || date +%s >"$stamp"
    printf '\n== %s\n' "$2"
    ;;
end)
    began=$(cat "$stamp" 2>/dev/null || date +%s)
    rm -f "$stamp"
    seconds=$(($(date +%s) - began))
    printf '== done in %d s: %s\n' "$seconds" "$2"
    [ -z "${TLSLAB_STAGES:-}" ] || printf '%d\t%s\n' "$seconds" "$2" >>"$TLSLAB_STAGES"
    ;;
esac

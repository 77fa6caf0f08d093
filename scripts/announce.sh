#!/usr/bin/env bash
# Says what is being done, and how long it took: announce.sh ID begin|say|end TEXT
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
    printf '== done in %d s: %s\n' "$(($(date +%s) - began))" "$2"
    ;;
esac

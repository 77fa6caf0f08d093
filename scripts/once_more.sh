#!/usr/bin/env bash
# once_more.sh FIRST -- PYTEST...: runs PYTEST with the options FIRST. Up to three tests that fail run
# once more, without FIRST and therefore one after the other; only those that fail again are failures
# (docs/adr/0096). Both outcomes are shown. Where TLSLAB_STAGES names a file, it gets a line with the
# names of the tests that passed only then.
set -euo pipefail
first=()
while [ "$1" != -- ]; do
    first+=("$1")
    shift
done
shift
most=3
cache=$(mktemp -d)
trap 'rm -rf "$cache"' EXIT
pytest=("$@" -o "cache_dir=$cache")

code=0
"${pytest[@]}" "${first[@]}" || code=$?
# Other codes than 1 are no failed tests: the run was interrupted, or could not start.
[ "$code" -eq 1 ] || exit "$code"
mapfile -t failed < <(sed -n 's/^  "\(.*\)": true,\{0,1\}$/\1/p' "$cache/v/cache/lastfailed")
if [ ${#failed[@]} -eq 0 ] || [ ${#failed[@]} -gt $most ]; then
    exit "$code"
fi
for name in "${failed[@]}"; do
    # A file that could not be imported.
    [[ "$name" == *::* ]] || exit "$code"
done
# What scripts/beside.sh runs beside this ends, or is killed and leaves its file.
for ((seconds = 0; seconds < 1800; seconds++)); do
    [ -e "${TLSLAB_BESIDE:-}" ] || break
    sleep 1
done
printf '\n== once more, one after the other:\n'
printf '%s\n' "${failed[@]}"
"${pytest[@]}" --last-failed --last-failed-no-failures none
[ -z "${TLSLAB_STAGES:-}" ] ||
    printf '0\tpassed at the second attempt only: %s\n' "${failed[*]}" >>"$TLSLAB_STAGES"

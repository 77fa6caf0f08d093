#!/usr/bin/env bash
# once_more.sh BESIDE -- PYTEST...: runs PYTEST with the options BESIDE. Up to three tests that fail run
# once more, without BESIDE and therefore with no other test at the same time; only those that fail
# again are failures (docs/adr/0096). Both runs' outcomes are shown.
set -euo pipefail
beside=()
while [ "$1" != -- ]; do
    beside+=("$1")
    shift
done
shift
most=3
cache=$(mktemp -d)
trap 'rm -rf "$cache"' EXIT
pytest=("$@" -o "cache_dir=$cache")

code=0
"${pytest[@]}" "${beside[@]}" || code=$?
# Other codes than 1 are no failed tests: the run was interrupted, or could not start.
[ "$code" -eq 1 ] || exit "$code"
mapfile -t failed < <(sed -n 's/^  "\(.*\)": true,\{0,1\}$/\1/p' "$cache/v/cache/lastfailed")
if [ ${#failed[@]} -eq 0 ] || [ ${#failed[@]} -gt $most ]; then
    exit "$code"
fi
printf '\n== once more, with no other test at the same time:\n'
printf '%s\n' "${failed[@]}"
"${pytest[@]}" --last-failed --last-failed-no-failures none

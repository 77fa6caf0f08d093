#!/usr/bin/env bash
# Builds the benchmarks (java/) into java/target, once for each state of their sources; with "test" it
# runs their own tests as well, once for each state. The first time Maven downloads what it needs.
set -euo pipefail
cd "$(dirname "$0")/../java"

command -v mvn >/dev/null || {
    echo "the benchmarks need Maven and a JDK of 17 or later (Debian: maven, openjdk-17-jdk-headless)" >&2
    exit 3
}
sources=$(find pom.xml src -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -c 1-16)
jar=target/benchmarks.jar

has() { [ -f "$jar" ] && [ "$(cat "target/$1.stamp" 2>/dev/null)" = "$sources" ]; }

# What is in the local repository is not looked for anywhere else. Maven prints its errors on standard
# output: what it lacks without a network is no error, and is not shown.
log=$(mktemp)
trap 'rm -f "$log"' EXIT
maven() {
    mvn -q -B -o "$@" >"$log" 2>&1 || mvn -q -B "$@" >"$log" 2>&1 || {
        echo "Maven could not do it; its last words:" >&2
        tail -n 40 "$log" >&2
        exit 3
    }
}

if ! has built; then
    # Maven runs the tests before it packages: one start of it does both.
    if [ "${1:-}" = test ]; then maven package; else maven package -DskipTests; fi
    echo "$sources" >target/built.stamp
    [ "${1:-}" != test ] || echo "$sources" >target/tested.stamp
fi
if [ "${1:-}" = test ] && ! has tested; then
    maven test
    echo "$sources" >target/tested.stamp
fi
# The counts of the last run, in the form of a closing line.
if [ "${1:-}" = test ]; then
    awk -F'[:, ]+' '/^Tests run/ { run += $3; bad += $5 + $7; skipped += $9 }
        END { printf "%d passed, %d failed, %d skipped\n", run - bad - skipped, bad, skipped }' \
        target/surefire-reports/*.txt
fi

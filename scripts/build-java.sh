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

# What is in the local repository is not looked for anywhere else.
maven() { mvn -q -B -o "$@" 2>/dev/null || mvn -q -B "$@"; }

if ! has built; then
    maven package -DskipTests
    echo "$sources" >target/built.stamp
fi
if [ "${1:-}" = test ] && ! has tested; then
    maven test
    echo "$sources" >target/tested.stamp
fi

#!/usr/bin/env bash
# Writes the lock files anew from the ranges in pyproject.toml: exact versions with their hashes, the
# same for every Python from 3.11 on. What is locked stays as it is where the ranges allow; UPGRADE=1
# takes the newest.
set -euo pipefail
cd "$(dirname "$0")/.."
uv=.venv/bin/uv
[ -x "$uv" ] || uv=uv

lock() {
    local file=$1
    shift
    "$uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
        --no-emit-index-url --custom-compile-command scripts/lock.sh ${UPGRADE:+--upgrade} \
        --output-file "$file" "$@"
}

lock requirements.lock pyproject.toml --group build
lock requirements-test.lock --constraints requirements.lock --group test
lock requirements-dev.lock --constraints requirements.lock --constraints requirements-test.lock \
    --group dev

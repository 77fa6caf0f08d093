#!/usr/bin/env bash
# Makes the wheel and the sdist, in dist/ or in the folder that is named; only the wheel with --wheel behind
# the folder. The programs come out of target/, as
# `make setup` compiled them.
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-dist}
kinds=(--sdist --wheel)
[ $# -lt 2 ] || kinds=("${@:2}")
mkdir -p "$out"
rm -rf "$out"/tlslab-*.whl "$out"/tlslab-*.tar.gz
.venv/bin/python -m build --no-isolation "${kinds[@]}" --outdir "$out" .

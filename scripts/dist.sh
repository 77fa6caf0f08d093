#!/usr/bin/env bash
# Makes the wheel and the sdist, in dist/ or in the folder that is named. The programs come out of target/, as
# `make setup` compiled them.
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-dist}
mkdir -p "$out"
rm -rf "$out"/tlslab-*.whl "$out"/tlslab-*.tar.gz
.venv/bin/python -m build --no-isolation --sdist --wheel --outdir "$out" .

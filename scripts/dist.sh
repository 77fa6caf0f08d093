#!/usr/bin/env bash
# Makes the wheel and the sdist in dist/. The programs come out of target/, as `make setup` compiled them.
set -euo pipefail
cd "$(dirname "$0")/.."
rm -rf dist build
.venv/bin/python -m build --no-isolation --sdist --wheel --outdir dist .

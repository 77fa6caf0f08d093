#!/usr/bin/env bash
# Installs the wheel on every Python that tlslab is for and that is here, but the one of .venv, and runs the
# tests of parts there. Simulations of error rates are left out: they take half of the time, and what they
# count is numpy's and scipy's arithmetic, which the Python of .venv has tested.
set -euo pipefail
cd "$(dirname "$0")/.."
wheels=target/pythons/dist
scripts/dist.sh "$wheels" >/dev/null 2>&1 || scripts/dist.sh "$wheels"
own=$(.venv/bin/python -c 'import sys; print("%d.%d" % sys.version_info[:2])')

simulations=(
    tests/unit/bench
    tests/unit/analysis/stats
    tests/unit/analysis/history/test_error_rates.py
    tests/unit/analysis/test_gate.py
    tests/unit/analysis/test_littles_law.py
)

for version in 3.11 3.12 3.13; do
    [ "$version" != "$own" ] || continue
    python=$(scripts/find-python.sh "$version" 2>/dev/null) || {
        printf '== Python %s is not here: not tested\n' "$version"
        continue
    }
    printf '== Python %s, from the wheel\n' "$version"
    venv=target/pythons/$version
    .venv/bin/uv venv --quiet --clear --python "$python" "$venv"
    .venv/bin/uv pip install --quiet --python "$venv" --require-hashes -r requirements.lock -r requirements-test.lock
    .venv/bin/uv pip install --quiet --python "$venv" --no-deps "$wheels"/tlslab-*.whl
    "$venv/bin/python" -m pytest -q -n auto --dist loadfile -p no:cacheprovider "${simulations[@]/#/--ignore=}" tests/unit tests/golden
    TLSLAB_SHORT_RUNS=1 "$venv/bin/tlslab" run groups --quick --set group=X25519 --out "$(mktemp -d)/run" >/dev/null || [ $? -eq 1 ]
done

#!/usr/bin/env bash
# Installs the wheel on every Python that tlslab is for and that is here, but the one of .venv, and runs
# there what a version of Python can break: each module is imported, whole reports are made
# (tests/golden), and on the oldest and the newest the command line, run folders, experiments, processes
# and servers' files are tested. What is
# left out (analysis, advice, single parts of pages) is arithmetic and text, tested on .venv's Python.
# With TLSLAB_REQUIRE_PYTHONS a Python that is not here ends it with exit code 3.
# What is too new fails on the oldest, what was taken out on the newest: those between import everything,
# make the whole reports, and run an experiment.
set -euo pipefail
cd "$(dirname "$0")/.."
# The machine's own authorities, as pip has it: its network may have a registry of its own.
export UV_SYSTEM_CERTS=1
wheels=target/pythons/dist
scripts/dist.sh "$wheels" --wheel >/dev/null 2>&1 || scripts/dist.sh "$wheels" --wheel
own=$(.venv/bin/python -c 'import sys; print("%d.%d" % sys.version_info[:2])')

oldest=3.11 newest=3.13
few=(tests/golden)
many=("${few[@]}" tests/unit/{cli,domain,experiment,lab,servers})

import_all='
import importlib, pkgutil, tlslab
for module in pkgutil.walk_packages(tlslab.__path__, "tlslab."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
'

for version in 3.11 3.12 3.13; do
    [ "$version" != "$own" ] || continue
    python=$(scripts/find-python.sh "$version" 2>/dev/null) || {
        printf '== Python %s is not here: not tested\n' "$version"
        [ -z "${TLSLAB_REQUIRE_PYTHONS:-}" ] || exit 3
        continue
    }
    printf '== Python %s, from the wheel\n' "$version"
    venv=target/pythons/$version
    case $version in
        "$oldest" | "$newest") tests=("${many[@]}") ;;
        *) tests=("${few[@]}") ;;
    esac
    .venv/bin/uv venv --quiet --clear --python "$python" "$venv"
    install=(.venv/bin/uv pip install --quiet --python "$venv")
    "${install[@]}" --require-hashes -r requirements.lock -r requirements-test.lock
    "${install[@]}" --no-deps "$wheels"/tlslab-*.whl
    "$venv/bin/python" -W error::SyntaxWarning -c "$import_all"
    "$venv/bin/python" -m pytest -q -n auto --dist loadfile -p no:cacheprovider "${tests[@]}"
    TLSLAB_SHORT_RUNS=1 "$venv/bin/tlslab" run groups --quick --set group=X25519 \
        --out "$(mktemp -d)/run" >/dev/null || [ $? -eq 1 ]
done

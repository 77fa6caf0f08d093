#!/usr/bin/env bash
# mutants-python.sh [SECONDS]: mutation testing of the estimators: which changes of an expression no unit
# test notices (docs/mutation-testing.md). Of what is committed; for SECONDS at most (default 3600).
set -euo pipefail
cd "$(dirname "$0")/.."

version=3.8.1
seconds=${1:-3600}
modules=(stats/estimate stats/slope matrix/limit capacity/saturation stats/steady_state stats/scaling)
folder=$PWD/target/mutants/python
sources=$folder/sources
work=$folder/work

[ -x "$folder/venv/bin/mutmut" ] || {
    .venv/bin/python -m venv "$folder/venv"
    "$folder/venv/bin/pip" install --quiet --disable-pip-version-check -r requirements.lock
    "$folder/venv/bin/pip" install --quiet --disable-pip-version-check -r requirements-test.lock
    "$folder/venv/bin/pip" install --quiet --disable-pip-version-check "mutmut==$version"
}

# A copy in which mutmut finds the package beside the tests, and nothing else.
rm -rf "$sources" "$work"
git clone --quiet . "$sources"
mkdir -p "$work"
cp -r "$sources/python/tlslab" "$sources/tests" "$work/"
quoted() { printf '"%s",' "$@"; }
cat >"$work/pyproject.toml" <<TOML
[project]
name = "estimators"
version = "0"
[tool.pytest.ini_options]
timeout = 120
markers = ["alone: nothing else may run beside it"]
pythonpath = [".", "tests"]
addopts = "--import-mode=importlib -p no:cacheprovider"
[tool.mutmut]
source_paths = ["tlslab"]
only_mutate = [$(quoted "${modules[@]/#/tlslab/analysis/}" | sed 's/",/.py",/g')]
pytest_add_cli_args_test_selection = [$(quoted "${modules[@]/#/tests/unit/analysis/}" | sed -E 's#/([a-z_]+)",#/test_\1.py",#g')]
TOML
cd "$work"
code=0
timeout --signal INT "$seconds" "$folder/venv/bin/mutmut" run --max-children "$(nproc)" || code=$?
"$folder/venv/bin/mutmut" results | tee "$folder/survivors.txt" | sed -n 's/.*: //p' | sort | uniq -c
# 124 says that the time was up.
[[ $code == 0 || $code == 124 || $code == 130 ]]

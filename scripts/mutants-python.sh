#!/usr/bin/env bash
# mutants-python.sh [MODULE...]: mutation testing of the estimators, or of these modules of tlslab.analysis
# (stats/latency): which changes of an expression no unit test notices (docs/mutation-testing.md). Of what is
# committed. Runs for MINUTES at most (default 30) and goes on where earlier runs have ended:
# docs/mutants.tsv has what became of each mutant. AGAIN="survived timed-out" tries those once more.
# Simulations are left out (the mark `simulation`): they take minutes, and notice only large changes.
set -euo pipefail
cd "$(dirname "$0")/.."

version=3.8.1
modules=("$@")
[ $# -gt 0 ] ||
    modules=(stats/estimate stats/slope limit capacity/saturation stats/steady_state stats/scaling)
read -ra again <<<"${AGAIN:-}"
folder=$PWD/target/mutants/python
sources=$folder/sources
work=$folder/work
kept() { .venv/bin/python scripts/kept_mutants.py "$@"; }

# mutmut, and the packages of the tests from where `make dev` has installed them.
[ -x "$folder/venv/bin/mutmut" ] || {
    .venv/bin/python -m venv "$folder/venv"
    "$folder/venv/bin/pip" install --quiet --disable-pip-version-check "mutmut==$version"
    where='import sysconfig; print(sysconfig.get_path("purelib"))'
    .venv/bin/python -c "$where" >"$("$folder/venv/bin/python" -c "$where")/project.pth"
}

# A copy in which mutmut finds the package beside the tests, and nothing else.
rm -rf "$sources" "$work"
git clone --quiet . "$sources"
mkdir -p "$work"
cp -r "$sources/python/tlslab" "$sources/tests" "$sources/scripts" "$work/"
tests=()
for module in "${modules[@]}"; do
    # Named after the module: test_MODULE.py, test_MODULE_exact.py, test_MODULE_edges.py.
    at=tests/unit/analysis/$module
    for file in "${at%/*}/test_${at##*/}"{,_exact,_edges}.py; do
        [ ! -e "$sources/$file" ] || tests+=("$file")
    done
done
quoted() { printf '"%s",' "$@"; }
files=("${modules[@]/#/tlslab/analysis/}")
cat >"$work/pyproject.toml" <<TOML
[project]
name = "estimators"
version = "0"
[tool.pytest.ini_options]
timeout = 120
markers = ["alone: nothing else may run beside it", "cluster: of hosts", "slow: not in make test", "simulation: many made series", "stage(name): of another stage", "capability(name): of README"]
pythonpath = [".", "tests", "scripts"]
addopts = "--import-mode=importlib -p no:cacheprovider -m 'not simulation'"
[tool.mutmut]
source_paths = ["tlslab"]
only_mutate = [$(quoted "${files[@]/%/.py}")]
pytest_add_cli_args_test_selection = [$(quoted "${tests[@]}")]
TOML

# First the mutants are made and the tests timed: no mutant has this name.
log=$folder/run.log
(cd "$work" && timeout 900 "$folder/venv/bin/mutmut" run "no such mutant") >"$log" 2>&1 || true
kept made "$work" >"$folder/made.txt"
[ -s "$folder/made.txt" ] || { tail -n 40 "$log" >&2 && exit 3; }
sed 's/^untried\t//' "$folder/made.txt" | sort >"$folder/names.txt"
kept tried estimators "${again[@]/#/--again=}" | sort >"$folder/tried.txt"
mapfile -t names < <(comm -23 "$folder/names.txt" "$folder/tried.txt")
echo "== ${#names[@]} of $(wc -l <"$folder/names.txt") mutants are to be tried"

code=0
if [ ${#names[@]} -gt 0 ]; then
    (cd "$work" && timeout --signal INT "$((${MINUTES:-30} * 60))" \
        "$folder/venv/bin/mutmut" run --max-children "$(nproc)" "${names[@]}") >"$log" 2>&1 || code=$?
fi
# 124 says that the time was up.
[[ $code == 0 || $code == 124 || $code == 130 ]] || { tail -n 40 "$log" >&2 && exit "$code"; }
kept logged "$log" >"$folder/outcomes.txt"
cat "$folder/made.txt" "$folder/outcomes.txt" | kept keep estimators
kept table
# What the survivors change, of this run.
for name in $(sed -n 's/^survived\t//p' "$folder/outcomes.txt"); do
    (cd "$work" && "$folder/venv/bin/mutmut" show "$name") 2>/dev/null || echo "$name"
done | tee "$folder/survivors.diff"

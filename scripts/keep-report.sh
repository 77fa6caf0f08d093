#!/usr/bin/env bash
# Keeps the report of a run folder under docs/reports/NAME: the page with one plotly.js for all of them,
# the experiment and the environment as they were, and the raw trials where they are small.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -eq 2 ] || {
    echo "usage: scripts/keep-report.sh RUN_FOLDER NAME" >&2
    exit 2
}
run=$1 kept=docs/reports/$2
small=1000000

mkdir -p "$kept"
.venv/bin/python -c 'from plotly.offline import get_plotlyjs; print(get_plotlyjs())' >docs/reports/plotly.min.js
.venv/bin/tlslab report "$run" --format html --plotly ../plotly.min.js >"$kept/report.html"
cp "$run/experiment.toml" "$run/environment.json" "$run/plan.json" "$kept/"
# Where the folder was on this machine is nobody's business.
sed -i "s#$run#runs/$2#g" "$kept/report.html" "$kept/environment.json"
xz --keep --stdout "$run/trials.jsonl" >"$kept/trials.jsonl.xz"
if [ "$(stat -c %s "$kept/trials.jsonl.xz")" -gt "$small" ]; then
    rm "$kept/trials.jsonl.xz"
fi

#!/usr/bin/env bash
# Keeps a run under docs/reports/NAME: the experiment, the plan and the environment as they were, the raw
# trials (or the summary where these are too large), and what its page says as data.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -eq 2 ] || {
    echo "usage: scripts/keep-report.sh RUN_FOLDER NAME" >&2
    exit 2
}
run=$1 kept=docs/reports/$2
small=1500000
small_summary=300000

mkdir -p "$kept"
cp "$run/experiment.toml" "$run/environment.json" "$run/plan.json" "$kept/"
# Where folders were on this machine is nobody's business; an experiment's own file is the one kept here.
file=$(.venv/bin/python -c '
import json, sys
print(next((word for word in json.load(sys.stdin)["command"] if word.endswith(".toml")), ""))
' <"$kept/environment.json")
names="${file:+s#$file#$kept/experiment.toml#g; }s#$run#runs/$2#g"
sed -i "$names" "$kept/environment.json"
rm -f "$kept/summary.json.xz"
xz -9e --keep --stdout "$run/trials.jsonl" >"$kept/trials.jsonl.xz"
if [ "$(stat -c %s "$kept/trials.jsonl.xz")" -gt "$small" ]; then
    rm "$kept/trials.jsonl.xz"
    # Cells without a valid result (exit code 1) are no reason not to keep the others.
    { .venv/bin/tlslab report "$run" --format json || [ $? -eq 1 ]; } | sed "$names" | xz -9e --stdout >"$kept/summary.json.xz"
    if [ "$(stat -c %s "$kept/summary.json.xz")" -gt "$small_summary" ]; then
        echo "keep-report.sh: $kept/summary.json.xz has more than $small_summary bytes" >&2
        exit 1
    fi
fi
.venv/bin/python scripts/kept_reports.py "$2"

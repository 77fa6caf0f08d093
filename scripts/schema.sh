#!/usr/bin/env bash
# schema.sh write: writes schema/ from the Rust and Python types, and the lab's types of the contract
# from schema/. schema.sh check: fails if either has drifted.
set -euo pipefail
load=.venv/bin/tlslab-load
python=.venv/bin/python
compare() {
    case "$1" in
    write) printf '%s\n' "$3" >"$2" ;;
    check)
        diff -u "$2" <(printf '%s\n' "$3") >&2 || {
            echo "$2 is not what the types say: run 'make schema'" >&2
            exit 1
        }
        ;;
    esac
}

mkdir -p schema
for format in spec record hold in_memory primitives probe-spec probe; do
    fresh=$("$load" --print-schema "${format/_/-}" | "$python" -m json.tool --sort-keys)
    compare "$1" "schema/$format.json" "$fresh"
done
"$python" scripts/contract_types.py "$1"
fresh=$("$python" scripts/summary_schema.py)
compare "$1" schema/summary.json "$fresh"

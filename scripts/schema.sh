#!/usr/bin/env bash
# schema.sh write: writes schema/ from the Rust and Python types. schema.sh check: fails if schema/ has
# drifted.
set -euo pipefail
load=.venv/bin/tlslab-load
python=.venv/bin/python
for format in spec record hold in_memory primitives probe-spec probe summary; do
    file="schema/$format.json"
    case "$format" in
    summary) fresh=$("$python" scripts/summary_schema.py) ;;
    *) fresh=$("$load" --print-schema "${format/_/-}" | "$python" -m json.tool --sort-keys) ;;
    esac
    case "$1" in
    write)
        mkdir -p schema
        printf '%s\n' "$fresh" >"$file"
        ;;
    check)
        diff -u "$file" <(printf '%s\n' "$fresh") >&2 || {
            echo "$file is not what the types say: run 'make schema'" >&2
            exit 1
        }
        ;;
    esac
done

#!/usr/bin/env bash
# Runs the TLS 1.3 client cases of BoringSSL's BoGo with the engine's three clients, and accounts for
# each (docs/adr/0047). The runner comes in the source of crate boring-sys; needs Go 1.25 or later.
# bogo.sh [--write]: with it docs/reference/bogo.md is made anew. BOGO_CASES="PATTERN;..." runs those
# cases alone and accounts for nothing; their outcomes are in target/bogo/CLIENT.json.
set -euo pipefail
cd "$(dirname "$0")/.."

clients=(minimal rustls openssl)
build=$PWD/target/bogo
reasons=tests/bogo
fail() {
    echo "$1" >&2
    exit 3
}
command -v go >/dev/null || fail "BoGo needs Go 1.25 or later: install it"

# Fetches the crate, unless it is there.
manifest=tests/bogo/runner/Cargo.toml
mkdir -p "$build"
cargo metadata --quiet --locked --format-version 1 --manifest-path "$manifest" >"$build/metadata.json" ||
    fail "cargo could not fetch the source of BoGo: see above"
crate=$(python3 -c 'if True:
    import json, os, sys
    packages = json.load(open(sys.argv[1]))["packages"]
    print(*(os.path.dirname(p["manifest_path"]) for p in packages if p["name"] == "boring-sys"))
' "$build/metadata.json")
boringssl=$crate/deps/boringssl

sources=("$manifest" "${manifest%.toml}.lock" tests/bogo/cases_test.go scripts/bogo.sh)
stamp=$(cat "${sources[@]}" | sha256sum | cut -c 1-16)
if [ ! -x "$build/runner-$stamp" ]; then
    rm -rf "$build/source" "$build"/runner-*
    mkdir -p "$build/source/ssl/test" "$build/source/util"
    cp "$boringssl"/go.{mod,sum} "$build/source"
    cp -R "$boringssl/ssl/test/runner" "$build/source/ssl/test"
    cp -R "$boringssl/util/testresult" "$build/source/util"
    runner=$build/source/ssl/test/runner
    cp tests/bogo/cases_test.go "$runner"
    # Its keys are not in the crate; which ones they are does not matter.
    new_key() { openssl genpkey -algorithm "$1" -out "$runner/$2_key.pem" "${@:3}" 2>"$build/log"; }
    new_key RSA rsa_1024 -pkeyopt rsa_keygen_bits:1024
    new_key RSA rsa_2048 -pkeyopt rsa_keygen_bits:2048
    for size in 256 384 521; do new_key EC "ecdsa_p$size" -pkeyopt "ec_paramgen_curve:P-$size"; done
    new_key EC channel_id -pkeyopt ec_paramgen_curve:P-256
    new_key ED25519 ed25519
    # go.sum of the crate says what its modules hold. With -trimpath, as scripts/build-signer.sh has it, Go
    # compiles its standard library once for both.
    export GOFLAGS="-mod=readonly -buildvcs=false"
    (cd "$runner" && go test -c -trimpath -vet=off -o "$build/new" .) >"$build/log" 2>&1 || {
        cat "$build/log" >&2
        fail "BoGo's runner could not be built: see above"
    }
    mv "$build/new" "$build/runner-$stamp"
fi
# With the features of the whole workspace, as the tests: for tlslab-load alone, cargo would compile most
# crates a second time.
cargo build --release --locked --quiet --workspace --example bogo_shim

for client in "${clients[@]}"; do
    rm -f "$build/$client.json"
    BOGO_OUTCOMES=$build/$client.json timeout 170 "$build/runner-$stamp" -test.run '^TestCases$' \
        -shim-path "$PWD/target/release/examples/bogo_shim" -shim-extra-flags "-client;$client" \
        -shim-config "$reasons/$client.json" -num-workers 4 -pipe >"$build/log" 2>&1 || {
        tail -n 40 "$build/log" >&2
        fail "the runner failed with client $client: see above"
    }
done
[ -n "${BOGO_CASES:-}" ] || python3 tests/bogo/accounting.py "$build" "$@"

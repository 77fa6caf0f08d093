#!/usr/bin/env bash
# mutants.sh minimal|accounting: mutation testing of the minimal client, or of the accounting: which changes
# of a line no test notices (docs/mutation-testing.md). Of what is committed. Runs for MINUTES at most
# (default 30), in random order, and goes on where earlier runs have ended: docs/mutants.tsv has what became
# of each mutant. AGAIN="survived timed-out" tries those once more. THOROUGH=1 runs the integration tests of
# the crate as well, some minutes for each mutant: for survivors.
set -euo pipefail
cd "$(dirname "$0")/.."

part=${1:?which part: minimal or accounting}
case $part in
    minimal)
        crate=tls files='crates/tls/src/rustls/minimal/*.rs' tests=(minimal::)
        # Code of the tests and fuzz targets.
        left_out='crates/tls/src/rustls/minimal/invariants.rs'
        programs=(--lib)
        ;;
    accounting)
        crate=load files='crates/load/src/recorder/*.rs' tests=(recorder::)
        left_out='crates/load/src/recorder/tests.rs'
        programs=(--lib)
        [ -z "${THOROUGH:-}" ] || programs=(--lib --test=engine) tests=()
        ;;
    *)
        echo "no such part: $part" >&2
        exit 2
        ;;
esac
read -ra again <<<"${AGAIN:-}"
version=27.1.0
root=$PWD
folder=$root/target/mutants
found=$folder/$part
kept() { python3 "$root/scripts/kept_mutants.py" "$@"; }

# Without optimisation: it takes a minute instead of three, and lists and starts no slower.
if [ "$("$folder/tools/bin/cargo-mutants" mutants --version 2>/dev/null)" != "cargo-mutants $version" ]; then
    cargo install --quiet --debug --locked --root "$folder/tools" "cargo-mutants@$version"
fi

# A clone, brought up to date: what has not changed since keeps its times, so that cargo compiles it once.
[ -d "$folder/sources" ] || git clone --quiet . "$folder/sources"
git -C "$folder/sources" fetch --quiet "$root" HEAD
git -C "$folder/sources" reset --quiet --hard FETCH_HEAD
# The crates of others are compiled as in `make setup`: what is there is copied, with its times.
export CARGO_TARGET_DIR=$folder/build
if [ ! -d "$folder/build" ] && [ -d target/release/deps ]; then
    mkdir -p "$folder/build/release/deps"
    cp -a target/release/.fingerprint target/release/build "$folder/build/release/"
    cp -a target/release/deps/*.* "$folder/build/release/deps/"
fi
cd "$folder/sources"

# Per mutant one crate is compiled: its test program alone (cargo-mutants would build all of them), without
# optimisation, incrementally, in small units. A failed test ends the program: the option of the standard
# test program for that is unstable, and is asked for where the program is run, not where it is compiled.
settings="profile.release.package.tlslab-$crate"
built=(--release "${programs[@]}" "--config=$settings.opt-level=0" "--config=$settings.codegen-units=64")
export CARGO_PROFILE_RELEASE_INCREMENTAL=true
host=$(rustc -vV | sed -n 's/^host: //p')
runner=CARGO_TARGET_$(tr 'a-z-' 'A-Z_' <<<"$host")_RUNNER
export "$runner=env RUSTC_BOOTSTRAP=1"
harness=("${tests[@]}" -Zunstable-options --fail-fast)

cargo test --quiet --locked -p "tlslab-$crate" "${built[@]}" --no-run
began=$SECONDS
cargo test --quiet --locked -p "tlslab-$crate" "${built[@]}" -- "${harness[@]}" >"$folder/unchanged.log"
seconds=$((SECONDS - began + 1))
grep -q '^test result: ok. [1-9]' "$folder/unchanged.log" || { echo "no test was run" >&2 && exit 3; }

# What has been tried counts as caught: it is left out.
rm -rf "$found"
mkdir -p "$found/mutants.out"
kept tried "$part" "${again[@]/#/--again=}" >"$found/mutants.out/previously_caught.txt"
chosen=(-f "$files" -e "$left_out" -p "tlslab-$crate")
mutants() { "$folder/tools/bin/cargo-mutants" mutants --colors=never "${chosen[@]}" "$@"; }
mutants --list >"$folder/$part.txt"
echo "== the tests take $seconds s; $(wc -l <"$found/mutants.out/previously_caught.txt") of" \
    "$(wc -l <"$folder/$part.txt") mutants have been tried"
code=0
timeout --signal INT "$((${MINUTES:-30} * 60))" "$folder/tools/bin/cargo-mutants" mutants --colors=never \
    "${chosen[@]}" --in-place --iterate --shuffle --baseline skip --timeout $((5 * seconds + 10)) \
    --build-timeout 300 -o "$found" "${built[@]/#/--cargo-arg=}" -- -- "${harness[@]}" || code=$?
# 2 says that some survived, 3 that some timed out, 124 that the time was up.
[[ $code == [023] || $code == 124 ]] || exit "$code"

{
    sed 's/^/untried\t/' "$folder/$part.txt"
    for outcome in caught:caught missed:survived timeout:timed-out unviable:unbuildable; do
        sed "s/^/${outcome#*:}\t/" "$found/mutants.out/${outcome%:*}.txt"
    done
} | kept keep "$part"
kept table
# The survivors by name; what was changed is in target/mutants/PART/mutants.out/diff.
cat "$found/mutants.out/missed.txt"

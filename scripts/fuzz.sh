#!/usr/bin/env bash
# Runs each fuzz target for SECONDS seconds (default 60), from its seeds and from what earlier runs
# have learnt; with names of targets, only those. What breaks one stays in target/fuzz/broken.
set -euo pipefail
cd "$(dirname "$0")/.."

version=0.13.2
seconds=${1:-60}
shift $(($# > 0))
tools=$PWD/target/fuzz/tools

# It calls cargo and the targets, and computes nothing: not optimised, it is compiled sooner.
if [ "$("$tools/bin/cargo-fuzz" --version 2>/dev/null)" != "cargo-fuzz $version" ]; then
    cargo install --quiet --debug --locked --root "$tools" "cargo-fuzz@$version" 2>/dev/null ||
        cargo install --debug --locked --root "$tools" "cargo-fuzz@$version"
fi

# The address sanitizer is part of every toolchain, but asked for by a flag that only nightly takes
# otherwise (docs/adr/0019).
export RUSTC_BOOTSTRAP=1
cargo_fuzz() { "$tools/bin/cargo-fuzz" "$1" --target-dir target/fuzz/build "${@:2}"; }
# Clippy is the compiler of the targets themselves: what it compiles it has checked.
export RUSTC_WORKSPACE_WRAPPER=clippy-driver CLIPPY_ARGS=-Dwarnings
# Debian has libFuzzer compiled; elsewhere libfuzzer-sys compiles it, which takes over a minute.
found=$(compgen -G "/usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-$(uname -m).a" || true)
library=$(sort -V <<<"$found" | tail -n 1)
[ -z "$library" ] || export CUSTOM_LIBFUZZER_PATH=$library
quietly() { "$@" >target/fuzz/log 2>&1 || { cat target/fuzz/log >&2 && exit 1; }; }
mkdir -p target/fuzz
quietly cargo_fuzz build

run() {
    local target=$1 log=target/fuzz/$1.log
    mkdir -p "target/fuzz/corpus/$target" "target/fuzz/broken/$target"
    if cargo_fuzz run "$target" "target/fuzz/corpus/$target" "fuzz/seeds/$target" -- \
        "-max_total_time=$seconds" -timeout=10 -rss_limit_mb=1024 \
        "-artifact_prefix=target/fuzz/broken/$target/" >"$log" 2>&1; then
        grep '^Done' "$log" | sed "s/^Done/$target:/"
    else
        tail -n 60 "$log" >&2
        echo "$target is broken by a file in target/fuzz/broken/$target" >&2
        return 1
    fi
}

# As many at once as there are processors.
targets=("$@")
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <("$tools/bin/cargo-fuzz" list)
code=0
while [ ${#targets[@]} -gt 0 ]; do
    ids=()
    for target in "${targets[@]:0:$(nproc)}"; do
        run "$target" &
        ids+=($!)
    done
    for id in "${ids[@]}"; do wait "$id" || code=1; done
    targets=("${targets[@]:$(nproc)}")
done
exit $code

#!/usr/bin/env bash
# Runs each fuzz target for SECONDS seconds (default 60), from its seeds and from what earlier runs
# have learnt; with names of targets, only those. What breaks one stays in target/fuzz/broken.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-60}
shift $(($# > 0))
host=$(rustc -vV | sed -n 's/^host: //p')
built=target/fuzz/build/$host/release

# What libFuzzer needs to see of a program, as `cargo fuzz build --strip-dead-code` asks for it. The
# address sanitizer is part of every toolchain, but asked for by a flag that only nightly takes
# otherwise (docs/adr/0019).
flags=(-Cpasses=sancov-module -Ccodegen-units=1 -Zsanitizer=address --cfg fuzzing -Cdebug-assertions)
for option in level=4 inline-8bit-counters pc-table trace-compares stack-depth; do
    flags+=("-Cllvm-args=-sanitizer-coverage-$option")
done
# Clippy is the compiler of the targets themselves: what it compiles it has checked.
export RUSTC_WORKSPACE_WRAPPER=clippy-driver CLIPPY_ARGS=-Dwarnings
# Debian has libFuzzer compiled; elsewhere libfuzzer-sys compiles it, which takes over a minute.
found=$(compgen -G "/usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-$(uname -m).a" || true)
library=$(sort -V <<<"$found" | tail -n 1)
[ -z "$library" ] || export CUSTOM_LIBFUZZER_PATH=$library
mkdir -p target/fuzz
RUSTC_BOOTSTRAP=1 RUSTFLAGS="${flags[*]}" cargo build --release --locked --quiet --bins \
    --manifest-path fuzz/Cargo.toml --target "$host" --target-dir target/fuzz/build

run() {
    local target=$1 log=target/fuzz/$1.log
    mkdir -p "target/fuzz/corpus/$target" "target/fuzz/broken/$target"
    if "$built/$target" "target/fuzz/corpus/$target" "fuzz/seeds/$target" \
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
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <(basename -s .rs fuzz/fuzz_targets/*.rs)
number=${#targets[@]} failed=0
while [ ${#targets[@]} -gt 0 ]; do
    ids=()
    for target in "${targets[@]:0:$(nproc)}"; do
        run "$target" &
        ids+=($!)
    done
    for id in "${ids[@]}"; do wait "$id" || failed=$((failed + 1)); done
    targets=("${targets[@]:$(nproc)}")
done
echo "$((number - failed)) passed, $failed failed"
[ "$failed" -eq 0 ]

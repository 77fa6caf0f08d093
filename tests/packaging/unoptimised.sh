#!/bin/sh
# For RUSTC_WORKSPACE_WRAPPER: the project's own crates are compiled without optimisation, so that a test
# which compiles them once more takes a third of the time. Cargo keeps what comes of it apart.
exec "$@" -C opt-level=0 -C codegen-units=16

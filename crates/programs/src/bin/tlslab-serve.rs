//! `tlslab-serve`: the reference server of tlslab.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    tlslab_programs::serve::main()
}

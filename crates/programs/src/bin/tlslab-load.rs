//! `tlslab-load`: opens TLS connections to one server and measures them.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    tlslab_programs::load::main()
}

//! Gives the engine the versions of its TLS libraries are built in: they belong in every record,
//! and the libraries do not all say them themselves.

use std::fs;
use std::path::Path;

fn main() {
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock");
    println!("cargo:rerun-if-changed={}", lock.display());
    let lock = fs::read_to_string(lock).expect("the workspace has a Cargo.lock");
    for (package, variable) in [("rustls", "RUSTLS_VERSION"), ("aws-lc-sys", "AWS_LC_SYS_VERSION")]
    {
        let entry = format!("name = \"{package}\"\nversion = \"");
        let version = lock
            .split_once(&entry)
            .and_then(|(_, rest)| rest.split('"').next())
            .unwrap_or_else(|| panic!("Cargo.lock names no version of {package}"));
        println!("cargo:rustc-env={variable}={version}");
    }
}

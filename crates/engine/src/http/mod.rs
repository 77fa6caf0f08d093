//! HTTP, sans I/O: bytes in, progress out.

pub mod h1;
#[cfg(test)]
mod laws;

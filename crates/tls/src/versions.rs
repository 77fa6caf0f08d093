//! The versions of the built-in libraries.

use std::collections::BTreeMap;

/// The versions of this engine and of the libraries built into it.
pub fn versions() -> BTreeMap<String, String> {
    [
        ("tlslab", env!("CARGO_PKG_VERSION")),
        ("rustls", env!("RUSTLS_VERSION")),
        ("aws-lc-sys", env!("AWS_LC_SYS_VERSION")),
        #[cfg(feature = "openssl")]
        ("openssl", openssl::version::version()),
        ("nghttp2", tlslab_wire::http::h2::session::version()),
    ]
    .map(|(name, version)| (name.to_owned(), version.to_owned()))
    .into()
}

//! The cost of each TLS primitive on this machine: the physical limit of a handshake.
//!
//! Every primitive is called repeatedly with nothing in between, through the interface that the TLS
//! library itself uses. `operation` times all primitives in interleaved rounds; `aws_lc` and
//! `openssl` contain the primitives of the two libraries, and `tcp` the bare TCP connection.

mod aws_lc;
mod key_schedule;
#[cfg(feature = "openssl")]
mod openssl;
mod operation;
mod record;
mod tcp;

use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

pub use record::{PRIMITIVES_SCHEMA, Primitive, PrimitivesRecord, PrimitivesSpec};
pub use tcp::{RESPONSE_BYTES, TCP};

use self::operation::{Operation, measure_all};
use crate::default_scheme::default_scheme;
use tlslab_system::environment::environment;
use tlslab_system::processor;
use tlslab_tls::versions::versions;
use tlslab_tls::{BackendError, OPENSSL_NAME, rustls as rustls_backend};
use tlslab_wire::names::KeyKind;
use tlslab_wire::names::{CipherSuite, SignatureScheme};

/// Errors that prevent a measurement.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages are the documentation")]
pub enum PrimitivesError {
    #[error("{0} is not a loopback address: the bare TCP connection is for this machine only")]
    NotLoopback(SocketAddr),
    #[error("a primitive's time must be at least a millisecond")]
    NoTime,
    #[error("{0} is obsolete: not measured")]
    Obsolete(String),
    #[error("cannot pin to processor {processor}: {source}")]
    Pin { processor: usize, source: io::Error },
    #[error("bare TCP connection: {0}")]
    Tcp(io::Error),
    #[error("cannot make a certificate: {0}")]
    Certificate(String),
    #[error(transparent)]
    Backend(#[from] BackendError),
}

impl PrimitivesError {
    /// True if the specification is at fault rather than this machine.
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::NotLoopback(_) | Self::NoTime | Self::Obsolete(_))
    }
}

/// Measures all specified primitives.
///
/// # Errors
/// The specification is invalid, or the machine refuses a socket or a processor.
pub fn measure(
    spec: PrimitivesSpec,
    interrupt: &AtomicBool,
) -> Result<PrimitivesRecord, PrimitivesError> {
    if let Some(address) = spec.plain.filter(|address| !address.ip().is_loopback()) {
        return Err(PrimitivesError::NotLoopback(address));
    }
    if spec.time_ms == 0 {
        return Err(PrimitivesError::NoTime);
    }
    if let Some(what) = obsolete(&spec) {
        return Err(PrimitivesError::Obsolete(what));
    }
    if let Some(processor) = spec.cpu {
        processor::pin(processor).map_err(|source| PrimitivesError::Pin { processor, source })?;
    }
    let mut operations = Vec::new();
    if spec.has_backend(rustls_backend::NAME) {
        aws_lc::operations(&spec, &mut operations).map_err(PrimitivesError::Certificate)?;
    }
    if spec.has_backend(OPENSSL_NAME) {
        add_openssl(&spec, &mut operations)?;
    }
    let time = Duration::from_millis(spec.time_ms);
    let mut primitives = measure_all(operations, time, interrupt);
    if spec.tcp {
        primitives.extend(tcp::measure(&spec, time, interrupt).map_err(PrimitivesError::Tcp)?);
    }
    Ok(PrimitivesRecord {
        schema: PRIMITIVES_SCHEMA.to_owned(),
        spec,
        versions: versions(),
        environment: environment(),
        primitives,
    })
}

#[cfg(feature = "openssl")]
fn add_openssl(spec: &PrimitivesSpec, all: &mut Vec<Operation>) -> Result<(), PrimitivesError> {
    openssl::operations(spec, all).map_err(PrimitivesError::Certificate)
}

/// A build without OpenSSL measures what it has, unless OpenSSL is asked for by name.
#[cfg(not(feature = "openssl"))]
fn add_openssl(spec: &PrimitivesSpec, _: &mut Vec<Operation>) -> Result<(), PrimitivesError> {
    if spec.backends.is_empty() {
        return Ok(());
    }
    Err(BackendError::NotBuilt { lacking: None }.into())
}

/// The first obsolete item of a specification, if any.
fn obsolete(spec: &PrimitivesSpec) -> Option<String> {
    let suite = spec.suites.iter().find(|suite| suite.is_obsolete());
    let key = spec.certificates.iter().find(|key| key.is_obsolete());
    suite.map(ToString::to_string).or_else(|| key.map(ToString::to_string))
}

/// The input lengths of hashing, encryption and decryption in bytes. From these two, the cost of
/// any other length follows.
const SIZES: [u32; 2] = [64, 16 * 1024];

/// The input of a CertificateVerify signature: 98 bytes and a hash (RFC 8446, section 4.4.3).
const SIGNED: [u8; 130] = [2; 130];

/// The TLS schemes of a kind of key, each with its name in the record. The cost of RSA depends on
/// the size of the key, which the names of the schemes do not contain.
fn schemes(certificate: KeyKind) -> Vec<(SignatureScheme, String)> {
    let rsa = ["rsa_pss_rsae_sha256", "rsa_pkcs1_sha256"];
    match certificate {
        KeyKind::Rsa1024 | KeyKind::Rsa2048 | KeyKind::Rsa3072 | KeyKind::Rsa4096 => rsa
            .iter()
            .map(|name| (name.parse().expect("a known scheme"), format!("{name} {certificate}")))
            .collect(),
        _ => vec![(default_scheme(certificate), default_scheme(certificate).to_string())],
    }
}

/// The distinct hashes and ciphers of some suites.
fn protections(suites: &[CipherSuite]) -> (BTreeSet<String>, BTreeSet<String>) {
    let names = || suites.iter().map(ToString::to_string);
    let hash = |name: String| match name.ends_with("SHA384") {
        true => "SHA-384".to_owned(),
        false => "SHA-256".to_owned(),
    };
    // A CBC suite names its MAC; the hash at the end of an AEAD suite is that of the key schedule.
    let cipher = |name: String| {
        let body = name.split_once("_WITH_").map_or(&name[4..], |(_, body)| body);
        let cipher = match body.contains("_CBC_") {
            true => body,
            false => body.trim_end_matches("_SHA256").trim_end_matches("_SHA384"),
        };
        cipher.replace('_', "-")
    };
    (names().map(hash).collect(), names().map(cipher).collect())
}

/// A primitive of a library, to be measured.
fn operation(
    backend: &'static str,
    algorithm: impl ToString,
    name: &'static str,
    bytes: Option<u32>,
    call: impl FnMut() + 'static,
) -> Operation {
    Operation::new(backend, algorithm.to_string(), name, bytes, Box::new(call))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suites_name_their_hash_and_their_protection() {
        let suites: Vec<CipherSuite> = [
            "TLS_AES_256_GCM_SHA384",
            "TLS_CHACHA20_POLY1305_SHA256",
            "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
            "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
        ]
        .map(|name| name.parse().unwrap())
        .into();
        let (hashes, ciphers) = protections(&suites);
        assert_eq!(Vec::from_iter(hashes), ["SHA-256", "SHA-384"]);
        let expected = ["AES-128-CBC-SHA", "AES-256-GCM", "CHACHA20-POLY1305"];
        assert_eq!(Vec::from_iter(ciphers), expected);
    }

    #[test]
    fn an_rsa_scheme_names_the_size_of_its_key() {
        let names: Vec<_> = schemes(KeyKind::Rsa3072).into_iter().map(|(_, name)| name).collect();
        assert_eq!(names, ["rsa_pss_rsae_sha256 rsa-3072", "rsa_pkcs1_sha256 rsa-3072"]);
    }
}

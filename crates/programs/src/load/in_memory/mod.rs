//! `tlslab-load in-memory`: TLS client and server in one process, without sockets.

mod keys;
mod text;

use std::io::{self, Write};
use std::sync::atomic::Ordering;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use tlslab_contract::spec::{BackendChoice, Stop};
use tlslab_microbench::in_memory::{
    BulkSpec, Direction, HandshakeForm, InMemoryError, InMemoryRecord, InMemorySpec, KeyError,
    measure,
};
use tlslab_wire::names::KeyKind;
use tlslab_wire::names::{CipherSuite, Group, SignatureScheme, TlsVersion};

use crate::load::ending::Ending;
use crate::load::problem::Problem;
use crate::load::{interrupt_flag, print_json};
use crate::values::{Processors, milliseconds, processors, time};

/// Measures TLS handshakes, or the transfer of records, with client and server in one thread:
/// without sockets, without the kernel, and without state that threads share.
///
/// All negotiated settings are fixed, and verified on both sides of every handshake. Exit status: 0
/// done and valid, 1 done but a verdict failed, 2 wrong usage, 3 could not run, 130 interrupted.
#[derive(Debug, Parser)]
pub struct Arguments {
    /// TLS library of both sides
    #[arg(long, value_enum, default_value = "auto", value_name = "NAME")]
    backend: BackendName,

    /// Number of threads; each has one client and one server
    #[arg(short, long, default_value_t = 1, value_name = "N")]
    threads: u32,

    /// Processors to pin the threads to: 1 or 0,2-3
    #[arg(long, value_parser = processors, value_name = "LIST")]
    cpu: Option<Processors>,

    /// Length of the measurement: 500ms, 10s, 2m; with --bulk of each suite, record size and
    /// direction
    #[arg(short, long, value_parser = time, default_value = "2s", value_name = "TIME")]
    duration: Duration,

    /// Number of handshakes to measure, instead of a time; with --bulk number of records
    #[arg(short = 'n', long, value_name = "COUNT", conflicts_with = "duration")]
    count: Option<u64>,

    /// Protocol version: 1.2, 1.3
    #[arg(long, default_value = "1.3", value_name = "VERSION")]
    tls: TlsVersion,

    /// Cipher suite; repeatable with --bulk [default: AES-128-GCM with SHA-256]
    #[arg(long, value_name = "SUITE")]
    suite: Vec<CipherSuite>,

    /// Key-exchange group
    #[arg(long, default_value = "X25519", value_name = "GROUP")]
    group: Group,

    /// Kind of the server's certificate key: ecdsa-p256, ecdsa-p384, ecdsa-p521, rsa-2048,
    /// rsa-3072, rsa-4096, ed25519
    #[arg(long, default_value = "ecdsa-p256", value_name = "KEY")]
    certificate: KeyKind,

    /// Signature scheme of the server [default: that of the key's curve, or RSA-PSS with SHA-256]
    #[arg(long, value_name = "SCHEME")]
    sigalg: Option<SignatureScheme>,

    /// Kind of handshake: full, resumed (by single-use tickets), or mutual (with a client
    /// certificate)
    #[arg(long, value_enum, default_value = "full", value_name = "FORM")]
    handshake: FormName,

    /// Kind of the client's certificate key [default: that of --certificate]
    #[arg(long, value_name = "KEY")]
    client_certificate: Option<KeyKind>,

    /// Measure the transfer of records instead of handshakes
    #[arg(long)]
    bulk: bool,

    /// With --bulk: plaintext of a record in bytes (repeatable) [default: 256, 1024, 4096, 16384]
    #[arg(long, value_name = "BYTES", requires = "bulk")]
    record_size: Vec<u32>,

    /// With --bulk: direction of the records: from the client (send), from the server (receive), or
    /// both, one after the other [default: both]
    #[arg(long, value_enum, value_name = "WAY", requires = "bulk")]
    direction: Option<DirectionName>,

    #[command(flatten)]
    keys: keys::KeyArguments,

    /// Print the record as JSON, and nothing else, to standard output
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum BackendName {
    Auto,
    Rustls,
    Openssl,
}

#[derive(Debug, Clone, Copy, PartialEq, ValueEnum)]
enum FormName {
    Full,
    Resumed,
    Mutual,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum DirectionName {
    Send,
    Receive,
    Both,
}

/// The default record sizes in bytes, from small messages to full records.
const RECORD_SIZES: [u32; 4] = [256, 1024, 4096, 16 * 1024];

/// The JSON Schema of the record.
pub fn schema() -> Result<schemars::Schema, Problem> {
    Ok(schemars::schema_for!(InMemoryRecord))
}

/// Measures and prints the record.
pub fn run(arguments: Arguments) -> Result<Ending, Problem> {
    let interrupt = interrupt_flag()?;
    let json = arguments.json;
    let spec = arguments.spec()?;
    interrupt.store(false, Ordering::SeqCst);
    let record = measure(spec, &interrupt)?;
    if json {
        print_json(&record)?;
    } else {
        write!(io::stdout(), "{}", text::summary(&record))?;
    }
    Ok(Ending::of(&record.verdicts, !json))
}

impl Arguments {
    fn spec(self) -> Result<InMemorySpec, Problem> {
        if self.client_certificate.is_some() && self.handshake != FormName::Mutual {
            let words = "--client-certificate needs --handshake mutual";
            return Err(Problem::usage(words.to_owned()));
        }
        let mut spec = InMemorySpec::new(self.tls, self.certificate);
        spec.backend = match self.backend {
            BackendName::Auto => BackendChoice::Auto,
            BackendName::Rustls => BackendChoice::Rustls,
            BackendName::Openssl => BackendChoice::Openssl,
        };
        spec.threads = self.threads;
        spec.cpus = self.cpu.unwrap_or_default().0;
        spec.stop = match self.count {
            Some(count) => Stop::Count(count),
            None => Stop::DurationMs(milliseconds(self.duration)),
        };
        if !self.suite.is_empty() {
            spec.suites = self.suite;
        }
        spec.group = self.group;
        spec.signature_scheme = self.sigalg.unwrap_or(spec.signature_scheme);
        spec.handshake = match self.handshake {
            FormName::Full => HandshakeForm::Full,
            FormName::Resumed => HandshakeForm::Resumed,
            FormName::Mutual => HandshakeForm::Mutual,
        };
        spec.client_certificate = self.client_certificate.unwrap_or(spec.client_certificate);
        spec.key_away = self.keys.key_away(spec.handshake)?;
        spec.bulk = self.bulk.then(|| BulkSpec {
            record_sizes: match self.record_size.as_slice() {
                [] => RECORD_SIZES.to_vec(),
                sizes => sizes.to_vec(),
            },
            direction: match self.direction {
                Some(DirectionName::Send) => Direction::Send,
                Some(DirectionName::Receive) => Direction::Receive,
                Some(DirectionName::Both) | None => Direction::Both,
            },
        });
        Ok(spec)
    }
}

impl From<InMemoryError> for Problem {
    fn from(error: InMemoryError) -> Self {
        let message = error.to_string();
        match error {
            InMemoryError::Backend(_) => Self::of_class("unsupported", message, true),
            InMemoryError::Usage(_) | InMemoryError::Key(KeyError::Usage(_)) => {
                Self::usage(message)
            }
            InMemoryError::Key(KeyError::Unusable(_)) => Self::of_class("key", message, false),
            InMemoryError::Pin { .. } => Self::of_class("pin", message, false),
            _ => Self::of_class("handshake", message, false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(flags: &[&str]) -> Result<InMemorySpec, Problem> {
        let command = ["tlslab-load"].iter().chain(flags);
        Arguments::try_parse_from(command).unwrap().spec()
    }

    #[test]
    fn flags_make_a_specification() {
        let made = spec(&["--certificate", "rsa-2048", "--tls", "1.2", "-n", "7"]).unwrap();
        assert_eq!(made.stop, Stop::Count(7));
        assert_eq!(made.suites[0].to_string(), "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256");
        assert_eq!(made.signature_scheme.to_string(), "rsa_pss_rsae_sha256");
        let bulk = spec(&["--bulk"]).unwrap().bulk.unwrap();
        assert_eq!((bulk.record_sizes.len(), bulk.direction), (4, Direction::Both));
    }

    #[test]
    fn flags_that_would_do_nothing_are_refused() {
        assert!(spec(&["--client-certificate", "ed25519"]).is_err());
        let parse =
            |flags: [&str; 3]| Arguments::try_parse_from(["tlslab-load"].into_iter().chain(flags));
        assert!(parse(["--record-size", "256", "--json"]).is_err());
        assert!(parse(["--lean", "--json", "--bulk"]).is_err());
    }
}

//! `tlslab-load primitives`: the cost of each TLS primitive on this machine.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use tlslab_microbench::primitives::{
    PrimitivesError, PrimitivesRecord, PrimitivesSpec, RESPONSE_BYTES, measure,
};
use tlslab_wire::names::KeyKind;
use tlslab_wire::names::{CipherSuite, Group};

use crate::load::ending::{Ending, INTERRUPTED};
use crate::load::problem::Problem;
use crate::load::{interrupt_flag, print_json};
use crate::values::{milliseconds, time};

/// Measures the cost of each TLS primitive on this machine: key exchanges, signatures, hashes, key
/// schedules, record protection, and the bare TCP connection over loopback.
///
/// A primitive is called again and again, in seven interleaved rounds; the result is processor time
/// per call. Without --group, --certificate and --suite all primitives are measured; with any of
/// these options only the named ones. Exit status: 0 done, 2 wrong usage, 3 could not run, 130
/// interrupted.
#[derive(Debug, Parser)]
pub struct Arguments {
    /// TLS library (repeatable) [default: both]
    #[arg(long, value_enum, value_name = "NAME")]
    backend: Vec<BackendName>,

    /// Key-exchange group to measure (repeatable)
    #[arg(long, value_name = "GROUP")]
    group: Vec<Group>,

    /// Kind of certificate key whose signatures to measure (repeatable)
    #[arg(long, value_name = "KEY")]
    certificate: Vec<KeyKind>,

    /// Cipher suite whose hash, key schedule and record protection to measure (repeatable)
    #[arg(long, value_name = "SUITE")]
    suite: Vec<CipherSuite>,

    /// Time to measure each primitive, over all rounds
    #[arg(long, value_parser = time, default_value = "20ms", value_name = "TIME")]
    time: Duration,

    /// Processor to pin the program to
    #[arg(long, value_name = "NUMBER")]
    cpu: Option<usize>,

    /// Omit the bare TCP connection
    #[arg(long)]
    no_tcp: bool,

    /// Plain HTTP server on a loopback address for the bare TCP connection, instead of the built-in
    /// listener
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with = "no_tcp")]
    plain: Option<SocketAddr>,

    /// Size of the built-in listener's response, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = RESPONSE_BYTES,
          value_parser = clap::value_parser!(u32).range(1..=32_768),
          conflicts_with_all = ["no_tcp", "plain"])]
    response_bytes: u32,

    /// Print the record as JSON, and nothing else, to standard output
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum BackendName {
    Rustls,
    Openssl,
}

/// Measures and prints the record.
pub fn run(arguments: Arguments) -> Result<Ending, Problem> {
    let interrupt = interrupt_flag()?;
    let json = arguments.json;
    interrupt.store(false, Ordering::SeqCst);
    let record = measure(arguments.spec(), &interrupt)?;
    if json {
        print_json(&record)?;
    } else {
        write!(io::stdout(), "{}", table(&record))?;
    }
    let interrupted = interrupt.load(Ordering::SeqCst);
    let (code, reason) = if interrupted { (INTERRUPTED, "interrupted") } else { (0, "measured") };
    Ok(Ending::new(code, reason, !json))
}

impl Arguments {
    fn spec(self) -> PrimitivesSpec {
        let all = self.group.is_empty() && self.certificate.is_empty() && self.suite.is_empty();
        let backend = |name: &BackendName| match name {
            BackendName::Rustls => "rustls".to_owned(),
            BackendName::Openssl => "openssl".to_owned(),
        };
        PrimitivesSpec {
            backends: self.backend.iter().map(backend).collect(),
            groups: if all { Group::all().collect() } else { self.group },
            certificates: if all { KeyKind::ALL.to_vec() } else { self.certificate },
            suites: if all { CipherSuite::all().collect() } else { self.suite },
            time_ms: milliseconds(self.time),
            cpu: self.cpu,
            tcp: !self.no_tcp,
            plain: self.plain,
            response_bytes: self.response_bytes,
        }
    }
}

/// One line per primitive. Writing to a String cannot fail.
fn table(record: &PrimitivesRecord) -> String {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{:36} {:9} {:>6}  {:8} {:>11}  {:>21}",
        "primitive", "", "bytes", "library", "µs of CPU", "least - greatest round"
    );
    for p in &record.primitives {
        let bytes = p.bytes.map(|bytes| bytes.to_string()).unwrap_or_default();
        let _ = writeln!(
            text,
            "{:36} {:9} {bytes:>6}  {:8} {:11.3}  {:10.3} - {:9.3}",
            p.algorithm, p.operation, p.backend, p.median_us, p.low_us, p.high_us
        );
    }
    text
}

impl From<PrimitivesError> for Problem {
    fn from(error: PrimitivesError) -> Self {
        let class = match error {
            PrimitivesError::Pin { .. } => "pin",
            PrimitivesError::NotLoopback(_) => "target_refused",
            PrimitivesError::Backend(_) => "not_built",
            _ if error.is_usage() => "usage",
            _ => "primitives",
        };
        Self::of_class(class, error.to_string(), error.is_usage())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(flags: &[&str]) -> PrimitivesSpec {
        let command = ["tlslab-load"].iter().chain(flags);
        Arguments::try_parse_from(command).unwrap().spec()
    }

    #[test]
    fn all_are_measured_unless_some_are_given() {
        assert_eq!(spec(&[]).groups.len(), Group::all().count());
        let some = spec(&["--group", "X448", "--backend", "openssl", "--no-tcp"]);
        assert_eq!(
            (some.groups.as_slice(), some.suites.len(), some.tcp),
            (&[Group::X448][..], 0, false)
        );
        assert_eq!(some.backends, ["openssl"]);
    }
}

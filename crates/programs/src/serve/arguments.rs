//! The command line of `tlslab-serve`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use clap_complete::Shell;
use tlslab_system::clock::Nanos;
use tlslab_wire::names::{CipherSuite, Group, KeyKind, TlsVersion};

use crate::values::{self, Processors, processors};

/// The longest time of an option.
const LONGEST: Duration = Duration::from_secs(3600);

/// The highest number of tickets on a connection: clients accept no more without data in between.
const TICKETS_LIMIT: usize = 32;

/// Serves pages of a given size over TLS, by HTTP/1.1 or HTTP/2; the page / lists them.
///
/// Prints {"event":"ready","address":...,"pid":...,"urls":[...]} to standard output once it accepts
/// connections (in a terminal its URLs, one per line), {"event":"stats",...} on SIGUSR1, and
/// {"event":"stopped","stats":...} at its end by SIGTERM or SIGINT. Without --resumption no session
/// is resumed: the server sends no tickets and keeps no sessions.
#[derive(Parser)]
#[command(name = "tlslab-serve", version = crate::VERSION, max_term_width = 100)]
pub struct Arguments {
    /// Address and port to listen on; port 0: any free port
    #[arg(long, default_value = "127.0.0.1:0", value_name = "ADDRESS:PORT")]
    pub listen: SocketAddr,
    /// Number of workers; each has one thread, one poller and one listening socket
    #[arg(long, short, default_value_t = 1, value_name = "N")]
    pub threads: usize,
    /// Processors to pin the workers to: 0,2 or 0-3
    #[arg(long, value_name = "LIST", value_parser = processors)]
    pub cpu: Option<Processors>,
    /// TLS library; none: HTTP/1.1 without TLS, as the baseline of what TLS costs
    #[arg(long, value_enum, default_value_t = Backend::Openssl)]
    pub backend: Backend,
    /// TLS version (repeatable): 1.2, 1.3; with --allow-obsolete ssl3, 1.0, 1.1 [default: those of
    /// the suites, else 1.2 and 1.3]
    #[arg(long, value_name = "VERSION")]
    pub tls: Vec<TlsVersion>,
    /// Cipher suite (repeatable), by its IANA or OpenSSL name [default: all of the library]
    #[arg(long, value_name = "NAME")]
    pub suite: Vec<CipherSuite>,
    /// Key-exchange group (repeatable) [default: all of the library]
    #[arg(long, value_name = "NAME")]
    pub group: Vec<Group>,
    /// Pause before each response, to simulate work: 40ms
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "0s")]
    pub pause: Nanos,
    /// Waste processor time on each new connection, as a share of its cost: with 5% the server
    /// takes some 5 % fewer new connections/s. This planted slowdown tests comparisons. 0% wastes
    /// none, but measures the cost like other shares
    #[arg(long, value_name = "SHARE", value_parser = burn, allow_hyphen_values = true)]
    pub burn: Option<f64>,
    /// Longest pause between two requests before the connection is closed
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "30s")]
    pub idle: Nanos,
    /// Certificate chain in PEM (repeatable), server certificate first; each needs a --key
    #[arg(long, value_name = "FILE", requires = "key", conflicts_with = "self_signed")]
    pub cert: Vec<PathBuf>,
    /// Private key in PEM, for the --cert at the same position
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub key: Vec<PathBuf>,
    /// OCSP response in DER (repeatable) to staple to the --cert at the same position, for clients
    /// that request it: one for each --cert, or none. It is not checked against the certificate
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub staple: Vec<PathBuf>,
    /// Make a certificate for localhost with a key of this kind, and its issuer (repeatable):
    /// ecdsa-p256, ecdsa-p384, ecdsa-p521, rsa-2048, rsa-3072, rsa-4096, ed25519; with
    /// --allow-obsolete rsa-1024 [default: ecdsa-p256]
    #[arg(long, value_name = "KEY")]
    pub self_signed: Vec<KeyKind>,
    /// Let clients resume sessions (repeatable): by id or ticket (TLS 1.2), by psk (TLS 1.3)
    /// [default: none]
    #[arg(long, value_enum, value_name = "KIND")]
    pub resumption: Vec<Kind>,
    /// Number of tickets on each TLS 1.3 connection (with OpenSSL one after a resumed handshake)
    #[arg(long, default_value_t = 2, value_name = "N", value_parser = tickets)]
    pub tickets: usize,
    /// Limit of early data on a resumed TLS 1.3 connection, in bytes
    #[arg(long, default_value_t = 0, value_name = "BYTES")]
    pub early_data: u32,
    /// Write the CA certificates of --self-signed to this file, in PEM
    #[arg(long, value_name = "FILE", conflicts_with = "cert")]
    pub ca_out: Option<PathBuf>,
    /// Request client certificates, and trust those issued by the authorities in this PEM file
    #[arg(long, value_name = "FILE")]
    pub client_ca: Option<PathBuf>,
    /// Whether a client needs a certificate. A client with a bad certificate is always refused
    #[arg(
        long,
        value_enum,
        default_value = "required",
        requires = "client_ca",
        value_name = "HOW"
    )]
    pub client_auth: ClientAuthName,
    /// Size of the Diffie-Hellman prime in bits: 2048, 3072, 4096, 6144, 8192; with
    /// --allow-obsolete 1024, 1536 [default: as strong as the certificate's key]
    #[arg(long, value_name = "BITS")]
    pub dh_bits: Option<u32>,
    /// Allow SSL 3.0 to TLS 1.1, RC4, 3DES, and keys and primes of less than 2,048 bits. All are
    /// unsafe; each is served only if another option names it
    #[arg(long)]
    pub allow_obsolete: bool,
    /// Print the completion script of a shell (bash, zsh, fish, elvish, powershell) and exit
    #[arg(long, value_enum, value_name = "SHELL", help_heading = "Output")]
    pub completion: Option<Shell>,
    /// Print the manual page, as roff, and exit
    #[arg(long, help_heading = "Output")]
    pub man: bool,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub enum ClientAuthName {
    Required,
    Optional,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub enum Backend {
    Openssl,
    Rustls,
    None,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub enum Kind {
    Id,
    Ticket,
    Psk,
}

/// Reads a time of at most one hour.
fn time(text: &str) -> Result<Nanos, String> {
    let time = values::time(text)?;
    if time > LONGEST {
        return Err(format!("'{text}' is longer than an hour"));
    }
    Ok(time.as_nanos() as Nanos)
}

/// Parses a share in per cent, of at most 1,000 %; the server checks the other limits.
fn burn(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').and_then(|number| number.parse::<f64>().ok());
    let share = number.map(|number| number / 100.0).filter(|share| (0.0..=10.0).contains(share));
    share.ok_or_else(|| format!("'{text}' is not a share from 0% to 1000%; write 5% or 0.5%"))
}

fn tickets(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| *number <= TICKETS_LIMIT);
    number.ok_or_else(|| format!("'{text}' is not a number from 0 to {TICKETS_LIMIT}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tlslab_system::clock::{MILLISECOND, SECOND};

    #[test]
    fn times_last_an_hour_at_most() {
        assert_eq!(time("40ms"), Ok(40 * MILLISECOND));
        assert_eq!(time("1h"), Ok(3600 * SECOND));
        assert_eq!(time("61m"), Err("'61m' is longer than an hour".to_owned()));
    }
}

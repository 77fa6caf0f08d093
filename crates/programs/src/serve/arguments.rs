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

/// Serves /bytes/N and more over TLS with HTTP/1.1 or HTTP/2, for measuring; / lists the pages.
///
/// Says {"event":"ready","address":...,"pid":...,"urls":[...]} on standard output once it accepts
/// connections (in a terminal: its URLs, a line for each),
/// {"event":"stats",...} on SIGUSR1, and {"event":"stopped","stats":...} when SIGTERM or SIGINT has
/// ended it. No session is resumed unless --resumption says so: no tickets are sent and no sessions
/// are kept.
#[derive(Parser)]
#[command(name = "tlslab-serve", version, max_term_width = 100)]
pub struct Arguments {
    /// Address and port to listen on; port 0: any that is free
    #[arg(long, default_value = "127.0.0.1:0", value_name = "ADDRESS:PORT")]
    pub listen: SocketAddr,
    /// Workers: one thread, one poller, one listening socket each
    #[arg(long, short, default_value_t = 1, value_name = "N")]
    pub threads: usize,
    /// Processors to pin the workers to: 0,2 or 0-3
    #[arg(long, value_name = "LIST", value_parser = processors)]
    pub cpu: Option<Processors>,
    /// TLS library
    #[arg(long, value_enum, default_value_t = Backend::Openssl)]
    pub backend: Backend,
    /// TLS version, 1.2 or 1.3 (with --allow-obsolete ssl3, 1.0, 1.1); repeatable; default: those
    /// of the suites, else both
    #[arg(long, value_name = "VERSION")]
    pub tls: Vec<TlsVersion>,
    /// Cipher suite, by IANA's or OpenSSL's name; repeatable; default: all that the library has
    #[arg(long, value_name = "NAME")]
    pub suite: Vec<CipherSuite>,
    /// Key-exchange group; repeatable; default: all that the library has
    #[arg(long, value_name = "NAME")]
    pub group: Vec<Group>,
    /// Wait this long before each response, as if the response took work: 40ms
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "0s")]
    pub pause: Nanos,
    /// Let each new connection waste processor time, as a share of its cost: with 5% the server
    /// takes some 5 % fewer new connections/s, a planted slowdown for tests of comparisons. 0%
    /// wastes none, but measures the cost as other shares do
    #[arg(long, value_name = "SHARE", value_parser = burn, allow_hyphen_values = true)]
    pub burn: Option<f64>,
    /// Close a connection that is silent for longer between two requests
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "30s")]
    pub idle: Nanos,
    /// Certificate chain in PEM, the server's own first; repeatable, each with its --key
    #[arg(long, value_name = "FILE", requires = "key", conflicts_with = "self_signed")]
    pub cert: Vec<PathBuf>,
    /// Private key in PEM, for the --cert at the same position
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub key: Vec<PathBuf>,
    /// OCSP response in DER to staple to the --cert at the same position, for clients that ask for
    /// it; repeatable: one for each --cert, or none. It is not checked against the certificate
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub staple: Vec<PathBuf>,
    /// Make a certificate for localhost with this key, and its issuer: ecdsa-p256, ecdsa-p384,
    /// ecdsa-p521, rsa-2048, rsa-3072, rsa-4096, ed25519 (with --allow-obsolete rsa-1024);
    /// repeatable; default: ecdsa-p256
    #[arg(long, value_name = "KEY")]
    pub self_signed: Vec<KeyKind>,
    /// Let clients resume sessions: by id or ticket (TLS 1.2), by psk (TLS 1.3); repeatable;
    /// default: none
    #[arg(long, value_enum, value_name = "KIND")]
    pub resumption: Vec<Kind>,
    /// Tickets on each connection of TLS 1.3 (OpenSSL: one after a resumed handshake)
    #[arg(long, default_value_t = 2, value_name = "N", value_parser = tickets)]
    pub tickets: usize,
    /// Bytes of early data that a resumed connection of TLS 1.3 may send
    #[arg(long, default_value_t = 0, value_name = "BYTES")]
    pub early_data: u32,
    /// Write the CA certificates of the certificates made by --self-signed to this file
    #[arg(long, value_name = "FILE", conflicts_with = "cert")]
    pub ca_out: Option<PathBuf>,
    /// Ask clients for certificates, and trust those issued by the authorities in this PEM file
    #[arg(long, value_name = "FILE")]
    pub client_ca: Option<PathBuf>,
    /// Whether a client needs a certificate; a client with a bad certificate is always refused
    #[arg(
        long,
        value_enum,
        default_value = "required",
        requires = "client_ca",
        value_name = "HOW"
    )]
    pub client_auth: ClientAuthName,
    /// Bits of the Diffie-Hellman parameters: 2048, 3072, 4096, 6144, 8192 (with
    /// --allow-obsolete 1024, 1536); default: as strong as the certificate's key
    #[arg(long, value_name = "BITS")]
    pub dh_bits: Option<u32>,
    /// Allow SSL 3.0 to TLS 1.1, RC4, 3DES, and keys and primes of less than 2,048 bits: all of
    /// them are unsafe, and served only where another option asks for them
    #[arg(long)]
    pub allow_obsolete: bool,
    /// Print the completions of a shell (bash, zsh, fish) and stop
    #[arg(long, value_enum, value_name = "SHELL", help_heading = "Output")]
    pub completion: Option<Shell>,
    /// Print the manual page, as roff, and stop
    #[arg(long, help_heading = "Output")]
    pub man: bool,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub enum ClientAuthName {
    Required,
    Optional,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Backend {
    Openssl,
    Rustls,
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

//! The reference server of tlslab: arguments, JSON lines, signals.

use std::fmt::Display;
use std::fs;
use std::io::{IsTerminal as _, Write};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use clap_complete::Shell;
use serde::Serialize;
use signal_hook::consts::{SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;
use tlslab_serve::{
    ClientAuth, Identity, Resumption, ServeError, ServeSpec, Server, ServerBackend, Stats,
};
use tlslab_system::clock::{MILLISECOND, Nanos, SECOND};
use tlslab_tls::self_signed::self_signed;
use tlslab_wire::names::KeyKind;
use tlslab_wire::names::{CipherSuite, Group, TlsVersion};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Exit code for wrong usage.
const USAGE: u8 = 2;

/// Exit code if the machine refuses a resource: a port in use, a file that cannot be written.
const COULD_NOT_RUN: u8 = 3;

/// The number of processors in Linux's fixed-size affinity mask.
const PROCESSOR_LIMIT: usize = 1024;

/// Serves /bytes/N and more over TLS with HTTP/1.1 or HTTP/2, for measuring; / lists the pages.
///
/// Says {"event":"ready","address":...,"pid":...,"urls":[...]} on standard output once it accepts
/// connections (in a terminal: its URLs, a line for each),
/// {"event":"stats",...} on SIGUSR1, and {"event":"stopped","stats":...} when SIGTERM or SIGINT has
/// ended it. No session is resumed unless --resumption says so: no tickets are sent and no sessions
/// are kept.
#[derive(Parser)]
#[command(name = "tlslab-serve", version = tlslab_programs::VERSION, max_term_width = 100)]
struct Arguments {
    /// Address and port to listen on; port 0: any that is free
    #[arg(long, default_value = "127.0.0.1:0", value_name = "ADDRESS:PORT")]
    listen: SocketAddr,
    /// Workers: one thread, one poller, one listening socket each
    #[arg(long, short, default_value_t = 1, value_name = "N")]
    threads: usize,
    /// Processors to pin the workers to: 0,2 or 0-3
    #[arg(long, value_name = "LIST", value_parser = processors)]
    cpu: Option<Processors>,
    /// TLS library
    #[arg(long, value_enum, default_value_t = Backend::Openssl)]
    backend: Backend,
    /// TLS version, 1.2 or 1.3 (with --allow-obsolete ssl3, 1.0, 1.1); repeatable; default: those
    /// of the suites, else both
    #[arg(long, value_name = "VERSION")]
    tls: Vec<TlsVersion>,
    /// Cipher suite, by IANA's or OpenSSL's name; repeatable; default: all that the library has
    #[arg(long, value_name = "NAME")]
    suite: Vec<CipherSuite>,
    /// Key-exchange group; repeatable; default: all that the library has
    #[arg(long, value_name = "NAME")]
    group: Vec<Group>,
    /// Wait this long before each response, as if the response took work: 40ms
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "0s")]
    pause: Nanos,
    /// Let each new connection waste processor time, as a share of its cost: with 5% the server
    /// takes some 5 % fewer new connections/s, a planted slowdown for tests of comparisons. 0%
    /// wastes none, but measures the cost as other shares do
    #[arg(long, value_name = "SHARE", value_parser = burn, allow_hyphen_values = true)]
    burn: Option<f64>,
    /// Close a connection that is silent for longer between two requests
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "30s")]
    idle: Nanos,
    /// Certificate chain in PEM, the server's own first; repeatable, each with its --key
    #[arg(long, value_name = "FILE", requires = "key", conflicts_with = "self_signed")]
    cert: Vec<PathBuf>,
    /// Private key in PEM, for the --cert at the same position
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Vec<PathBuf>,
    /// OCSP response in DER to staple to the --cert at the same position, for clients that ask for
    /// it; repeatable: one for each --cert, or none. It is not checked against the certificate
    #[arg(long, value_name = "FILE", requires = "cert")]
    staple: Vec<PathBuf>,
    /// Make a certificate for localhost with this key, and its issuer: ecdsa-p256, ecdsa-p384,
    /// ecdsa-p521, rsa-2048, rsa-3072, rsa-4096, ed25519 (with --allow-obsolete rsa-1024);
    /// repeatable; default: ecdsa-p256
    #[arg(long, value_name = "KEY")]
    self_signed: Vec<KeyKind>,
    /// Let clients resume sessions: by id or ticket (TLS 1.2), by psk (TLS 1.3); repeatable;
    /// default: none
    #[arg(long, value_enum, value_name = "KIND")]
    resumption: Vec<Kind>,
    /// Tickets on each connection of TLS 1.3 (OpenSSL: one after a resumed handshake)
    #[arg(long, default_value_t = 2, value_name = "N", value_parser = tickets)]
    tickets: usize,
    /// Bytes of early data that a resumed connection of TLS 1.3 may send
    #[arg(long, default_value_t = 0, value_name = "BYTES")]
    early_data: u32,
    /// Write the CA certificates of the certificates made by --self-signed to this file
    #[arg(long, value_name = "FILE", conflicts_with = "cert")]
    ca_out: Option<PathBuf>,
    /// Ask clients for certificates, and trust those issued by the authorities in this PEM file
    #[arg(long, value_name = "FILE")]
    client_ca: Option<PathBuf>,
    /// Whether a client needs a certificate; a client with a bad certificate is always refused
    #[arg(
        long,
        value_enum,
        default_value = "required",
        requires = "client_ca",
        value_name = "HOW"
    )]
    client_auth: ClientAuthName,
    /// Bits of the Diffie-Hellman parameters: 2048, 3072, 4096, 6144, 8192 (with
    /// --allow-obsolete 1024, 1536); default: as strong as the certificate's key
    #[arg(long, value_name = "BITS")]
    dh_bits: Option<u32>,
    /// Allow SSL 3.0 to TLS 1.1, RC4, 3DES, and keys and primes of less than 2,048 bits: all of
    /// them are unsafe, and served only where another option asks for them
    #[arg(long)]
    allow_obsolete: bool,
    /// Print the completions of a shell (bash, zsh, fish) and stop
    #[arg(long, value_enum, value_name = "SHELL", help_heading = "Output")]
    completion: Option<Shell>,
    /// Print the manual page, as roff, and stop
    #[arg(long, help_heading = "Output")]
    man: bool,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum ClientAuthName {
    Required,
    Optional,
}

#[derive(Clone, Copy, ValueEnum)]
enum Backend {
    Openssl,
    Rustls,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Kind {
    Id,
    Ticket,
    Psk,
}

/// A list of processors, as given.
#[derive(Clone, Default)]
struct Processors(Vec<usize>);

/// An event on standard output.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Event {
    Ready {
        address: SocketAddr,
        pid: u32,
        urls: Vec<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        burn: Option<f64>,
    },
    Stats {
        stats: Stats,
    },
    Stopped {
        stats: Stats,
    },
}

/// A remedy that several failures share.
const PAIRS: &str = "give each certificate chain with its key, both in PEM: --cert FILE --key FILE";
const RESPONSES: &str = "give each certificate the OCSP response that its issuer signed, or none: \
                         --cert FILE --key FILE --staple FILE";
const ROOM: &str = "check that the folder is there, with room and the right to write";
const SYSTEM: &str = "check that the system has memory, files and processes left (ulimit -a)";

/// An early end of the program: the exit code, and a line for standard error with the remedy.
struct Failure(u8, String);

impl Failure {
    fn new(code: u8, message: impl Display, remedy: &str) -> Self {
        Self(code, format!("{message}; {remedy}"))
    }
}

impl From<ServeError> for Failure {
    fn from(error: ServeError) -> Self {
        let code = if error.is_usage() { USAGE } else { COULD_NOT_RUN };
        Self::new(code, &error, error.remedy())
    }
}

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => Ok(arguments),
        Err(error) if error.use_stderr() => {
            Err(Failure::new(USAGE, tlslab_programs::usage_line(&error), "see --help"))
        }
        Err(help_or_version) => help_or_version.exit(),
    };
    match arguments.and_then(carry_out) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure(code, message)) => {
            // If standard error is closed, there is nowhere to report to.
            let _ = writeln!(std::io::stderr(), "tlslab-serve: {message}");
            ExitCode::from(code)
        }
    }
}

fn carry_out(arguments: Arguments) -> Result<(), Failure> {
    let printed = match (arguments.completion, arguments.man) {
        (Some(shell), _) => tlslab_programs::print_completion::<Arguments>(shell),
        (None, true) => tlslab_programs::print_manual::<Arguments>(),
        (None, false) => return serve(arguments),
    };
    printed.map_err(|e| Failure::new(COULD_NOT_RUN, format!("cannot write the result: {e}"), ROOM))
}

fn serve(arguments: Arguments) -> Result<(), Failure> {
    // From here on no signal is lost: a signal before `until_stopped` is kept for it.
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGUSR1]).map_err(|e| {
        Failure::new(COULD_NOT_RUN, format!("cannot wait for signals: {e}"), SYSTEM)
    })?;
    let spec = ServeSpec {
        identities: identities(&arguments)?,
        client_auth: client_auth(&arguments)?,
        dh_bits: arguments.dh_bits,
        allow_obsolete: arguments.allow_obsolete,
        listen: arguments.listen,
        threads: arguments.threads,
        cpus: arguments.cpu.unwrap_or_default().0,
        backend: match arguments.backend {
            Backend::Openssl => ServerBackend::Openssl,
            Backend::Rustls => ServerBackend::Rustls,
        },
        versions: arguments.tls,
        suites: arguments.suite,
        groups: arguments.group,
        pause: arguments.pause,
        burn: arguments.burn,
        idle: arguments.idle,
        resumption: Resumption {
            id: arguments.resumption.contains(&Kind::Id),
            ticket: arguments.resumption.contains(&Kind::Ticket),
            psk: arguments.resumption.contains(&Kind::Psk),
            tickets: arguments.tickets,
            early_data: arguments.early_data,
        },
    };
    let server = Server::start(&spec)?;
    ready(server.address(), spec.burn);
    for signal in signals.forever() {
        if signal != SIGUSR1 {
            break;
        }
        say(&Event::Stats { stats: server.stats() });
    }
    say(&Event::Stopped { stats: server.stop()? });
    Ok(())
}

/// Reports that connections are accepted, and the address: as text for people, as JSON for
/// programs.
fn ready(address: SocketAddr, burn: Option<f64>) {
    let urls = urls(address);
    if !std::io::stdout().is_terminal() {
        say(&Event::Ready { address, pid: std::process::id(), urls, burn });
        return;
    }
    let mut output = std::io::stdout().lock();
    // A closed standard output is no reason to stop serving.
    let _ = writeln!(output, "serving on {address}, process {}:", std::process::id());
    for url in urls {
        let _ = writeln!(output, "  {url}");
    }
    if let Some(share) = burn {
        let share = 100.0 * share;
        let _ = writeln!(output, "each new connection wastes {share} % of what it costs");
    }
    let _ = writeln!(output, "end it with Ctrl-C; for other sizes, put another number");
}

/// The URLs of the resources at the listening address. A wildcard address is shown as the loopback
/// address.
fn urls(address: SocketAddr) -> Vec<String> {
    let host = match address.ip() {
        ip if ip.is_unspecified() && ip.is_ipv4() => IpAddr::from([127, 0, 0, 1]),
        ip if ip.is_unspecified() => IpAddr::from(std::net::Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    let origin = format!("https://{}", SocketAddr::new(host, address.port()));
    ["/", "/bytes/100", "/bytes/16384", "/stats"].map(|page| format!("{origin}{page}")).to_vec()
}

/// Prints one line. A closed standard output is no reason to stop serving.
fn say(event: &Event) {
    let mut output = std::io::stdout().lock();
    let line = serde_json::to_string(event).unwrap_or_default();
    let _ = writeln!(output, "{line}").and_then(|()| output.flush());
}

/// The certificates with their keys, from files or generated.
fn identities(arguments: &Arguments) -> Result<Vec<Identity>, Failure> {
    if arguments.cert.len() != arguments.key.len() {
        let (certificates, keys) = (arguments.cert.len(), arguments.key.len());
        let message = format!("{certificates} --cert, but {keys} --key");
        return Err(Failure::new(USAGE, message, PAIRS));
    }
    if !arguments.staple.is_empty() && arguments.staple.len() != arguments.cert.len() {
        let (certificates, responses) = (arguments.cert.len(), arguments.staple.len());
        let message = format!("{certificates} --cert, but {responses} --staple");
        return Err(Failure::new(USAGE, message, RESPONSES));
    }
    if arguments.cert.is_empty() {
        return made_up(&arguments.self_signed, arguments.ca_out.as_ref());
    }
    let pairs = arguments.cert.iter().zip(&arguments.key);
    let identity = |(place, (cert, key)): (usize, (&PathBuf, &PathBuf))| {
        let identity = Identity::from_pem(&read(cert)?, &read(key)?);
        let files = format!("{}, {}", cert.display(), key.display());
        let identity = identity.map_err(|e| Failure::new(USAGE, format!("{files}: {e}"), PAIRS))?;
        match arguments.staple.get(place) {
            Some(file) => stapled(identity, file),
            None => Ok(identity),
        }
    };
    pairs.enumerate().map(identity).collect()
}

/// The certificate with the OCSP response from this file.
fn stapled(identity: Identity, file: &PathBuf) -> Result<Identity, Failure> {
    let identity = identity.with_ocsp_response(read_bytes(file)?);
    identity.map_err(|e| Failure::new(USAGE, format!("{}: {e}", file.display()), RESPONSES))
}

/// How clients are authenticated, if at all.
fn client_auth(arguments: &Arguments) -> Result<Option<ClientAuth>, Failure> {
    let Some(path) = &arguments.client_ca else { return Ok(None) };
    let required = arguments.client_auth == ClientAuthName::Required;
    let auth = ClientAuth::from_pem(&read(path)?, required);
    let message = || format!("{}: no certificates in PEM form found", path.display());
    let remedy = "give the authorities of the clients' certificates in PEM with --client-ca";
    auth.map(Some).ok_or_else(|| Failure::new(USAGE, message(), remedy))
}

fn made_up(kinds: &[KeyKind], ca_out: Option<&PathBuf>) -> Result<Vec<Identity>, Failure> {
    let kinds = if kinds.is_empty() { &[KeyKind::EcdsaP256] } else { kinds };
    let made: Result<Vec<_>, _> = kinds.iter().map(|kind| self_signed(*kind)).collect();
    let made = made.map_err(|e| Failure::new(COULD_NOT_RUN, e, SYSTEM))?;
    if let Some(path) = ca_out {
        let authorities: String = made.iter().map(|m| m.authority.as_str()).collect();
        fs::write(path, authorities)
            .map_err(|e| format!("cannot write {}: {e}", path.display()))
            .map_err(|message| Failure::new(COULD_NOT_RUN, message, ROOM))?;
    }
    Ok(made.into_iter().map(|m| m.identity).collect())
}

fn read(path: &PathBuf) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|e| unreadable(path, &e))
}

fn read_bytes(path: &PathBuf) -> Result<Vec<u8>, Failure> {
    fs::read(path).map_err(|e| unreadable(path, &e))
}

fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    let message = format!("cannot read {}: {error}", path.display());
    Failure::new(USAGE, message, "give a file that is there and may be read")
}

/// Parses a time of at most one hour.
fn time(text: &str) -> Result<Nanos, String> {
    let wanted = || format!("'{text}' is not a time of an hour at most; write 500ms or 10s");
    let (number, unit) = match (text.strip_suffix("ms"), text.strip_suffix('s')) {
        (Some(number), _) => (number, MILLISECOND),
        (None, Some(number)) => (number, SECOND),
        _ => return Err(wanted()),
    };
    let number: u64 = number.parse().map_err(|_| wanted())?;
    let time = number.checked_mul(unit).filter(|time| *time <= 3600 * SECOND);
    time.ok_or_else(wanted)
}

/// Parses a share in per cent, of at most 1,000 %; the server checks the other limits.
fn burn(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').and_then(|number| number.parse::<f64>().ok());
    let share = number.map(|number| number / 100.0).filter(|share| (0.0..=10.0).contains(share));
    share.ok_or_else(|| format!("'{text}' is not a share from 0% to 1000%; write 5% or 0.5%"))
}

/// The highest number of tickets on a connection: clients accept no more without data in between.
const TICKETS_LIMIT: usize = 32;

fn tickets(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| *number <= TICKETS_LIMIT);
    number.ok_or_else(|| format!("'{text}' is not a number from 0 to {TICKETS_LIMIT}"))
}

/// Parses a list of processors: numbers and ranges, separated by commas.
fn processors(list: &str) -> Result<Processors, String> {
    let number = |text: &str| {
        let number = text.parse().ok().filter(|number| *number < PROCESSOR_LIMIT);
        number.ok_or_else(|| format!("'{text}' is not a processor's number; write 0,2 or 0-3"))
    };
    let mut all = Vec::new();
    for part in list.split(',') {
        match part.split_once('-') {
            Some((first, last)) => all.extend(number(first)?..=number(last)?),
            None => all.push(number(part)?),
        }
    }
    Ok(Processors(all))
}

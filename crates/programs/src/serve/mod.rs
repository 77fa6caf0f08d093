//! The program `tlslab-serve`: the reference server with its JSON lines and signals.

mod arguments;
mod failure;
mod identities;

use std::io::{IsTerminal as _, Write};
use std::net::{IpAddr, SocketAddr};
use std::process::ExitCode;

use clap::Parser as _;
use serde::Serialize;
use signal_hook::consts::{SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;
use tlslab_serve::{Resumption, ServeSpec, Server, ServerBackend, Stats};

use self::arguments::{Arguments, Backend, Kind};
use self::failure::{COULD_NOT_RUN, Failure, ROOM, SYSTEM, USAGE};
use self::identities::{client_auth, identities};

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

/// Runs the command line.
pub fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => Ok(arguments),
        Err(error) if error.use_stderr() => {
            Err(Failure::new(USAGE, crate::usage_line(&error), "see --help"))
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
        (Some(shell), _) => crate::print_completion::<Arguments>(shell),
        (None, true) => crate::print_manual::<Arguments>(),
        (None, false) => return serve(arguments),
    };
    printed.map_err(|e| Failure::new(COULD_NOT_RUN, format!("cannot write the result: {e}"), ROOM))
}

fn serve(arguments: Arguments) -> Result<(), Failure> {
    // From here on no signal is lost: an earlier signal is kept for the loop below.
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
            Backend::None => ServerBackend::None,
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
    ready(server.address(), &spec);
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
fn ready(address: SocketAddr, spec: &ServeSpec) {
    let burn = spec.burn;
    let urls = urls(address, if spec.backend == ServerBackend::None { "http" } else { "https" });
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
fn urls(address: SocketAddr, scheme: &str) -> Vec<String> {
    let host = match address.ip() {
        ip if ip.is_unspecified() && ip.is_ipv4() => IpAddr::from([127, 0, 0, 1]),
        ip if ip.is_unspecified() => IpAddr::from(std::net::Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    let origin = format!("{scheme}://{}", SocketAddr::new(host, address.port()));
    ["/", "/bytes/100", "/bytes/16384", "/stats"].map(|page| format!("{origin}{page}")).to_vec()
}

/// Prints one line. A closed standard output is no reason to stop serving.
fn say(event: &Event) {
    let mut output = std::io::stdout().lock();
    let line = serde_json::to_string(event).unwrap_or_default();
    let _ = writeln!(output, "{line}").and_then(|()| output.flush());
}

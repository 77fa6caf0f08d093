//! The shim for BoringSSL's BoGo runner: one of the engine's clients, set up by the runner's flags,
//! over a real socket (docs/adr/0047). scripts/bogo.sh starts the shim with `-client
//! minimal|rustls|openssl`.
//!
//! If a flag is not implemented, the shim ends with exit code 89. tests/bogo gives the reason for
//! each such flag.

mod case;
mod connection;
mod settings;

use std::process::ExitCode;

use tlslab_tls::openssl::OpensslBackend;
use tlslab_tls::rustls::RustlsBackend;
use tlslab_tls::{Backend, Session};

use self::case::{Case, Stop, Turn, parse};
use self::connection::ShimConnection;
use self::settings::{lacks, settings};

/// The exit code by which the runner knows that this shim does not implement a flag of the case.
const UNIMPLEMENTED: u8 = 89;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|flag| flag == "-is-handshaker-supported") {
        report(&mut std::io::stdout(), "No");
        return ExitCode::SUCCESS;
    }
    let note = arguments.iter().skip_while(|flag| *flag != "-note").nth(1).cloned();
    let first = parse(arguments.iter().cloned(), Turn::First);
    let resumed = parse(arguments.into_iter(), Turn::Resumed);
    match first.and_then(|first| run(&first, &resumed?)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Stop::Unimplemented(flag)) => {
            if let Some(Err(error)) = note.map(|file| std::fs::write(file, &flag)) {
                report(&mut std::io::stderr(), &error.to_string());
            }
            ExitCode::from(UNIMPLEMENTED)
        }
        Err(Stop::Failed(words)) => {
            report(&mut std::io::stderr(), &words);
            ExitCode::FAILURE
        }
    }
}

fn report(to: &mut dyn std::io::Write, words: &str) {
    // The runner may have exited.
    let _ = writeln!(to, "{words}");
}

fn run(case: &Case, resumed: &Case) -> Result<(), Stop> {
    let settings = settings(case)?;
    match case.client.as_str() {
        "minimal" => {
            let mut backend = RustlsBackend::minimal_only(&settings).map_err(lacks)?;
            connections(case, resumed, &mut backend)
        }
        "rustls" => connections(case, resumed, &mut RustlsBackend::new(&settings).map_err(lacks)?),
        "openssl" => {
            connections(case, resumed, &mut OpensslBackend::new(&settings).map_err(lacks)?)
        }
        _ => Err(Stop::Unimplemented("-client".to_owned())),
    }
}

/// Makes the first connection, and those that resume it.
fn connections<B: Backend>(first: &Case, resumed: &Case, backend: &mut B) -> Result<(), Stop> {
    backend.keep(1);
    for turn in 0..=first.resumptions {
        let case = if turn == 0 { first } else { resumed };
        let resumed = if turn > 0 { backend.resume() } else { Ok(None) };
        let session = match resumed {
            Ok(Some(session)) => Ok(session),
            Ok(None) => backend.open(),
            Err(failure) => Err(failure),
        };
        let session = session.map_err(|failure| Stop::Failed(failure.to_string()))?;
        let mut line = ShimConnection::open(case, session)?;
        let outcome = line.exchange(case, turn > 0);
        if outcome.is_err() {
            // Sends the alert with the reason.
            let _ = line.drive(Session::flush);
        }
        line.hang_up();
        outcome?;
    }
    Ok(())
}

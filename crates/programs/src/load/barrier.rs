//! `--barrier`: a run that begins at an instant which the conductor gives on standard input, once it has
//! read that the run is ready.

use std::io::{self, BufRead as _, Read as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use tlslab_load::error::RunError;
use tlslab_load::start::{StartInstant, Starter};
use tlslab_system::clock::{Clock, MonotonicClock};

/// The most bytes of the line that gives the instant.
const LINE_LIMIT: u64 = 4096;

/// How often the interrupt flag is checked.
const LOOK: Duration = Duration::from_millis(20);

/// The line that gives the instant.
#[derive(Debug, Deserialize)]
struct Start {
    /// By this host's CLOCK_MONOTONIC.
    start_at_ns: u64,
    /// The same instant in seconds since 1970, by the conductor's clock.
    unix_s: f64,
}

/// Reports that the run is ready, and waits for the line.
#[derive(Debug)]
pub struct Barrier;

impl Starter for Barrier {
    fn begin(&mut self, interrupt: &AtomicBool) -> Result<StartInstant, RunError> {
        let (sender, lines) = mpsc::channel();
        // After an interrupt the thread that reads is left; it ends with the program.
        thread::Builder::new().spawn(move || sender.send(read_line()))?;
        let ready = json!({ "event": "ready", "now_ns": MonotonicClock.now() });
        // A reader of events that is gone gives no instant either.
        let _ = writeln!(io::stderr(), "{ready}");
        loop {
            match lines.recv_timeout(LOOK) {
                Ok(line) => return begin(&line?),
                Err(RecvTimeoutError::Disconnected) => return begin(""),
                Err(RecvTimeoutError::Timeout) if interrupt.load(Ordering::Relaxed) => {
                    return Err(RunError::NoStart("interrupted before the start".to_owned()));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

fn read_line() -> io::Result<String> {
    let mut line = String::new();
    io::stdin().lock().take(LINE_LIMIT).read_line(&mut line)?;
    Ok(line)
}

fn begin(line: &str) -> Result<StartInstant, RunError> {
    if line.trim().is_empty() {
        let words = "standard input ended before the line with the start";
        return Err(RunError::NoStart(words.to_owned()));
    }
    let start: Start = serde_json::from_str(line)
        .map_err(|error| RunError::NoStart(format!("the line with the start: {error}")))?;
    StartInstant::agreed(start.start_at_ns, start.unix_s, MonotonicClock.now())
}

//! `--barrier`: a run whose start the leader of the generators sends on standard input, after the
//! run has reported that it is ready.

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

/// The highest length of the line with the start, in bytes.
const LINE_LIMIT: u64 = 4096;

/// The interval at which the interrupt flag is checked.
const LOOK: Duration = Duration::from_millis(20);

/// The line with the start.
#[derive(Debug, Deserialize)]
struct Start {
    /// Instant of this host's CLOCK_MONOTONIC.
    start_at_ns: u64,
    /// The same instant in seconds since 1970, by the leader's clock.
    unix_s: f64,
}

/// Reports that the run is ready, and waits for the line with the start.
#[derive(Debug)]
pub struct Barrier;

impl Starter for Barrier {
    fn begin(&mut self, interrupt: &AtomicBool) -> Result<StartInstant, RunError> {
        let (sender, lines) = mpsc::channel();
        // After an interrupt the reading thread is left behind; it ends with the program.
        thread::Builder::new().spawn(move || sender.send(read_line()))?;
        let ready = json!({ "event": "ready", "now_ns": MonotonicClock.now() });
        // Without a reader of events, no start will arrive either.
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

//! Errors that prevent a run.

use std::io;
use std::net::IpAddr;

use crate::preflight::PreflightError;
use tlslab_system::clock::{MILLISECOND, Nanos};
use tlslab_system::guard::GuardError;
use tlslab_tls::BackendError;
use tlslab_tls::identity::IdentityError;
use tlslab_wire::outcome::{ABANDONED, Failure, Mismatch, Outcome, Step};

/// An error that prevents a run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The client's own certificate is unusable.
    #[error("client certificate: {0}")]
    ClientIdentity(#[from] IdentityError),
    /// The target is not permitted or was not found.
    #[error(transparent)]
    Guard(#[from] GuardError),
    /// No back end supports the specification.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// The preflight connection failed.
    #[error("{}", describe_preflight(.target, .error))]
    Preflight {
        /// Host, port and address of the target.
        target: String,
        /// The failure.
        error: Box<PreflightError>,
    },
    /// Priming stopped: connections failed or the server issued no sessions. Holds the last
    /// outcome.
    #[error("{}", describe_priming(.0))]
    Priming(Outcome),
    /// The limit of open files is below what the run needs.
    #[error("this many connections need {needed} open files, and only {granted} are allowed")]
    Files {
        /// Open files that the run needs.
        needed: u64,
        /// Open files that the system grants.
        granted: u64,
    },
    /// A source address is not this machine's, or not of the target's address family.
    #[error("cannot connect to the target from {address}: {source}")]
    Source {
        /// The source address.
        address: IpAddr,
        /// The system's error.
        source: io::Error,
    },
    /// The processor to pin a worker to does not exist.
    #[error("cannot pin a worker to processor {processor}: {source}")]
    Pin {
        /// The processor.
        processor: usize,
        /// The system's error.
        source: io::Error,
    },
    /// Some connections did not open in time.
    #[error("{open} of {wanted} connections were open after {ms} ms")]
    NotOpen {
        /// Connections that were open.
        open: u64,
        /// Connections that should have been open.
        wanted: u32,
        /// The time limit in milliseconds.
        ms: u64,
    },
    /// No usable instant was given for an agreed start.
    #[error("there was no load: {0}")]
    NoStart(String),
    /// The agreed start had already passed.
    #[error(
        "the instant of the start had passed {:.1} ms before",
        *.late as f64 / MILLISECOND as f64
    )]
    LateStart {
        /// Time since the agreed start, in nanoseconds.
        late: Nanos,
    },
    /// A worker panicked: a fault of this program. Holds the panic message.
    #[error("a worker panicked: {0}")]
    Panicked(String),
    /// The system refuses real-time scheduling to a worker.
    #[error("cannot run in real time: {0}")]
    Realtime(#[source] io::Error),
    /// The operating system refused a resource that the run needs.
    #[error("the operating system refused: {0}")]
    System(#[from] io::Error),
    /// A public target was loaded beyond the limits without proof of consent; the run was stopped.
    #[error(transparent)]
    Exceeded(GuardError),
}

impl RunError {
    /// The unexpected status of the response, if that prevents the run.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Preflight { error, .. } => {
                error.status.filter(|_| error.outcome == Outcome::Failed(Failure::HttpStatus))
            }
            _ => None,
        }
    }

    /// The reason why the server's certificate was rejected, if that prevents the run.
    pub fn certificate_reason(&self) -> Option<&str> {
        match self {
            Self::Preflight { error, .. }
                if error.outcome == Outcome::Failed(Failure::Certificate) =>
            {
                Some(&error.explanation)
            }
            _ => None,
        }
    }

    /// The class under which the error is reported: the failure's class, if there is a failure.
    pub fn class(&self) -> String {
        match self {
            Self::ClientIdentity(_) => "usage".to_owned(),
            Self::Guard(GuardError::NameNotFound { .. }) => "name_not_found".to_owned(),
            Self::Guard(GuardError::NameTimedOut { .. }) => "timeout_name".to_owned(),
            Self::Guard(GuardError::NoneAccepts { failure, .. }) => failure.to_string(),
            Self::Guard(_) | Self::Exceeded(_) => "target_refused".to_owned(),
            Self::Backend(BackendError::NotBuilt { .. }) => "not_built".to_owned(),
            Self::Backend(_) => "unsupported".to_owned(),
            Self::Preflight { error, .. } => match error.outcome {
                Outcome::Failed(failure) => failure.to_string(),
                Outcome::Unexpected(fact) => format!("unexpected_{fact}"),
                Outcome::Completed => "completed".to_owned(),
                Outcome::Abandoned => ABANDONED.to_owned(),
            },
            Self::Priming(Outcome::Failed(failure)) => failure.to_string(),
            Self::Priming(Outcome::Unexpected(fact)) => format!("unexpected_{fact}"),
            Self::Priming(Outcome::Completed) => "no_tickets".to_owned(),
            Self::Priming(Outcome::Abandoned) => ABANDONED.to_owned(),
            Self::Files { .. } => Failure::FilesExhausted.to_string(),
            Self::Source { .. } => "source".to_owned(),
            Self::Pin { .. } => "pin".to_owned(),
            Self::NotOpen { .. } => "not_open".to_owned(),
            Self::NoStart(_) => "no_start".to_owned(),
            Self::LateStart { .. } => "late_start".to_owned(),
            Self::Panicked(_) => "panic".to_owned(),
            Self::Realtime(_) => "realtime".to_owned(),
            Self::System(e) => tlslab_system::socket::failure(e, Step::Connect).to_string(),
        }
    }
}

fn describe_priming(outcome: &Outcome) -> String {
    let why = match outcome {
        Outcome::Completed => "the server gave nothing to resume by".to_owned(),
        Outcome::Failed(failure) => failure.to_string(),
        Outcome::Abandoned => ABANDONED.to_owned(),
        Outcome::Unexpected(fact) => format!("another {fact} than the one asked for"),
    };
    format!("the sessions to resume could not be collected: {why}")
}

fn describe_preflight(target: &str, error: &PreflightError) -> String {
    let words = if error.explanation.is_empty() {
        String::new()
    } else {
        format!(" ({})", error.explanation)
    };
    match (error.outcome, error.status) {
        (Outcome::Failed(Failure::HttpStatus), Some(status)) => {
            format!("{target} answered with status {status}")
        }
        (Outcome::Failed(Failure::Refused), _) => format!("nothing listens on {target}"),
        (Outcome::Unexpected(Mismatch::ClientCertificate), _) => {
            format!("{target} did not ask for the client certificate{words}")
        }
        (Outcome::Unexpected(Mismatch::OcspStapling), _) => {
            let is_stapled = error.negotiated.is_some_and(|facts| facts.ocsp_response_bytes > 0);
            let what =
                if is_stapled { "an OCSP response, and must not" } else { "no OCSP response" };
            format!("{target} staples {what}{words}")
        }
        (Outcome::Unexpected(Mismatch::Kind), _) => {
            format!("{target} resumed no session{words}")
        }
        (Outcome::Unexpected(fact), _) => {
            format!("{target} negotiated another {fact} than the one asked for{words}")
        }
        (Outcome::Failed(failure), _) => format!("{target}: {failure}{words}"),
        (Outcome::Completed, _) => format!("{target}: the preflight completed"),
        (Outcome::Abandoned, _) => format!("{target}: {ABANDONED}"),
    }
}

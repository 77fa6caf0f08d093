//! Problems that prevent a run: one line, a remedy, an exit status.

use std::io::{self, Write};
use std::process::ExitCode;

use serde_json::json;
use tlslab_contract::spec::CheckedSpec;
use tlslab_load::error::RunError;
use tlslab_tls::BackendError;
use tlslab_wire::sanitize::sanitize;

use crate::load::certificate::{self, Fault};

/// Exit code: wrong usage.
const USAGE: u8 = 2;

/// Exit code: could not run.
const COULD_NOT_RUN: u8 = 3;

/// The highest length of a message in characters.
const MESSAGE_LIMIT: usize = 1000;

/// The remedy if a port that was asked for HTTP without TLS does not answer in HTTP.
const SPEAKS_TLS: &str =
    "check that the port speaks this version of HTTP without TLS; if it speaks TLS, write https://";

/// Whether a server of TLS may end a connection without TLS in this way: by an alert, which is no
/// HTTP, or without a word.
fn may_speak_tls(class: &str) -> bool {
    ["reset", "closed_", "http_protocol"].iter().any(|start| class.starts_with(start))
}

/// A problem, in one line.
#[derive(Debug)]
pub struct Problem {
    class: String,
    message: String,
    /// The remedy, if it depends on more than the class.
    remedy: Option<String>,
    /// The unexpected status of the response, if that is the problem.
    status: Option<u16>,
    exit: u8,
}

impl Problem {
    /// A mistake in the command line or in a file of the user.
    pub fn usage(message: String) -> Self {
        Self::of_class("usage", message, true)
    }

    /// A file that cannot be written.
    pub fn output(path: &str, error: &io::Error) -> Self {
        let message = format!("cannot write '{path}': {error}");
        Self::of_class("output", message, false)
    }

    /// A problem with its class for programs, and whether the usage is at fault.
    pub fn of_class(class: &str, message: String, is_usage: bool) -> Self {
        let exit = if is_usage { USAGE } else { COULD_NOT_RUN };
        Self { class: class.to_owned(), message, remedy: None, status: None, exit }
    }

    /// The same with a remedy of its own.
    #[cfg(feature = "openssl")]
    pub fn with_remedy(self, remedy: &str) -> Self {
        Self { remedy: Some(remedy.to_owned()), ..self }
    }

    /// A mode that needs OpenSSL, in a build that leaves it out.
    #[cfg(not(feature = "openssl"))]
    pub fn without_openssl(mode: &str) -> Self {
        let message = format!("this build has no OpenSSL, which {mode} needs");
        Self::of_class("not_built", message, false)
    }

    /// The exit status.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.exit)
    }

    /// Prints the problem to standard error and, if requested, as JSON to standard output.
    pub fn report(&self, json: bool) -> io::Result<()> {
        // Parts of the message come from the server.
        let (message, remedy) = (sanitize(&self.message, MESSAGE_LIMIT), self.remedy());
        // For people first: standard output may be the cause of the problem.
        writeln!(io::stderr(), "tlslab-load: {message}; {remedy}: exit {}", self.exit)?;
        if json {
            let error = json!({
                "schema": "tlslab.error/1",
                "class": self.class,
                "message": message,
                "remedy": remedy,
                "status": self.status,
            });
            writeln!(io::stdout(), "{error}")?;
        }
        Ok(())
    }
}

impl Problem {
    /// The problem of a failed run of this specification.
    pub fn of_run(error: RunError, spec: &CheckedSpec) -> Self {
        let trust = &spec.spec().tls.trust;
        let fault = error.certificate_reason().map(|reason| Fault::of(reason).remedy(trust));
        let problem = Self::from(error);
        let without_tls = spec.target().is_plain && may_speak_tls(&problem.class);
        let remedy = fault.or(without_tls.then_some(SPEAKS_TLS)).map(str::to_owned);
        Self { remedy: remedy.or(problem.remedy), ..problem }
    }

    /// The remedy.
    fn remedy(&self) -> String {
        self.remedy.clone().unwrap_or_else(|| remedy(&self.class).to_owned())
    }
}

/// The remedy for an unexpected status.
pub fn remedy_of_status(status: u16) -> String {
    let cause = match status {
        300..=399 => "it redirects: load the page that it leads to",
        400 | 495 | 496 => {
            "correct the request; if the server asks for a client certificate (`tlslab-load probe \
             HOST` shows that), give one with --client-cert FILE --client-key FILE"
        }
        401 | 403 | 407 => {
            "it wants a login: give one with --header, or a client certificate with --client-cert \
             FILE --client-key FILE"
        }
        404 | 410 => "correct the path",
        405 => "the page takes other methods: give one of them with --method",
        500..=599 => "the server itself failed: see its log",
        _ => "correct the request",
    };
    format!("{cause}, or measure it as it is with --expect-status {status}")
}

/// The remedy for an unknown class; no problem has such a class.
const UNKNOWN: &str = "this is a fault of tlslab-load: please report it with the command line";

/// The remedy for a class of problem.
pub fn remedy(class: &str) -> &'static str {
    match class {
        "refused" => "start the server, or correct the port",
        "name_not_found" => "correct the host's name",
        "target_refused" => {
            "for a host that you may load, give --allow HOST (and a public one --proof TOKEN)"
        }
        "certificate" => certificate::ANY,
        "tls_protocol" => {
            "check that the port speaks TLS (http:// in the URL loads one without); if it does, the \
             server breaks it as the reason says: update it, or report it to its makers"
        }
        _ if class.starts_with("rule_") => {
            "the server breaks TLS: update it, or report it to its makers; no connection to it \
             counts"
        }
        "alert_handshake_failure" => {
            "the server takes nothing of what was offered: see what it takes with \
             `tlslab-load probe HOST`, and ask for that with --group, --suite, --sigalg or --tls; \
             for keys that rustls lacks (RSA-PSS, Ed448) give --backend openssl; a server that wants \
             a client certificate (--client-cert, --client-key) may refuse so up to TLS 1.2, too"
        }
        "alert_certificate_required" => "the server wants --client-cert FILE --client-key FILE",
        "alert_unknown_ca" | "alert_bad_certificate" | "alert_certificate_unknown" => {
            "the server does not trust the client certificate"
        }
        "unexpected_client_certificate" => {
            "the server asks for no client certificate: leave --client-cert out, or have it ask"
        }
        "alert_unrecognized_name" | "alert_internal_error" => {
            "if the server's sites go by name, give one that it has with --sni NAME"
        }
        "alert_no_application_protocol" => "the server selects none of these protocols (--alpn)",
        "alert_protocol_version" => "the server does not speak this TLS version",
        "http_status" => "correct the path, or say which statuses are good with --expect-status",
        "files_exhausted" => "raise the file limit (ulimit -n) or lower --connections",
        "ports_exhausted" => "widen net.ipv4.ip_local_port_range or wait a minute",
        "unsupported" => "leave --backend at auto, or ask for something else",
        "not_built" => "`make setup` builds it",
        "source" => "give addresses of this machine, of the target's family, with --source",
        "pin" => "give processors that are online with --cpu",
        "no_start" => "with --barrier, give the start as a line on standard input (see --help)",
        "late_start" => "agree on a later instant, or see why the host was slow",
        "not_open" => "give them more time with --open-within, or keep fewer open",
        "realtime" => "run as root or with CAP_SYS_NICE, or leave --realtime out",
        "unexpected_kind" => {
            "have the server send tickets or keep sessions, and all its processes share them, or \
             ask for another kind with --resume"
        }
        "unexpected_hello_retry_request" => {
            "ask for the group that the server takes with --group \
             (`tlslab-load probe HOST` names it)"
        }
        "unexpected_ocsp_stapling" => {
            "give the server an OCSP response to staple, or take it away \
             (`tlslab-load probe HOST` shows whether it staples), or leave --ocsp-stapling out"
        }
        _ if class.starts_with("unexpected_") => {
            "the server prefers something else; ask for what it takes"
        }
        "timeout_name" => "check that the name server answers, or give the host's address",
        _ if class.starts_with("timeout_") => "check that the server answers, or raise --timeout",
        "unreachable" => "check that there is a route to the host (ip route get ADDRESS)",
        "no_tickets" => {
            "have the server send tickets or keep sessions, or ask for another kind with --resume"
        }
        "signature" => "check that the server's certificate and key belong together",
        "http_protocol" | "stream_reset" => {
            "check that the server speaks the HTTP asked for (--http), and what its log says"
        }
        "truncated" => "have the server send a Content-Length, or a close_notify at the end",
        "body" => "check that the page is always the same, or leave --check-body off",
        "usage" => "see --help",
        "output" => "check that the folder is there, with room and the right to write",
        "panic" => "please report it with the command line: it is a fault of tlslab-load",
        _ if class.starts_with("alert_") => {
            "see the server's log for why it refused, and `tlslab-load probe HOST` for what it \
             accepts"
        }
        _ if ["reset", "closed_", "goaway_"].iter().any(|start| class.starts_with(start)) => {
            "see the server's log for why it ended the connection"
        }
        "key" => "check that the module or signer is there, with this key and PIN",
        "handshake" => "check that certificate, suite and version fit each other (--help)",
        "primitives" => "leave out what this machine lacks (--group, --suite, --backend)",
        "system" => "check that the system has memory, files and processes left (ulimit -a)",
        _ if class.starts_with("system_") => {
            "check that the system has memory, files and processes left (ulimit -a)"
        }
        _ => UNKNOWN,
    }
}

impl From<RunError> for Problem {
    fn from(error: RunError) -> Self {
        let message = error.to_string();
        match error {
            RunError::ClientIdentity(_) => Self::usage(message),
            RunError::Backend(BackendError::Unsupported { .. } | BackendError::Refused { .. }) => {
                Self::of_class("unsupported", message, true)
            }
            other => {
                let status = other.status();
                let remedy = status.map(remedy_of_status);
                Self { remedy, status, ..Self::of_class(&other.class(), message, false) }
            }
        }
    }
}

impl From<clap::Error> for Problem {
    fn from(error: clap::Error) -> Self {
        Self::usage(crate::usage_line(&error))
    }
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        Self::of_class("output", format!("cannot write the result: {error}"), false)
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;
    use crate::load::shown::assert_shown;
    use tlslab_system::guard::GuardError;
    use tlslab_wire::outcome::{Failure, Mismatch, Outcome, Step};
    use tlslab_wire::rule::Rule;

    const STEPS: [Step; 4] = [Step::Connect, Step::Handshake, Step::FirstByte, Step::Body];

    /// All failures.
    fn failures() -> Vec<Failure> {
        let all = [
            Failure::Refused,
            Failure::Unreachable,
            Failure::Reset,
            Failure::Truncated,
            Failure::Certificate,
            Failure::Signature,
            Failure::TlsProtocol,
            Failure::HttpProtocol,
            Failure::HttpStatus,
            Failure::Body,
            Failure::StreamReset,
            Failure::FilesExhausted,
            Failure::PortsExhausted,
            Failure::System(5),
        ];
        let of_steps = STEPS.map(|step| [Failure::Closed(step), Failure::TimedOut(step)]);
        let rules = Rule::ALL.map(Failure::Rule);
        let alerts = (0..=u8::MAX).map(Failure::Alert);
        let of_peers = alerts.chain((0..20).map(Failure::GoAway));
        all.into_iter().chain(rules).chain(of_steps.into_iter().flatten()).chain(of_peers).collect()
    }

    /// All facts that can differ from the specification.
    const MISMATCHES: [Mismatch; 10] = [
        Mismatch::Version,
        Mismatch::Suite,
        Mismatch::Group,
        Mismatch::SignatureScheme,
        Mismatch::Kind,
        Mismatch::HelloRetryRequest,
        Mismatch::Alpn,
        Mismatch::EarlyData,
        Mismatch::ClientCertificate,
        Mismatch::OcspStapling,
    ];

    /// The classes of errors that are not failures.
    fn other_classes() -> Vec<String> {
        let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let host = || "host".to_owned();
        let io = || io::Error::other("words");
        let errors = [
            RunError::Guard(GuardError::NameNotFound { host: host(), why: String::new() }),
            RunError::Guard(GuardError::NameTimedOut { host: host() }),
            RunError::Guard(GuardError::NotAllowed { host: host(), address }),
            RunError::Guard(GuardError::PublicWithoutProof { address }),
            RunError::Exceeded(GuardError::PublicWithoutProof { address }),
            RunError::Priming(Outcome::Completed),
            RunError::Priming(Outcome::Unexpected(Mismatch::Group)),
            RunError::Files { needed: 2, granted: 1 },
            RunError::Source { address, source: io() },
            RunError::Pin { processor: 1, source: io() },
            RunError::NotOpen { open: 1, wanted: 2, ms: 3 },
            RunError::NoStart("words".to_owned()),
            RunError::LateStart { late: 1 },
            RunError::Panicked("words".to_owned()),
            RunError::Realtime(io()),
            RunError::System(io()),
        ];
        let named =
            ["usage", "unsupported", "not_built", "output", "key", "handshake", "primitives"];
        let of_errors = errors.into_iter().map(|error| Problem::from(error).class);
        of_errors.chain(named.map(str::to_owned)).collect()
    }

    /// The classes of all problems.
    fn classes() -> impl Iterator<Item = String> {
        let of_failures = failures().into_iter().map(|failure| failure.to_string());
        let of_facts = MISMATCHES.into_iter().map(|fact| format!("unexpected_{fact}"));
        of_failures.chain(of_facts).chain(other_classes())
    }

    #[test]
    fn every_class_has_a_remedy_of_its_own() {
        for class in classes() {
            let remedy = remedy(&class);
            assert!(!remedy.is_empty() && remedy != UNKNOWN, "{class}");
        }
    }

    #[test]
    fn a_remedy_names_what_the_help_of_a_load_shows() {
        classes().for_each(|class| assert_shown(remedy(&class), "run"));
    }

    #[test]
    fn what_is_advised_of_a_status_is_an_option_of_every_mode_that_asks_for_a_page() {
        for status in [302, 401, 404, 405, 418, 500] {
            let remedy = remedy_of_status(status);
            ["run", "hold"].into_iter().for_each(|mode| assert_shown(&remedy, mode));
        }
    }

    #[test]
    fn sessions_that_are_collected_from_another_handshake_are_no_lack_of_tickets() {
        let problem = Problem::from(RunError::Priming(Outcome::Unexpected(Mismatch::Group)));
        assert_eq!(problem.class, "unexpected_group");
        assert_eq!(remedy(&problem.class), remedy("unexpected_group"));
        assert_ne!(remedy(&problem.class), remedy("no_tickets"));
    }
}

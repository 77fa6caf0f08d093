//! The flags of `probe` and of its older form `--probe`.

use std::time::Duration;

use clap::Args;
use tlslab_contract::spec::{SpecError, Trust};
use tlslab_probe::{ProbeLimits, ProbeSpec, Service, Topic};

use super::{names, read_spec, tls};
use crate::load::problem::Problem;
use crate::values::{self, milliseconds};

/// The command line of `probe`.
#[derive(Debug, Args)]
pub struct ProbeCommand {
    /// Server to probe
    #[arg(value_name = "HOST[:PORT]|URL", required_unless_present = "spec")]
    target: Option<String>,

    /// Topics to probe: versions, suites, groups, signature_schemes, certificates, alpn,
    /// resumption, compression, renegotiation, protections [default: all]
    #[arg(long, value_name = "TOPIC,...", value_delimiter = ',', value_parser = topic)]
    only: Vec<Topic>,

    /// Turn to TLS from plain text, on each connection: smtp, imap, pop3, postgres, ldap
    #[arg(long, value_name = "SERVICE", value_parser = service)]
    starttls: Option<Service>,

    /// Name for SNI and the certificate check, instead of the host
    #[arg(long, value_name = "NAME")]
    sni: Option<String>,

    /// Trust the certificates in this PEM file, and no others
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    ca: Option<String>,

    /// Do not check the server's certificate chain and name
    #[arg(long)]
    insecure: bool,

    /// Host to probe although its address is not loopback (repeatable)
    #[arg(long, value_name = "HOST")]
    allow: Vec<String>,

    /// Maximum number of connections [default: 400]
    #[arg(long, value_name = "N")]
    connections: Option<u32>,

    /// Maximum number of connections per second [default: 20; no limit on loopback]
    #[arg(long, value_name = "N")]
    rate: Option<u32>,

    /// Time limit of the whole probe [default: 2m]
    #[arg(long, value_name = "TIME", value_parser = values::time)]
    time: Option<Duration>,

    /// Time limit of each connection, all steps together [default: 5s]
    #[arg(long, value_name = "TIME", value_parser = values::time)]
    timeout: Option<Duration>,

    /// Read the specification of the probe, as JSON, from this file; - is standard input
    #[arg(long, value_name = "FILE|-")]
    spec: Option<String>,

    /// Print the record as JSON, and nothing else, to standard output
    #[arg(long)]
    pub json: bool,
}

impl ProbeCommand {
    /// The specification, from JSON or from flags.
    pub fn spec(&self) -> Result<ProbeSpec, Problem> {
        if let Some(source) = &self.spec {
            let spec: ProbeSpec = read_spec(source)?;
            return match &self.target {
                Some(target) if *target != spec.target => Err(Problem::usage(format!(
                    "the target '{target}' differs from that of --spec; leave it out"
                ))),
                _ => Ok(spec),
            };
        }
        let usual = ProbeLimits::default();
        Ok(ProbeSpec {
            starttls: self.starttls,
            server_name: self.sni.clone(),
            trust: tls::trust(self.ca.as_deref(), self.insecure)?,
            allow: self.allow.clone(),
            only: self.only.clone(),
            limits: ProbeLimits {
                connections: self.connections.unwrap_or(usual.connections),
                rate: self.rate,
                connection_ms: self.timeout.map_or(usual.connection_ms, in_milliseconds),
                all_ms: self.time.map_or(usual.all_ms, in_milliseconds),
            },
            ..ProbeSpec::of(self.target.clone().unwrap_or_default())
        })
    }

    /// The usage error for an invalid specification. It names JSON fields or options, as the user
    /// gave them.
    pub fn problem(&self, error: &SpecError) -> Problem {
        let words = error.to_string();
        let is_file = self.spec.is_some();
        // The options of `probe` are those of `--probe` without their prefix.
        let in_options = |words: &str| names::in_options(words).replace("--probe-", "--");
        Problem::usage(if is_file { words } else { in_options(&words) })
    }
}

fn in_milliseconds(time: Duration) -> u32 {
    u32::try_from(milliseconds(time)).unwrap_or(u32::MAX)
}

/// The server to probe, and the limits of a probe.
#[derive(Debug, Args)]
#[command(next_help_heading = "Probe")]
pub struct ProbeArguments {
    /// Find out what a server accepts, without load, and exit. A --spec is then that of a probe
    #[arg(long, hide = true, value_name = "HOST[:PORT]|URL", num_args = 0..=1,
        default_missing_value = "", conflicts_with_all = ["urls", "urls_file", "preflight"])]
    probe: Option<String>,

    /// Topics to probe: versions, suites, groups, signature_schemes, certificates, alpn,
    /// resumption, compression, renegotiation, protections [default: all]
    #[arg(long, hide = true, value_name = "TOPIC,...", value_delimiter = ',', value_parser = topic,
        requires = "probe", conflicts_with = "urls")]
    probe_only: Vec<Topic>,

    /// Maximum number of connections of a probe [default: 400]
    #[arg(long, hide = true, value_name = "N", requires = "probe", conflicts_with = "urls")]
    probe_connections: Option<u32>,

    /// Maximum number of connections per second of a probe [default: 20; no limit on loopback]
    #[arg(long, hide = true, value_name = "N", requires = "probe", conflicts_with = "urls")]
    probe_rate: Option<u32>,

    /// Time limit of a whole probe [default: 2m]
    #[arg(long, hide = true, value_name = "TIME", value_parser = values::time,
        requires = "probe", conflicts_with = "urls")]
    probe_time: Option<Duration>,
}

impl ProbeArguments {
    /// Whether a probe is requested.
    pub fn asked(&self) -> bool {
        self.probe.is_some()
    }

    /// The target; empty if `--probe` has no value.
    pub fn target(&self) -> &str {
        self.probe.as_deref().unwrap_or_default()
    }

    /// The specification by these flags, and by those that a load has, too.
    pub fn spec(
        &self,
        each: Option<Duration>,
        server_name: Option<String>,
        trust: Trust,
        allow: Vec<String>,
    ) -> ProbeSpec {
        let usual = ProbeLimits::default();
        ProbeSpec {
            server_name,
            trust,
            allow,
            only: self.probe_only.clone(),
            limits: ProbeLimits {
                connections: self.probe_connections.unwrap_or(usual.connections),
                rate: self.probe_rate,
                connection_ms: each.map_or(usual.connection_ms, in_milliseconds),
                all_ms: self.probe_time.map_or(usual.all_ms, in_milliseconds),
            },
            ..ProbeSpec::of(self.target().to_owned())
        }
    }
}

fn topic(text: &str) -> Result<Topic, String> {
    serde_json::from_value(text.into()).map_err(|_| {
        let known: Vec<String> = Topic::ALL.iter().map(name).collect();
        format!("unknown topic '{text}'; known: {}", known.join(", "))
    })
}

fn service(text: &str) -> Result<Service, String> {
    Service::ALL.into_iter().find(|service| service.name() == text).ok_or_else(|| {
        let known = Service::ALL.map(Service::name);
        format!("unknown service '{text}'; known: {}", known.join(", "))
    })
}

fn name(topic: &Topic) -> String {
    serde_json::to_value(topic).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::Arguments;
    use super::*;
    use clap::Parser;

    fn probe(flags: &[&str]) -> Result<ProbeSpec, String> {
        let arguments = Arguments::try_parse_from([&["tlslab-load"], flags].concat());
        let arguments = arguments.map_err(|error| error.to_string())?;
        Ok(arguments.probe_spec().expect("a specification"))
    }

    #[test]
    fn flags_make_a_specification() {
        let flags = ["--probe", "localhost:1", "--probe-only", "suites,alpn", "--insecure"];
        let spec = probe(&flags).unwrap();
        assert_eq!((spec.target.as_str(), spec.trust), ("localhost:1", Trust::Anyone));
        assert_eq!(spec.only, [Topic::Suites, Topic::Alpn]);
        assert_eq!(spec.limits, ProbeLimits::default());
        let flags = ["--probe", "h", "--timeout", "1s", "--probe-time", "9s", "--probe-rate", "7"];
        let limits = probe(&flags).unwrap().limits;
        assert_eq!((limits.connection_ms, limits.all_ms, limits.rate), (1_000, 9_000, Some(7)));
    }

    #[test]
    fn an_unknown_topic_is_answered_with_the_known_ones() {
        let error = probe(&["--probe", "h", "--probe-only", "curves"]).unwrap_err();
        assert!(error.contains("unknown topic 'curves'; known: versions, sui"), "{error}");
    }

    #[test]
    fn flags_of_a_probe_go_with_a_probe_only() {
        assert!(probe(&["--probe-rate", "7", "https://localhost/"]).is_err());
        assert!(probe(&["--probe", "h", "https://localhost/"]).is_err());
    }
}

//! The flags of `probe`, and of `--probe`, its older form.

use std::time::Duration;

use clap::Args;
use tlslab_contract::spec::{SpecError, Trust};
use tlslab_probe::{ProbeLimits, ProbeSpec, Topic};

use super::{milliseconds, names, read_spec, tls};
use crate::load::problem::Problem;

/// The command line of `probe`.
#[derive(Debug, Args)]
pub struct ProbeCommand {
    /// The server
    #[arg(value_name = "HOST[:PORT]|URL", required_unless_present = "spec")]
    target: Option<String>,

    /// Find out only this: versions, suites, groups, signature_schemes, certificates, alpn,
    /// resumption, compression, renegotiation, protections
    #[arg(long, value_name = "TOPIC,...", value_delimiter = ',', value_parser = topic)]
    only: Vec<Topic>,

    /// Name for SNI and the certificate check, instead of the host
    #[arg(long, value_name = "NAME")]
    sni: Option<String>,

    /// Trust the certificates in this PEM file, and no others
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    ca: Option<String>,

    /// Do not check the server's chain and name
    #[arg(long)]
    insecure: bool,

    /// A host that may be probed although it is not a loopback address (repeatable)
    #[arg(long, value_name = "HOST")]
    allow: Vec<String>,

    /// Connections at most [default: 400]
    #[arg(long, value_name = "N")]
    connections: Option<u32>,

    /// Connections a second at most [default: 20, and any number on loopback]
    #[arg(long, value_name = "N")]
    rate: Option<u32>,

    /// The time that the probe takes at most [default: 2m]
    #[arg(long, value_name = "TIME", value_parser = super::time)]
    time: Option<Duration>,

    /// The time that all steps of a connection may take [default: 5s]
    #[arg(long, value_name = "TIME", value_parser = super::time)]
    timeout: Option<Duration>,

    /// Read the specification of the probe (JSON) from this file, or from standard input with -
    #[arg(long, value_name = "FILE|-")]
    spec: Option<String>,

    /// Print the record, as JSON, and nothing else on standard output
    #[arg(long)]
    pub json: bool,
}

impl ProbeCommand {
    /// The specification that was given, in JSON or in flags.
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

    /// What is wrong with a specification, in the words that it was given in.
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

/// What to probe, and what a probe may take.
#[derive(Debug, Args)]
#[command(next_help_heading = "Probe")]
pub struct ProbeArguments {
    /// Find out what a server accepts, without load, and stop; with --spec, that is a probe's
    #[arg(long, hide = true, value_name = "HOST[:PORT]|URL", num_args = 0..=1, default_missing_value = "",
        conflicts_with_all = ["urls", "urls_file", "preflight"])]
    probe: Option<String>,

    /// Find out only this: versions, suites, groups, signature_schemes, certificates, alpn,
    /// resumption, compression, renegotiation, protections
    #[arg(long, hide = true, value_name = "TOPIC,...", value_delimiter = ',', value_parser = topic,
        requires = "probe", conflicts_with = "urls")]
    probe_only: Vec<Topic>,

    /// Connections that a probe makes at most [default: 400]
    #[arg(long, hide = true, value_name = "N", requires = "probe", conflicts_with = "urls")]
    probe_connections: Option<u32>,

    /// Connections that a probe makes a second at most [default: 20, and any number on loopback]
    #[arg(long, hide = true, value_name = "N", requires = "probe", conflicts_with = "urls")]
    probe_rate: Option<u32>,

    /// The time that a probe takes at most [default: 2m]
    #[arg(long, hide = true, value_name = "TIME", value_parser = super::time, requires = "probe", conflicts_with = "urls")]
    probe_time: Option<Duration>,
}

impl ProbeArguments {
    /// Whether a probe is asked for.
    pub fn asked(&self) -> bool {
        self.probe.is_some()
    }

    /// The target, empty when it is not given here.
    pub fn target(&self) -> &str {
        self.probe.as_deref().unwrap_or_default()
    }

    /// The specification of the flags, of which some belong to loads as well.
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

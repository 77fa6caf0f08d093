//! The notes of a record: unusual but legitimate settings and findings.

use std::collections::BTreeSet;

use tlslab_contract::accounting::Outcomes;
use tlslab_contract::record::{
    CountedFacts, Kinds, Preflight, SessionsGiven, Supply, Users, WorkerUsage,
};
use tlslab_contract::spec::{RequestsPerConnection, RunSpec, Stop};
use tlslab_tls::{ClientSettings, Facts, HTTP_2};
use tlslab_wire::names::{CipherSuite, TlsVersion};
use tlslab_wire::wording::{counted, decimal, grouped};

/// The notes for these settings, this preflight, these negotiated facts, and these kinds of
/// handshake.
pub fn notes(
    settings: &ClientSettings,
    preflight: &Preflight,
    facts: &[CountedFacts],
    kinds: Kinds,
) -> Vec<String> {
    let first = &preflight.facts;
    let facts = || facts.iter().map(|counted| &counted.facts);
    let mut notes = Vec::new();
    if settings.key_log.is_some() {
        notes.push(
            "the secrets of all connections were written to a key log: the run was slowed, and \
             whoever has the log can decrypt its traffic"
                .to_owned(),
        );
    }
    if settings.allow_obsolete {
        let used = list(facts().flat_map(obsolete));
        notes.push(format!(
            "obsolete protocols, suites and keys were allowed; used: {}",
            if used.is_empty() { "none" } else { &used }
        ));
    }
    if let Some(words) = &preflight.dh_prime {
        notes.push(format!("the prime of the server's own Diffie-Hellman parameters {words}"));
    }
    if let Some(SessionsGiven { full, resumed: 0 }) = preflight.sessions {
        notes.push(format!(
            "the server gives no session ticket on a resumed connection ({full} on a full \
             handshake): {} beside the load collected the sessions to resume, which is in no count, \
             rate and latency, but in the processor time of both sides",
            counted(kinds.refill_connections, "full handshake")
        ));
    }
    notes.extend(barred(facts().chain([first])));
    notes
}

/// A note about connections that the server ended between two requests, which made fewer requests
/// than the specification asks for.
pub fn closed_between(spec: &RunSpec, outcomes: &Outcomes, requests: u64) -> Option<String> {
    let Outcomes { closed_idle, completed, .. } = *outcomes;
    let asked = match spec.requests_per_connection {
        RequestsPerConnection::Count(count) => {
            format!(", where {count} a connection were asked for")
        }
        RequestsPerConnection::Unlimited => String::new(),
    };
    (closed_idle > 0).then(|| {
        format!(
            "the server ended {} of {} between two requests, as it may (RFC 9112, section 9.3; RFC \
             9113, section 9.1): {} were answered in all{asked}",
            grouped(closed_idle),
            counted(completed, "completed connection"),
            counted(requests, "request"),
        )
    })
}

/// Notes about users who gave up, and about a run in which nobody could.
pub fn patience(spec: &RunSpec, users: Option<Users>) -> Option<String> {
    let (users, each) = users.zip(spec.load.patience_ms)?;
    let attempts = u64::from(spec.load.retries) + 1;
    let seconds = |ms: u64| decimal(ms as f64 / 1e3, 1);
    let longest = each * attempts;
    if users.gave_up > 0 {
        return Some(format!(
            "{} gave up: no answer within {} s, in {} each at most. Response times count them with \
             the time until then, which is a lower bound; all other times are of completed \
             connections",
            counted(users.gave_up, "user"),
            seconds(each),
            counted(attempts, "attempt"),
        ));
    }
    let length = match spec.stop {
        Stop::DurationMs(ms) => spec.warmup_ms + ms,
        Stop::Count(_) => return None,
    };
    (longest >= length).then(|| {
        format!(
            "users give up for good after {} s, and the run was over after {} s with its warm-up: \
             nobody could",
            seconds(longest),
            seconds(length)
        )
    })
}

/// A note about a server that allows fewer concurrent requests than are asked for.
pub fn fewer_streams(spec: &RunSpec, preflight: &Preflight) -> Option<String> {
    let asked = spec.http.streams;
    let allowed = preflight.streams.filter(|allowed| *allowed < asked)?;
    Some(format!(
        "the server allows {} on a connection (SETTINGS_MAX_CONCURRENT_STREAMS), where {asked} were \
         asked for: no connection had more requests in flight",
        counted(allowed, "concurrent stream")
    ))
}

/// Notes on processors: more workers than there are for them, and what the kernel does not say.
pub fn processor_notes(workers: &[WorkerUsage], supply: &Supply) -> Vec<String> {
    let pinned: BTreeSet<usize> = workers.iter().filter_map(|worker| worker.processor).collect();
    let processors = if pinned.is_empty() { supply.processors } else { Some(pinned.len()) };
    let too_few = processors.filter(|processors| *processors < workers.len());
    let mut notes = Vec::new();
    let threads = counted(workers.len() as u64, "worker thread");
    if let Some(processors) = too_few {
        let processors = counted(processors as u64, "processor");
        notes.push(format!(
            "{threads} on {processors}: they wait for each other; one thread a processor is enough \
             (--threads, --cpu)"
        ));
    }
    if let Some(quota) = supply.quota.filter(|quota| *quota < workers.len() as f64) {
        notes.push(format!(
            "{threads}, but the control group allows {} of {} processors: the kernel stops the \
             threads when it is used up",
            decimal(quota, 1),
            supply.processors.map_or("the".to_owned(), |count| count.to_string()),
        ));
    }
    if workers.iter().any(|worker| worker.seconds > 0.0 && worker.queued_s.is_none()) {
        notes.push(
            "this system does not say for how long workers were ready and waited for a processor \
             (/proc/PID/task/TID/schedstat)"
                .to_owned(),
        );
    }
    notes
}

/// A note for each suite that carried HTTP/2 although RFC 9113 prohibits it.
fn barred<'f>(facts: impl Iterator<Item = &'f Facts>) -> impl Iterator<Item = String> {
    let suites: BTreeSet<&str> = facts
        .filter(|facts| facts.alpn == HTTP_2)
        .map(|facts| facts.suite.as_str())
        .filter(|suite| suite.parse().is_ok_and(CipherSuite::is_barred_from_http2))
        .collect();
    suites.into_iter().map(|suite| {
        format!(
            "{suite} is on RFC 9113's list of prohibited suites (appendix A): \
             a server may refuse HTTP/2 with INADEQUATE_SECURITY"
        )
    })
}

/// The version and the suite of a handshake, if obsolete.
fn obsolete(facts: &Facts) -> impl Iterator<Item = String> {
    let version: Option<TlsVersion> = facts.tls.parse().ok();
    let version = version.filter(|version| version.is_obsolete());
    let suite: Option<CipherSuite> = facts.suite.parse().ok();
    let suite = suite.filter(|suite| suite.is_obsolete());
    let prime = facts.group.strip_prefix("DH-").and_then(|bits| bits.parse().ok());
    let prime = prime.filter(|bits: &u32| *bits < tlslab_wire::tls::obsolete::SHORTEST_PRIME);
    [
        version.map(|version| format!("TLS version {version}")),
        suite.map(|suite| suite.to_string()),
        prime.map(|_| facts.group.clone()),
    ]
    .into_iter()
    .flatten()
}

/// The distinct texts, in order, as a list.
fn list(texts: impl Iterator<Item = String>) -> String {
    let distinct: BTreeSet<String> = texts.collect();
    distinct.into_iter().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_held_against_processors_and_quota() {
        let worker = |processor, queued_s| WorkerUsage {
            processor,
            queued_s,
            seconds: 1.0,
            ..WorkerUsage::default()
        };
        let notes = |workers: &[WorkerUsage], quota| {
            processor_notes(workers, &Supply { processors: Some(2), quota, ..Supply::default() })
        };
        let two = [worker(Some(0), Some(0.0)), worker(Some(1), Some(0.0))];
        assert!(notes(&two, None).is_empty());
        assert!(notes(&two, Some(2.0)).is_empty());
        assert!(notes(&two, Some(0.2))[0].contains("allows 0.2 of 2 processors"));
        let same = [worker(Some(1), Some(0.0)), worker(Some(1), Some(0.0))];
        assert!(notes(&same, None)[0].starts_with("2 worker threads on 1 processor: "));
        let free = [0; 3].map(|_| worker(None, Some(0.0)));
        assert!(notes(&free, None)[0].starts_with("3 worker threads on 2 processors: "));
        assert!(notes(&[worker(None, None)], None)[0].starts_with("this system does not say"));
    }
}

//! Remedies for verdicts.

use std::collections::BTreeMap;

use tlslab_contract::record::{RunRecord, VerdictCode};

use crate::load::certificate::Fault;
use crate::load::problem::{remedy, remedy_of_status};

/// Whether stops made up most of the time that a worker lost.
fn is_stopped(record: &RunRecord) -> bool {
    let suspended = record.supply.suspended_s > 0.0;
    suspended || record.workers.iter().any(|w| w.stopped_s > w.queued_s.unwrap_or_default())
}

/// The remedy for a verdict of this record; `None` for a valid run.
pub fn what_to_do(record: &RunRecord, code: VerdictCode) -> Option<String> {
    let outcomes = &record.outcomes;
    let words = match code {
        VerdictCode::Valid => return None,
        VerdictCode::Failures => return Some(about_most(record, &outcomes.failed, "")),
        VerdictCode::Unexpected => {
            return Some(about_most(record, &outcomes.unexpected, "unexpected_"));
        }
        VerdictCode::ClientSaturated => {
            "give the generator more threads (--threads) on processors that the server does not \
             use (--cpu), or less work (--lean)"
        }
        VerdictCode::ClientDelayed | VerdictCode::ClientStarved if is_stopped(record) => {
            "repeat the run without stopping the process (SIGSTOP, Ctrl-Z, a frozen control group) \
             or suspending the machine"
        }
        VerdictCode::ClientDelayed | VerdictCode::ClientStarved => {
            "leave the generator processors that nothing else uses, the server included (--cpu), \
             one for each of its threads (--threads), and raise the quota of its control group; \
             `tlslab doctor` names both"
        }
        VerdictCode::LittlesLaw => {
            "repeat the run with nothing else on the generator's processors; if it is so again, \
             please report it with the record"
        }
        VerdictCode::LateArrivals => {
            "give arrivals more slots (--connections), or the generator a processor of its own \
             (--cpu, --realtime)"
        }
        VerdictCode::RateNotAchieved => {
            "give arrivals more slots (--connections), or ask for a lower --rate"
        }
        VerdictCode::ResumeRatio => {
            "have the server give a session for each connection that is to resume one, or ask for \
             a smaller --resume-ratio"
        }
        VerdictCode::Stalled => "see the server's log for why it stopped, and repeat the run",
        VerdictCode::NothingCompleted => {
            "see above why connections failed; if none did, measure for longer (--duration)"
        }
        VerdictCode::NotSimultaneous => {
            "start all generators at one instant (--barrier), and measure for longer"
        }
        VerdictCode::HostLost => "see why the generator was lost, and repeat the run",
        VerdictCode::ClockMoved => {
            "let the hosts' clocks settle (chronyc tracking), and repeat the run"
        }
        VerdictCode::Interrupted => "repeat the run for a whole measurement",
    };
    Some(words.to_owned())
}

/// The remedy for the most frequent failure.
fn about_most(record: &RunRecord, counts: &BTreeMap<String, u64>, prefix: &str) -> String {
    let Some((class, _)) = counts.iter().max_by_key(|(_, count)| **count) else {
        return "see the generators' own records".to_owned();
    };
    let reason = record.outcomes.reasons_of(class).next().map(|counted| &*counted.reason);
    match (format!("{prefix}{class}").as_str(), reason) {
        ("certificate", Some(reason)) => {
            Fault::of(reason).remedy(&record.spec.tls.trust).to_owned()
        }
        // The reason contains the status.
        ("http_status", Some(reason)) => {
            reason.parse().map_or_else(|_| remedy("http_status").to_owned(), remedy_of_status)
        }
        (class, _) => remedy(class).to_owned(),
    }
}

//! The specifications of several generators, which differ only in each generator's share of the
//! load.

use serde_json::Value;
use tlslab_contract::spec::load::{Ramp, Rate};
use tlslab_contract::spec::{RunSpec, Stop};

use super::MergeError;

/// The specification of the whole load, in which the shares are added.
///
/// # Errors
/// The specifications differ in a field that is not a share. The error names the first such field.
pub fn joined_spec(shares: &[(&str, &RunSpec)]) -> Result<RunSpec, MergeError> {
    let (first, of_first) = shares[0];
    let known = without_share(of_first);
    let mut whole = of_first.clone();
    whole.portion = None;
    for (name, spec) in &shares[1..] {
        if let Some(what) = difference(&known, &without_share(spec), "spec") {
            let (first, name) = (first.to_owned(), (*name).to_owned());
            return Err(MergeError::Different { first, name, what });
        }
        whole.connections = whole.connections.saturating_add(spec.connections);
        whole.threads = whole.threads.saturating_add(spec.threads);
        add_steps(&mut whole.load.connection_steps, &spec.load.connection_steps);
        whole.load.rate = added_rate(whole.load.rate, spec.load.rate.as_ref());
        whole.load.trace = whole.load.trace.saturating_add(spec.load.trace);
        whole.stop = added_stop(whole.stop, spec.stop);
        if whole.cpus != spec.cpus {
            whole.cpus = Vec::new();
        }
        if whole.sources != spec.sources {
            whole.sources = Vec::new();
        }
    }
    Ok(whole)
}

/// The specification without the share of its generator: what must be the same for all generators.
fn without_share(spec: &RunSpec) -> Value {
    let mut spec = spec.clone();
    (spec.connections, spec.threads) = (1, 1);
    spec.portion = None;
    spec.cpus.clear();
    spec.sources.clear();
    spec.allow.clear();
    (spec.load.seed, spec.load.trace) = (0, 0);
    spec.load.connection_steps.iter_mut().for_each(|step| *step = 1);
    spec.load.rate = spec.load.rate.map(|rate| match rate {
        Rate::Constant(_) => Rate::Constant(1.0),
        Rate::Ramp(ramp) => Rate::Ramp(Ramp { from: 1.0, to: 1.0, ..ramp }),
        Rate::Steps(steps) => Rate::Steps(vec![1.0; steps.len()]),
    });
    if let Stop::Count(count) = &mut spec.stop {
        *count = 1;
    }
    serde_json::to_value(spec).unwrap_or(Value::Null)
}

/// The path of the first difference between two values; `None` if they are equal.
fn difference(mine: &Value, theirs: &Value, path: &str) -> Option<String> {
    match (mine, theirs) {
        (Value::Object(mine), Value::Object(theirs)) => mine
            .keys()
            .chain(theirs.keys().filter(|key| !mine.contains_key(*key)))
            .find_map(|key| {
                let of = |object: &serde_json::Map<String, Value>| object.get(key).cloned();
                let (mine, theirs) = (of(mine), of(theirs));
                let path = format!("{path}.{key}");
                difference(&mine.unwrap_or_default(), &theirs.unwrap_or_default(), &path)
            }),
        _ if mine == theirs => None,
        _ => Some(path.to_owned()),
    }
}

fn add_steps(mine: &mut [u32], theirs: &[u32]) {
    mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine = mine.saturating_add(*theirs));
}

fn added_rate(mine: Option<Rate>, theirs: Option<&Rate>) -> Option<Rate> {
    match (mine?, theirs?) {
        (Rate::Constant(mine), Rate::Constant(theirs)) => Some(Rate::Constant(mine + theirs)),
        (Rate::Ramp(mine), Rate::Ramp(theirs)) => {
            let (from, to) = (mine.from + theirs.from, mine.to + theirs.to);
            Some(Rate::Ramp(Ramp { from, to, ..mine }))
        }
        (Rate::Steps(mine), Rate::Steps(theirs)) => {
            let pairs = mine.iter().zip(theirs);
            Some(Rate::Steps(pairs.map(|(mine, theirs)| mine + theirs).collect()))
        }
        (mine, _) => Some(mine),
    }
}

fn added_stop(mine: Stop, theirs: Stop) -> Stop {
    match (mine, theirs) {
        (Stop::Count(mine), Stop::Count(theirs)) => Stop::Count(mine + theirs),
        (mine, _) => mine,
    }
}

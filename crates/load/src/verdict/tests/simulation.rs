//! Little's law over simulated servers: correct times are always accepted, wrong ones always
//! rejected.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

use super::*;
use tlslab_contract::histogram::{empty_histogram, summary};
use tlslab_system::clock::{MILLISECOND, Nanos, SECOND};

/// A closed loop around a server that serves one connection at a time.
#[derive(Clone, Copy)]
struct World {
    connections: u64,
    warmup: Nanos,
    measure: Nanos,
    /// The mean of the exponentially distributed time to serve a connection.
    service: Nanos,
    /// The length of the accept queue. The SYN of a further connection is lost and retransmitted
    /// after 1, 3, 7 seconds and so on (RFC 6298).
    backlog: usize,
    /// From this instant on, the mean service time is `slower` times as long.
    slow_from: Nanos,
    slower: u64,
    /// The interval in which the server serves nothing.
    frozen: (Nanos, Nanos),
}

const STEADY: World = World {
    connections: 10,
    warmup: 500 * MILLISECOND,
    measure: 3 * SECOND,
    service: 2 * MILLISECOND,
    backlog: usize::MAX,
    slow_from: Nanos::MAX,
    slower: 1,
    frozen: (Nanos::MAX, Nanos::MAX),
};

/// The measured quantities: each completed connection's time, and the counted time in flight.
struct Measured {
    times: Vec<Nanos>,
    started: u64,
    flight: Flight,
    carried: u64,
    in_flight: u64,
}

/// Start and end of all connections, in order of their ends.
fn lives(world: World, seed: u64) -> Vec<(Nanos, Nanos)> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let end = world.warmup + world.measure;
    // The next events: attempt number N of a connection to enter the queue, or the end of its
    // service.
    let mut events: BinaryHeap<Reverse<(Nanos, Nanos, u32)>> =
        (0..world.connections).map(|_| Reverse((0, 0, 1))).collect();
    let (mut queue, mut lives) = (VecDeque::new(), Vec::new());
    while let Some(Reverse((now, began, attempt))) = events.pop() {
        if now >= end {
            lives.push((began, Nanos::MAX));
            continue;
        }
        if attempt > 0 && queue.len() > world.backlog {
            events.push(Reverse((now + SECOND * (1 << (attempt - 1)), began, attempt + 1)));
            continue;
        }
        if attempt > 0 {
            queue.push_back(began);
        } else {
            queue.pop_front();
            lives.push((began, now));
            events.push(Reverse((now, now, 1)));
        }
        let is_idle = if attempt > 0 { queue.len() == 1 } else { !queue.is_empty() };
        if is_idle {
            events.push(Reverse((now + serving(world, &mut random, now), queue[0], 0)));
        }
    }
    lives.extend(queue.into_iter().skip(1).map(|began| (began, Nanos::MAX)));
    lives
}

/// The service time of the connection whose service starts now.
fn serving(world: World, random: &mut ChaCha8Rng, now: Nanos) -> Nanos {
    let uniform = (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
    let mean = world.service * if now >= world.slow_from { world.slower } else { 1 };
    let time = (mean as f64 * -(1.0 - uniform).ln()) as Nanos + 1;
    let (from, until) = world.frozen;
    if (from..until).contains(&(now + time)) { time + (until - from) } else { time }
}

fn measured(world: World, seed: u64) -> Measured {
    let (start, stop) = (world.warmup, world.warmup + world.measure);
    let mut found = Measured {
        times: Vec::new(),
        started: 0,
        flight: Flight::default(),
        carried: 0,
        in_flight: 0,
    };
    for (began, ended) in lives(world, seed) {
        if ended < start || began >= stop {
            continue;
        }
        let part = ended.min(stop) - began.max(start);
        found.flight.within += u128::from(part);
        found.flight.before += u128::from(start.saturating_sub(began));
        found.carried += u64::from(began < start);
        found.started += u64::from(began >= start);
        if ended < stop {
            found.times.push(ended - began);
        } else {
            found.in_flight += 1;
            found.flight.unfinished += u128::from(stop - began);
        }
    }
    found
}

/// The verdicts of the run if these times had been recorded.
fn said(world: World, found: &Measured, times: impl Iterator<Item = Nanos>) -> Vec<VerdictCode> {
    let mut histogram = empty_histogram();
    times.for_each(|time| histogram.saturating_record(time));
    verdicts_of(|made| {
        let completed = found.times.len() as u64;
        made.outcomes = Outcomes {
            attempts: found.carried + found.started,
            completed,
            in_flight_at_stop: found.in_flight,
            ..Outcomes::default()
        };
        assert!(made.outcomes.balanced());
        made.summaries.insert("service".to_owned(), summary(&histogram));
        (made.flight, made.carried, made.requests) = (found.flight, found.carried, completed);
        made.connections = u32::try_from(world.connections).ok();
        made.seconds = world.measure as f64 / SECOND as f64;
        // The instants of completion do not matter here.
        made.intervals = vec![Interval { seconds: made.seconds, ..slice(0.0, completed) }];
        made.kinds = Kinds { full: completed, ..Kinds::default() };
    })
}

/// Servers that once gave false alarms, and others, each with a name.
fn worlds() -> [(&'static str, World); 6] {
    let slow = World { slow_from: 2 * SECOND, slower: 20, ..STEADY };
    let frozen = World { frozen: (2 * SECOND, 3 * SECOND), ..STEADY };
    let dead = World { frozen: (2 * SECOND, 60 * SECOND), ..STEADY };
    [
        ("steady", STEADY),
        ("SYNs sent again", World { connections: 300, backlog: 5, ..STEADY }),
        ("SYNs sent again, hardly any room", World { connections: 100, backlog: 1, ..STEADY }),
        ("delays that begin in the middle", World { connections: 200, ..slow }),
        ("frozen for a second", frozen),
        ("frozen to the end", dead),
    ]
}

#[test]
fn right_times_are_not_doubted_whatever_the_server_does() {
    for (name, world) in worlds() {
        for seed in 0..20 {
            let found = measured(world, seed);
            let codes = said(world, &found, found.times.iter().copied());
            assert_eq!(codes, [VerdictCode::Valid], "{name}, seed {seed}");
        }
    }
}

#[test]
fn what_was_checked_before_raised_false_alarms_there() {
    // The former check of a closed loop: rate x mean service time against the number of
    // connections.
    let doubted = |world: World| {
        let found = measured(world, 1);
        let seconds = world.measure as f64 / SECOND as f64;
        let sum = found.times.iter().sum::<u64>() as f64 / SECOND as f64;
        let (kept, service) = (world.connections as f64, sum / found.times.len() as f64);
        let allowed = 0.02 + 3.0 * service / seconds / kept.sqrt();
        (sum / seconds / kept - 1.0).abs() > allowed && seconds >= 10.0 * service
    };
    let alarms: Vec<_> = worlds().into_iter().filter(|(_, world)| doubted(*world)).collect();
    let names: Vec<_> = alarms.iter().map(|(name, _)| *name).collect();
    assert!(names.contains(&"SYNs sent again"), "{names:?}");
    assert!(!names.contains(&"steady"), "{names:?}");
}

#[test]
fn wrong_times_are_caught_whatever_the_server_does() {
    for (name, world) in worlds() {
        for seed in 0..20 {
            let found = measured(world, seed);
            let times = || found.times.iter().copied();
            let caught = |codes: Vec<VerdictCode>, what: &str| {
                assert_eq!(codes, [VerdictCode::LittlesLaw], "{what}: {name}, seed {seed}");
            };
            caught(said(world, &found, times().skip(1)), "a sample is lost");
            caught(said(world, &found, times().map(|time| time / 2)), "half of each time");
            let mut sorted = found.times.clone();
            sorted.sort_unstable();
            let typical = sorted[sorted.len() / 2];
            let capped = || times().map(|time| time.min(typical));
            caught(said(world, &found, capped()), "the tail is cut off");
            caught(said(world, &found, times().map(|time| time * 21 / 20)), "5 % too long");
        }
    }
}

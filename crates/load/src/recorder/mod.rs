//! The recorder of one worker: histograms, accounting, bytes, slices. Recorders are merged at the
//! end.

mod buckets;
mod conclusion;
mod histograms;
mod names;
mod pages;
mod part;
mod reasons;
mod round_trips;
mod second;
mod statuses;
mod totals;
mod troubles;

pub use self::buckets::{BOUNDS, Buckets, TimesInBuckets};
pub use self::conclusion::Conclusion;
use self::conclusion::Notes;
use self::histograms::Time;
use self::names::Names;
pub use self::pages::Pages;
use self::part::Part;
use self::reasons::Reasons;
use self::round_trips::RoundTripCounts;
pub use self::second::{Percentiles, Second};
use self::statuses::Statuses;
pub use self::totals::Totals;
use crate::trace::Trace;
use tlslab_contract::record::{
    Bytes, ConfirmedBy, CpuTime, FlightTimes, Interval, Kinds, Users, add_slices,
};
use tlslab_contract::spec::RunSpec;
use tlslab_system::clock::{MILLISECOND, Nanos, SECOND};
use tlslab_tls::{EarlyData, HandshakeKind, Negotiated};
use tlslab_wire::outcome::Outcome;

/// The highest number of distinct combinations of facts: a server with more is misbehaving.
const FACTS_LIMIT: usize = 64;

/// The instants of one connection, in order of time.
#[derive(Debug, Clone, Copy, Default)]
pub struct Milestones {
    /// Intended start in an open loop; 0 in a closed loop.
    pub intended: Nanos,
    /// Start of the TCP connection.
    pub started: Nanos,
    /// The TCP connection was established.
    pub established: Nanos,
    /// The client completed the TLS handshake.
    pub secured: Nanos,
    /// Start of the current request.
    pub requested: Nanos,
    /// First byte of the current response.
    pub answered: Nanos,
    /// First byte of the connection's first response.
    pub first_answered: Nanos,
}

/// One attempt of a user in an open loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempt {
    /// The instant at which the user arrived: the intended start of the first attempt.
    pub arrived: Nanos,
    /// The number of attempts before this one.
    pub retry: u32,
    /// The instant at which the user gives up; `Nanos::MAX` without patience.
    pub gives_up_at: Nanos,
}

impl Attempt {
    /// No attempt of a user in an open loop: nobody gives up.
    pub const NONE: Self = Self { arrived: 0, retry: 0, gives_up_at: Nanos::MAX };
}

/// A complete response with an expected status.
#[derive(Debug, Clone, Copy)]
pub struct Answer {
    /// The index of the requested page.
    pub page: u16,
    /// The status.
    pub status: u16,
    /// Bytes of the head; in HTTP/2 as compressed.
    pub head_bytes: u64,
    /// Bytes of the body.
    pub body_bytes: u64,
}

/// The full handshakes and sessions of priming.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Primed {
    /// Full handshakes made.
    pub connections: u64,
    /// Sessions available for resumption afterwards.
    pub sessions: u64,
}

/// The accounting of arrivals in an open loop: `due = started + waiting_at_stop`, exactly; with
/// patience, `+ users.left_waiting`.
#[derive(Debug, Clone, Copy, Default)]
pub struct ArrivalAccounting {
    /// Arrivals that were waiting when the measurement began, and arrivals due during the
    /// measurement.
    pub due: u64,
    /// Arrivals that found no free slot when they were due.
    pub blocked: u64,
    /// Arrivals that had not started when the measurement ended.
    pub waiting_at_stop: u64,
    /// The time over which the arrivals were due: the scheduled length of the measurement.
    pub window: Nanos,
}

/// Time that connections spent in flight, summed over connections, in nanoseconds. Little's law
/// holds as an identity under any load: `within` + `before` = service times of the completed
/// connections + `troubled` + `unfinished`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Flight {
    /// During the measurement: the integral of the number in flight over time.
    pub within: u128,
    /// Before the measurement: by connections that were in flight when the measurement began.
    pub before: u128,
    /// By connections that did not complete, ended during the measurement, since their start.
    pub troubled: u128,
    /// By connections that were in flight when the measurement ended, since their start.
    pub unfinished: u128,
}

impl Flight {
    /// The same times in the form of a record.
    pub fn times(&self) -> FlightTimes {
        let seconds = |nanos: u128| nanos as f64 / SECOND as f64;
        FlightTimes {
            within_s: seconds(self.within),
            before_s: seconds(self.before),
            troubled_s: seconds(self.troubled),
            unfinished_s: seconds(self.unfinished),
        }
    }

    fn merge(&mut self, other: &Self) {
        self.within += other.within;
        self.before += other.before;
        self.troubled += other.troubled;
        self.unfinished += other.unfinished;
    }
}

/// Connect time from which a SYN must have been retransmitted, as opposed to a busy server. The
/// first retransmission follows after one second (RFC 6298, section 2.1); the limit is lower
/// because the measured time may be a tick shorter than the kernel's timer.
pub const SLOW_CONNECT: Nanos = 990 * MILLISECOND;

/// The shortest wait at the end of a measurement that may indicate that the server answers no more.
pub const LONG_WAIT: Nanos = SECOND;

/// The counts and times of one worker.
#[derive(Debug)]
pub struct Recorder {
    /// The steps of the measurement, and the index of the current one.
    parts: Vec<Part>,
    step: usize,
    facts: Vec<(Option<Negotiated>, u64)>,
    /// Outcomes by requested server name.
    pub names: Names,
    /// Causes of failures.
    pub reasons: Reasons,
    /// Complete responses by status.
    pub statuses: Statuses,
    /// Requests by page, if there are several.
    pub pages: Pages,
    /// Connections in flight when the measurement began.
    carried: u64,
    /// Connections in flight when the measurement ended.
    pub in_flight_at_stop: u64,
    /// How long each connection of these had waited for the server, if for [`LONG_WAIT`] or longer.
    pub waits_at_stop: Vec<Nanos>,
    /// In an open loop: the accounting of arrivals.
    pub arrivals: ArrivalAccounting,
    /// With patience: how the users fared, and their retries.
    users: Users,
    /// The time that connections spent in flight.
    pub flight: Flight,
    /// Connections whose TCP connect took [`SLOW_CONNECT`] or longer, established or not.
    pub slow_connects: u64,
    completed: u64,
    /// Completed connections that the server ended between two requests.
    pub closed_idle: u64,
    troubled: u64,
    authenticated: u64,
    minimal_client: u64,
    /// Completed connections by what confirmed their handshakes.
    pub confirmed_by: ConfirmedBy,
    /// Completed connections by their round trips.
    pub round_trips: RoundTripCounts,
    bytes: Bytes,
    kinds: Kinds,
    slices: Vec<Interval>,
    /// The result of [`Recorder::ended`] when the last slice was closed.
    in_slices: (u64, u64),
    /// Counts and times not yet reported to the watcher of the run.
    pub second: Box<Second>,
    /// The event times of single connections, if the specification asks for them.
    pub trace: Trace,
}

impl Recorder {
    /// An empty recorder for a measurement of N steps.
    pub fn new(steps: usize, open_loop: bool) -> Self {
        Self {
            parts: (0..steps).map(|_| Part::new(open_loop)).collect(),
            step: 0,
            facts: Vec::new(),
            names: Names::default(),
            reasons: Reasons::default(),
            statuses: Statuses::default(),
            pages: Pages::default(),
            carried: 0,
            in_flight_at_stop: 0,
            waits_at_stop: Vec::new(),
            arrivals: ArrivalAccounting::default(),
            users: Users::default(),
            flight: Flight::default(),
            slow_connects: 0,
            completed: 0,
            closed_idle: 0,
            troubled: 0,
            authenticated: 0,
            minimal_client: 0,
            confirmed_by: ConfirmedBy::default(),
            round_trips: RoundTripCounts::default(),
            bytes: Bytes::default(),
            kinds: Kinds::default(),
            slices: Vec::new(),
            in_slices: (0, 0),
            second: Box::new(Second::new()),
            trace: Trace::default(),
        }
    }

    /// Starts the measurement with N connections in flight.
    pub fn start_measurement(&mut self, in_flight: u64) {
        self.carried = in_flight;
        self.second.clear();
        self.second.carried = in_flight;
    }

    /// Counts due arrivals of an open loop.
    pub fn due(&mut self, count: u64) {
        self.arrivals.due += count;
        self.second.due += count;
    }

    /// Counts a connection of a user who came back.
    pub fn came_back(&mut self) {
        self.users.retries += 1;
    }

    /// Counts arrivals that waited for a slot until their patience ended, and records this time,
    /// which is a lower bound of each of their response times.
    pub fn left_waiting(&mut self, count: u64, patience: Nanos, requests: bool) {
        self.users.left_waiting += count;
        for _ in 0..count {
            self.gave_up(&Milestones::default(), patience, requests);
        }
    }

    /// Counts the user whose attempt ended so, and who does not come back.
    pub fn user_left(
        &mut self,
        attempt: Attempt,
        outcome: Outcome,
        at: &Milestones,
        requests: bool,
    ) {
        match outcome {
            Outcome::Completed if attempt.retry == 0 => self.users.answered_at_first += 1,
            Outcome::Completed => self.users.answered_after_retry += 1,
            Outcome::Failed(_) | Outcome::Unexpected(_) => self.users.failed += 1,
            Outcome::Abandoned => self.gave_up(at, attempt.gives_up_at, requests),
        }
    }

    /// Counts a user who gave up at this instant. The time until then is a lower bound of each
    /// response time whose milestone was not reached. Without a request there is no first byte.
    fn gave_up(&mut self, at: &Milestones, gives_up_at: Nanos, requests: bool) {
        self.users.gave_up += 1;
        let wait = gives_up_at - at.intended;
        self.second.response.saturating_record(wait);
        self.second.times.response.note(wait);
        let since = |instant: Nanos| if instant == 0 { wait } else { instant - at.intended };
        let histograms = self.parts[self.step].of(false);
        histograms.note(Time::Response, wait);
        histograms.note(Time::ResponseEstablished, since(at.secured));
        if requests {
            histograms.note(Time::ResponseFirstByte, since(at.first_answered));
        }
    }

    /// Counts a started connection. `delay` is its start delay in an open loop.
    pub fn started(&mut self, delay: Option<Nanos>) {
        let part = &mut self.parts[self.step];
        part.started += 1;
        self.second.started += 1;
        if let Some(delay) = delay {
            part.of(false).note(Time::StartDelay, delay);
        }
    }

    /// Records an answered request of a connection made by the minimal client or the library.
    pub fn request(&mut self, at: &Milestones, now: Nanos, minimal: bool, answer: Answer) {
        self.bytes.head += answer.head_bytes;
        self.bytes.body += answer.body_bytes;
        self.statuses.count(answer.status);
        self.pages.answered(answer.page, now - at.requested);
        self.second.requests += 1;
        self.second.exchange.saturating_record(now - at.requested);
        self.second.times.exchange.note(now - at.requested);
        let part = &mut self.parts[self.step];
        part.requests += 1;
        let histograms = part.of(minimal);
        histograms.note(Time::FirstByte, at.answered - at.requested);
        histograms.note(Time::Exchange, now - at.requested);
    }

    /// Records a completed connection.
    /// Without `facts` it had no TLS, and therefore no handshake.
    pub fn completed(
        &mut self,
        at: &Milestones,
        now: Nanos,
        facts: Option<Negotiated>,
        bytes: &Bytes,
    ) {
        let minimal = facts.is_some_and(|facts| facts.minimal_client);
        self.completed += 1;
        self.minimal_client += u64::from(minimal);
        self.count_facts(facts);
        if let Some(facts) = facts {
            self.authenticated += u64::from(facts.authenticated);
            self.count_kind(&facts);
            self.handshake(at, &facts);
        }
        self.bytes.handshake_sent += bytes.handshake_sent;
        self.bytes.handshake_received += bytes.handshake_received;
        self.bytes.sent += bytes.sent;
        self.bytes.received += bytes.received;
        self.second.completed += 1;
        self.second.service.saturating_record(now - at.started);
        self.second.times.service.note(now - at.started);
        let part = &mut self.parts[self.step];
        part.completed += 1;
        let histograms = part.of(minimal);
        histograms.note(Time::Connect, at.established - at.started);
        histograms.note(Time::Established, at.secured - at.started);
        histograms.note(Time::Service, now - at.started);
        if at.intended > 0 {
            self.responded(at, now, minimal);
        }
    }

    /// Records the times of a completed connection's handshake.
    fn handshake(&mut self, at: &Milestones, facts: &Negotiated) {
        let time = at.secured - at.established;
        self.second.times.handshake.note(time);
        let histograms = self.parts[self.step].of(facts.minimal_client);
        histograms.note(Time::Handshake, time);
        let of_kind = match facts.kind {
            HandshakeKind::Full => Time::HandshakeFull,
            HandshakeKind::Resumed => Time::HandshakeResumed,
        };
        histograms.note(of_kind, time);
    }

    /// Records the response times of a completed connection, from its intended start.
    fn responded(&mut self, at: &Milestones, now: Nanos, minimal: bool) {
        self.second.response.saturating_record(now - at.intended);
        self.second.times.response.note(now - at.intended);
        let histograms = self.parts[self.step].of(minimal);
        histograms.note(Time::ResponseEstablished, at.secured - at.intended);
        histograms.note(Time::Response, now - at.intended);
        if at.first_answered > 0 {
            histograms.note(Time::ResponseFirstByte, at.first_answered - at.intended);
        }
    }

    /// Records a connection that did not complete.
    pub fn troubled(&mut self, outcome: Outcome, facts: Option<Negotiated>) {
        self.troubled += 1;
        self.second.trouble(outcome);
        if facts.is_some() {
            self.count_facts(facts);
        }
        self.parts[self.step].troubles.add(outcome, 1);
    }

    /// Records the counts of priming.
    pub fn primed(&mut self, primed: Primed) {
        self.kinds.primed_connections += primed.connections;
        self.kinds.primed_sessions += primed.sessions;
    }

    /// Counts full handshakes during the measurement that collect sessions to resume.
    pub fn refilled(&mut self, connections: u64) {
        self.kinds.refill_connections += connections;
    }

    fn count_kind(&mut self, facts: &Negotiated) {
        match facts.kind {
            HandshakeKind::Full => self.kinds.full += 1,
            HandshakeKind::Resumed => self.kinds.resumed += 1,
        }
        match facts.early_data {
            EarlyData::None => {}
            EarlyData::Accepted => self.kinds.early_data_accepted += 1,
            EarlyData::Rejected => self.kinds.early_data_rejected += 1,
        }
    }

    fn count_facts(&mut self, facts: Option<Negotiated>) {
        let alike = |facts| Negotiated { authenticated: false, minimal_client: false, ..facts };
        let facts = facts.map(alike);
        match self.facts.iter().position(|(known, _)| *known == facts) {
            Some(index) => self.facts[index].1 += 1,
            None if self.facts.len() < FACTS_LIMIT => self.facts.push((facts, 1)),
            None => self.facts[FACTS_LIMIT - 1].1 += 1,
        }
    }

    /// Connections in flight when the measurement began, and connections started since.
    pub fn attempts(&self) -> u64 {
        self.carried + self.parts.iter().map(|part| part.started).sum::<u64>()
    }

    /// Connections that have ended so far: completed, and others.
    pub fn ended(&self) -> (u64, u64) {
        (self.completed, self.troubled)
    }

    /// Closes the slice that began at `from` and used this processor time. `start` is the start of
    /// the measurement.
    pub fn close_slice(&mut self, from: Nanos, start: Nanos, now: Nanos, cpu: CpuTime) {
        let (completed, failed) =
            (self.completed - self.in_slices.0, self.troubled - self.in_slices.1);
        self.in_slices = self.ended();
        let seconds = |from: Nanos, to: Nanos| (to - from) as f64 / SECOND as f64;
        let (at_s, seconds) = (seconds(start, from), seconds(from, now));
        self.slices.push(Interval { at_s, seconds, completed, failed, cpu });
    }

    /// Closes the step that began at `from` and used this processor time, and starts step `next`.
    /// `start` is the start of the measurement.
    pub fn close_step(&mut self, next: usize, start: Nanos, from: Nanos, now: Nanos, cpu: CpuTime) {
        self.parts[self.step].close(start, from, now, cpu);
        self.step = next;
    }

    /// The index of the current step.
    pub fn step(&self) -> usize {
        self.step
    }

    /// Adds another worker's recorder.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.parts.iter_mut().zip(&other.parts) {
            mine.merge(theirs);
        }
        for &(facts, count) in &other.facts {
            match self.facts.iter_mut().find(|(known, _)| *known == facts) {
                Some((_, mine)) => *mine += count,
                None => self.facts.push((facts, count)),
            }
        }
        self.names.merge(&other.names);
        self.reasons.merge(&other.reasons);
        self.statuses.merge(&other.statuses);
        self.pages.merge(&other.pages);
        self.carried += other.carried;
        self.in_flight_at_stop += other.in_flight_at_stop;
        self.waits_at_stop.extend_from_slice(&other.waits_at_stop);
        self.arrivals.due += other.arrivals.due;
        self.arrivals.blocked += other.arrivals.blocked;
        self.arrivals.waiting_at_stop += other.arrivals.waiting_at_stop;
        self.arrivals.window = self.arrivals.window.max(other.arrivals.window);
        self.users += other.users;
        self.flight.merge(&other.flight);
        self.slow_connects += other.slow_connects;
        self.completed += other.completed;
        self.closed_idle += other.closed_idle;
        self.troubled += other.troubled;
        self.authenticated += other.authenticated;
        self.minimal_client += other.minimal_client;
        self.confirmed_by += other.confirmed_by;
        self.round_trips.merge(&other.round_trips);
        self.kinds += other.kinds;
        self.bytes += &other.bytes;
        add_slices(&mut self.slices, &other.slices);
    }

    /// Converts the recorder into fields of a record.
    pub fn conclude(self, spec: &RunSpec) -> Conclusion {
        let notes = Notes {
            parts: self.parts,
            facts: self.facts,
            names: self.names,
            reasons: self.reasons,
            statuses: self.statuses,
            pages: self.pages,
            carried: self.carried,
            in_flight_at_stop: self.in_flight_at_stop,
            waits_at_stop: self.waits_at_stop,
            arrivals: self.arrivals,
            users: self.users,
            flight: self.flight,
            slow_connects: self.slow_connects,
            completed: self.completed,
            closed_idle: self.closed_idle,
            authenticated: self.authenticated,
            minimal_client: self.minimal_client,
            confirmed_by: self.confirmed_by,
            round_trips: self.round_trips,
            bytes: self.bytes,
            kinds: self.kinds,
            slices: self.slices,
        };
        Conclusion::of(notes, spec)
    }
}

#[cfg(test)]
mod tests;

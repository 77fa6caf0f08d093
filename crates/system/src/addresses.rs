//! The addresses of a name, in the order in which they are tried, and the first that accepts a TCP
//! connection (RFC 8305).

use std::fmt::Write as _;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tlslab_wire::outcome::{Failure, Step};

use crate::clock::{Clock, MILLISECOND, MonotonicClock, Nanos};
use crate::poller::Poller;
use crate::socket::{self, Socket};

/// The time that an address has to itself before the next one is tried as well (RFC 8305, section
/// 8: Connection Attempt Delay).
const ATTEMPT_DELAY: Nanos = 250 * MILLISECOND;

/// Addresses that did not accept a connection, each with its failure, in the order of the failures.
pub type Refusals = Vec<(SocketAddr, Failure)>;

/// The order of attempts: that of the resolver, without repetitions, with the families in turn (RFC
/// 8305, section 4).
pub fn in_turn(found: impl IntoIterator<Item = SocketAddr>) -> Vec<SocketAddr> {
    let mut all: Vec<SocketAddr> = Vec::new();
    for address in found {
        if !all.contains(&address) {
            all.push(address);
        }
    }
    let first = all.first().is_some_and(SocketAddr::is_ipv6);
    let (mine, others): (Vec<_>, Vec<_>) = all.iter().partition(|a| a.is_ipv6() == first);
    let count = mine.len().max(others.len());
    let turns = (0..count).flat_map(|at| [mine.get(at), others.get(at)]);
    turns.flatten().copied().collect()
}

/// The first address that accepts a TCP connection, which is then reset. The next address is tried
/// as soon as the one before has failed or has been silent for [`ATTEMPT_DELAY`]; earlier ones may
/// still answer (RFC 8305, section 5).
///
/// # Errors
/// No address accepted a connection within the time.
pub fn first_to_accept(
    addresses: &[SocketAddr],
    patience: Duration,
) -> Result<SocketAddr, Refusals> {
    let end = MonotonicClock.now() + u64::try_from(patience.as_nanos()).unwrap_or(Nanos::MAX / 2);
    let mut race = Race { trying: Vec::new(), failed: Vec::new() };
    let mut poller = match Poller::new() {
        Ok(poller) => poller,
        Err(error) => return Err(race.all_failed(addresses, &error)),
    };
    let (mut rest, mut due) = (addresses.iter().copied(), 0);
    loop {
        let now = MonotonicClock.now();
        if let Some(address) = race.accepted() {
            return Ok(address);
        }
        if now >= end {
            return Err(race.timed_out(rest));
        }
        if race.trying.is_empty() || now >= due {
            match rest.next() {
                Some(address) => {
                    race.begin(address, &poller);
                    due = now + ATTEMPT_DELAY;
                    continue;
                }
                None if race.trying.is_empty() => return Err(race.failed),
                None => due = end,
            }
        }
        if let Err(error) = poller.wait(due.min(end), &mut Vec::new()) {
            return Err(race.all_failed(addresses, &error));
        }
    }
}

/// The attempts under way, and those that failed.
struct Race {
    trying: Vec<(SocketAddr, Socket)>,
    failed: Refusals,
}

impl Race {
    fn begin(&mut self, address: SocketAddr, poller: &Poller) {
        let begun = Socket::connect(address).and_then(|socket| {
            poller.add(&socket, 0, true).map_err(|e| socket::failure(&e, Step::Connect))?;
            Ok(socket)
        });
        match begun {
            Ok(socket) => self.trying.push((address, socket)),
            Err(failure) => self.failed.push((address, failure)),
        }
    }

    /// The address of an established connection. Attempts that have failed are put aside.
    fn accepted(&mut self) -> Option<SocketAddr> {
        let failed = &mut self.failed;
        self.trying.retain(|(address, socket)| {
            let failure = if socket.is_established() { None } else { socket.connect_error() };
            failed.extend(failure.map(|failure| (*address, failure)));
            failure.is_none()
        });
        self.trying.iter().find(|(_, socket)| socket.is_established()).map(|(address, _)| *address)
    }

    fn timed_out(self, rest: impl Iterator<Item = SocketAddr>) -> Refusals {
        let silent = self.trying.into_iter().map(|(address, _)| address).chain(rest);
        let late = silent.map(|address| (address, Failure::TimedOut(Step::Connect)));
        self.failed.into_iter().chain(late).collect()
    }

    fn all_failed(self, addresses: &[SocketAddr], error: &io::Error) -> Refusals {
        addresses.iter().map(|address| (*address, socket::failure(error, Step::Connect))).collect()
    }
}

/// The failure that a person can act on: a family without a route says least.
pub fn decisive(refusals: &Refusals) -> Option<Failure> {
    let is_decisive = |failure: &Failure| *failure != Failure::Unreachable && !is_local(*failure);
    let mut failures = refusals.iter().map(|(_, failure)| *failure);
    failures.clone().find(is_decisive).or_else(|| failures.next())
}

/// True if this machine lacks the address family.
fn is_local(failure: Failure) -> bool {
    matches!(failure, Failure::PortsExhausted | Failure::System(_))
}

/// Each address with its failure: `::1 refused, 127.0.0.1 refused`.
pub fn in_words(refusals: &Refusals) -> String {
    let mut words = String::new();
    for (number, (address, failure)) in refusals.iter().enumerate() {
        let separator = if number == 0 { "" } else { ", " };
        // Writing to a string cannot fail.
        let _ = write!(words, "{separator}{} {failure}", address.ip());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn at(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn families_take_turns_and_nothing_is_tried_twice() {
        let found = ["[::1]:1", "[::2]:1", "[::1]:1", "127.0.0.1:1", "127.0.0.2:1", "127.0.0.3:1"];
        let expected = ["[::1]:1", "127.0.0.1:1", "[::2]:1", "127.0.0.2:1", "127.0.0.3:1"];
        assert_eq!(in_turn(found.map(at)), expected.map(at));
        assert_eq!(in_turn([at("127.0.0.1:1"), at("[::1]:1")])[0], at("127.0.0.1:1"));
        assert_eq!(in_turn([]), []);
    }

    #[test]
    fn the_first_address_that_accepts_is_taken() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let works = listener.local_addr().unwrap();
        let other = |host: &str| at(&format!("{host}:{}", works.port()));
        let patience = Duration::from_secs(10);
        for before in ["[::1]", "127.0.0.9"] {
            let tried = [other(before), works, other("127.0.0.8")];
            assert_eq!(first_to_accept(&tried, patience), Ok(works), "{before}");
        }
        let refused = [other("127.0.0.8"), other("127.0.0.9")];
        let refusals = first_to_accept(&refused, patience).unwrap_err();
        assert_eq!(in_words(&refusals), "127.0.0.8 refused, 127.0.0.9 refused");
        assert_eq!(decisive(&refusals), Some(Failure::Refused));
    }

    #[test]
    fn an_address_that_is_silent_holds_up_the_next_for_a_moment_only() {
        // Nothing accepts: the queue of one connection is full, and further SYNs are dropped.
        let full = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None);
        let full = full.unwrap();
        full.bind(&at("127.0.0.1:0").into()).unwrap();
        full.listen(0).unwrap();
        let silent = full.local_addr().unwrap().as_socket().unwrap();
        let _queued: Vec<_> = (0..4).map(|_| Socket::connect(silent)).collect();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let works = listener.local_addr().unwrap();
        assert_eq!(first_to_accept(&[silent, works], Duration::from_secs(10)), Ok(works));
        let refusals = first_to_accept(&[silent, silent], Duration::from_millis(300)).unwrap_err();
        assert_eq!(decisive(&refusals), Some(Failure::TimedOut(Step::Connect)));
    }

    #[test]
    fn a_family_without_a_route_is_not_the_reason() {
        let refusals = vec![
            (at("[::1]:1"), Failure::System(libc::EAFNOSUPPORT)),
            (at("[::2]:1"), Failure::Unreachable),
            (at("127.0.0.1:1"), Failure::Refused),
        ];
        assert_eq!(decisive(&refusals), Some(Failure::Refused));
        assert_eq!(decisive(&refusals[1..2].to_vec()), Some(Failure::Unreachable));
        assert_eq!(decisive(&Vec::new()), None);
    }
}

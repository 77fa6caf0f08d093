//! What the connections of a run have in common.

use std::net::{IpAddr, SocketAddr};

use tlslab_contract::spec::{Close, Finished};
use tlslab_system::clock::Nanos;
use tlslab_tls::expectation::Expectation;
use tlslab_wire::http::StatusSet;
use tlslab_wire::http::body::BodyRule;
use tlslab_wire::http::h1::ResponseReader;
use tlslab_wire::http::message::Messages;
use tlslab_wire::outcome::Step;

/// What every connection of a run does.
#[derive(Debug, Clone)]
pub struct Script {
    /// Where to connect.
    pub address: SocketAddr,
    /// This machine's addresses to connect from, in turn; empty: the system chooses.
    pub sources: Vec<IpAddr>,
    /// What is asked for, in order.
    pub messages: Messages,
    /// Whether the answers have no body: the method is HEAD.
    pub head_only: bool,
    /// The statuses that count as answers.
    pub statuses: StatusSet,
    /// Requests on a connection; `None`: as many as fit into the run.
    pub requests: Option<u32>,
    /// Between a response and the next request.
    pub think: Nanos,
    /// Whether to close as soon as the handshake is done.
    pub handshake_only: bool,
    /// How a connection that completed is closed.
    pub close: Close,
    /// When the client's Finished leaves.
    pub finished: Finished,
    /// Whether the first request of a connection that resumes goes as early data.
    pub early_data: bool,
    /// The time that each step may take, in the order of [`Step`].
    pub deadlines: [Nanos; 4],
    /// What the handshake must have negotiated.
    pub expectation: Expectation,
    /// How the body of each response is checked.
    pub body: BodyRule,
    /// With HTTP/2: how many requests may be under way at once.
    pub http2: Option<u32>,
}

impl Script {
    /// The address that the connection of this number, counted from 0, comes from.
    pub(super) fn source(&self, number: u64) -> Option<IpAddr> {
        let count = self.sources.len().max(1) as u64;
        self.sources.get((number % count) as usize).copied()
    }

    /// Where in the order of requests the connection of this number begins. With N requests on
    /// each the places of a worker's connections follow each other; with as many as fit, they lie
    /// apart by a prime.
    pub(super) fn place(&self, number: u64) -> u32 {
        const APART: u64 = 7_919;
        let each = self.requests.map_or(APART, u64::from);
        number.wrapping_mul(each) as u32
    }

    /// The reader of a response.
    pub(super) fn reader(&self) -> ResponseReader {
        ResponseReader::new(self.body).to_head(self.head_only)
    }

    pub(super) fn deadline(&self, step: Step) -> Nanos {
        self.deadlines[step as usize]
    }
}

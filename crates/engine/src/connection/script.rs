//! What the connections of a run have in common.

use std::net::{IpAddr, SocketAddr};

use crate::clock::Nanos;
use crate::http::body::BodyRule;
use crate::http::h2;
use crate::outcome::Step;
use crate::spec::{Close, Finished};
use crate::tls::expectation::Expectation;

/// What every connection of a run does.
#[derive(Debug, Clone)]
pub struct Script {
    /// Where to connect.
    pub address: SocketAddr,
    /// This machine's addresses to connect from, in turn; empty: the system chooses.
    pub sources: Vec<IpAddr>,
    /// A request that more will follow.
    pub request: Vec<u8>,
    /// The last request of a connection.
    pub last_request: Vec<u8>,
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
    /// With HTTP/2: the request, and how many may be under way at once.
    pub http2: Option<(h2::Request, u32)>,
}

impl Script {
    /// The address that the connection of this number, counted from 0, comes from.
    pub(super) fn source(&self, number: u64) -> Option<IpAddr> {
        let count = self.sources.len().max(1) as u64;
        self.sources.get((number % count) as usize).copied()
    }

    pub(super) fn deadline(&self, step: Step) -> Nanos {
        self.deadlines[step as usize]
    }
}

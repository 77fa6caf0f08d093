//! The common properties of a run's connections.

use std::net::{IpAddr, SocketAddr};

use tlslab_contract::spec::{Close, Finished};
use tlslab_system::clock::Nanos;
use tlslab_tls::expectation::Expectation;
use tlslab_wire::http::StatusSet;
use tlslab_wire::http::body::BodyRule;
use tlslab_wire::http::h1::ResponseReader;
use tlslab_wire::http::message::Messages;
use tlslab_wire::outcome::Step;

/// The steps and checks of every connection of a run.
#[derive(Debug, Clone)]
pub struct Script {
    /// The server's address.
    pub address: SocketAddr,
    /// Source addresses, used in turn; empty: the system chooses.
    pub sources: Vec<IpAddr>,
    /// The requests, in order.
    pub messages: Messages,
    /// Whether responses have no body because the method is HEAD.
    pub head_only: bool,
    /// Whether requests are idempotent (RFC 9110, section 9.2.2).
    pub idempotent: bool,
    /// The statuses of a successful response.
    pub statuses: StatusSet,
    /// Requests on a connection; `None`: as many as fit into the run.
    pub requests: Option<u32>,
    /// Think time between a response and the next request.
    pub think: Nanos,
    /// Whether to close right after the handshake.
    pub handshake_only: bool,
    /// How a completed connection is closed.
    pub close: Close,
    /// When the client's Finished is sent.
    pub finished: Finished,
    /// Whether the first request of a resumed connection is sent as early data.
    pub early_data: bool,
    /// The time limit of each step, in the order of [`Step`].
    pub deadlines: [Nanos; 4],
    /// The required properties of the handshake.
    pub expectation: Expectation,
    /// The check of each response body.
    pub body: BodyRule,
    /// With HTTP/2: the highest number of concurrent requests.
    pub http2: Option<u32>,
}

impl Script {
    /// The source address of the connection with this number, counted from 0.
    pub(super) fn source(&self, number: u64) -> Option<IpAddr> {
        let count = self.sources.len().max(1) as u64;
        self.sources.get((number % count) as usize).copied()
    }

    /// The position in the order of requests at which the connection with this number starts. With
    /// N requests per connection, the positions of a worker's connections are consecutive blocks.
    /// With unlimited requests, they are a prime apart.
    pub(super) fn place(&self, number: u64) -> u32 {
        const APART: u64 = 7_919;
        let each = self.requests.map_or(APART, u64::from);
        number.wrapping_mul(each) as u32
    }

    /// A reader for one response.
    pub(super) fn reader(&self) -> ResponseReader {
        ResponseReader::new(self.body).to_head(self.head_only)
    }

    pub(super) fn deadline(&self, step: Step) -> Nanos {
        self.deadlines[step as usize]
    }
}

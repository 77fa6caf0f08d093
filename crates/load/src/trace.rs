//! The instants of single connections, for comparison with a packet capture or a server's log.

use tlslab_system::clock::Nanos;
use tlslab_wire::outcome::Outcome;

/// One connection of a measurement; instants of CLOCK_MONOTONIC, 0 where it was not reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TracedConnection {
    /// Its local TCP port; 0 when it had none.
    pub local_port: u16,
    /// When it should have started, in an open loop.
    pub intended: Nanos,
    /// The TCP connection was begun.
    pub started: Nanos,
    /// It was established.
    pub established: Nanos,
    /// The TLS handshake was complete at the client.
    pub secured: Nanos,
    /// The first byte of the first response arrived.
    pub answered: Nanos,
    /// The connection ended: with the last byte of the last response, unless it failed.
    pub ended: Nanos,
    /// How it ended; `None`: it was under way when the measurement ended.
    pub outcome: Option<Outcome>,
}

impl TracedConnection {
    /// A connection that failed before it could wait for its server.
    pub fn not_begun(now: Nanos, outcome: Outcome) -> Self {
        Self {
            local_port: 0,
            intended: 0,
            started: now,
            established: 0,
            secured: 0,
            answered: 0,
            ended: now,
            outcome: Some(outcome),
        }
    }
}

/// One worker's connections, up to a limit: room for them is made before the run.
#[derive(Debug, Default)]
pub struct Trace {
    /// Those that are kept.
    pub connections: Vec<TracedConnection>,
    /// The number of connections that there was no room for.
    pub left_out: u64,
}

impl Trace {
    /// A trace with room for N connections.
    pub fn new(limit: usize) -> Self {
        Self { connections: Vec::with_capacity(limit), left_out: 0 }
    }

    /// Whether anything is kept at all.
    pub fn is_wanted(&self) -> bool {
        self.connections.capacity() > 0
    }

    /// Keeps a connection if there is room.
    pub fn keep(&mut self, connection: TracedConnection) {
        if self.connections.len() < self.connections.capacity() {
            self.connections.push(connection);
        } else {
            self.left_out += 1;
        }
    }

    /// The traces of all workers as one, in the order in which their connections started.
    pub fn joined(traces: impl IntoIterator<Item = Self>) -> Self {
        let mut all = Self::default();
        for trace in traces {
            all.connections.extend(trace.connections);
            all.left_out += trace.left_out;
        }
        all.connections.sort_by_key(|connection| connection.started);
        all
    }
}

//! Event times of single connections, for comparison with a packet capture or a server's log.

use tlslab_system::clock::Nanos;
use tlslab_wire::outcome::Outcome;

/// One connection of a measurement. Times are CLOCK_MONOTONIC; 0 marks an event that did not occur.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TracedConnection {
    /// The local TCP port; 0 without a socket.
    pub local_port: u16,
    /// Intended start, in an open loop.
    pub intended: Nanos,
    /// Start of the TCP connection.
    pub started: Nanos,
    /// The TCP connection was established.
    pub established: Nanos,
    /// The client completed the TLS handshake.
    pub secured: Nanos,
    /// First byte of the first response.
    pub answered: Nanos,
    /// End of the connection: the last byte of the last response, or the failure.
    pub ended: Nanos,
    /// The outcome; `None`: in flight when the measurement ended.
    pub outcome: Option<Outcome>,
}

impl TracedConnection {
    /// A connection that failed before its socket could wait for the server.
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

/// The traced connections of one worker, up to a limit. Memory is allocated before the run.
#[derive(Debug, Default)]
pub struct Trace {
    /// The kept connections.
    pub connections: Vec<TracedConnection>,
    /// Connections beyond the limit.
    pub left_out: u64,
}

impl Trace {
    /// A trace with room for N connections.
    pub fn new(limit: usize) -> Self {
        Self { connections: Vec::with_capacity(limit), left_out: 0 }
    }

    /// True if any connections are to be kept.
    pub fn is_wanted(&self) -> bool {
        self.connections.capacity() > 0
    }

    /// Keeps a connection, or counts it if the trace is full.
    pub fn keep(&mut self, connection: TracedConnection) {
        if self.connections.len() < self.connections.capacity() {
            self.connections.push(connection);
        } else {
            self.left_out += 1;
        }
    }

    /// The traces of all workers merged, in order of start.
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

//! The measuring engine of tlslab.
//!
//! Everything measured happens here: the load generator ([`run`]) and the reference server
//! ([`serve`]). The engine prints nothing, reads no file and knows nothing of experiments; what goes
//! in is a [`spec::RunSpec`], what comes out is a [`record::RunRecord`].

mod backlog;
pub mod check;
pub mod clock;
mod collector;
mod connection;
mod environment;
pub mod error;
mod files;
pub mod guard;
pub mod hold;
pub mod identity;
pub mod in_memory;
pub mod memory;
mod mix;
mod notes;
mod pacing;
mod phase;
mod poller;
mod preflight;
mod prime;
pub mod primitives;
pub mod probe;
mod processor;
mod recorder;
pub mod run;
pub mod self_signed;
pub mod serve;
pub mod socket;
pub mod tls;
pub mod trace;
mod usage;
mod verdict;
pub mod watch;
mod worker;

pub use tlslab_contract::{accounting, record, spec};
pub use tlslab_wire::{http, names, outcome, reason, sanitize, target};

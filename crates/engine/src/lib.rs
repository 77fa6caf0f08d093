//! The measuring engine of tlslab.
//!
//! Everything measured happens here: the load generator ([`run`]) and the reference server
//! ([`serve`]). The engine prints nothing, reads no file and knows nothing of experiments; what goes
//! in is a [`spec::RunSpec`], what comes out is a [`record::RunRecord`].

pub mod clock;
pub mod names;
pub mod outcome;
pub mod record;
pub mod serve;
pub mod socket;
pub mod spec;
pub mod tls;

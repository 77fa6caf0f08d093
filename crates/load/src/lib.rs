//! The load generator.
//!
//! A [`spec::RunSpec`](tlslab_contract::spec::RunSpec) goes in, a
//! [`record::RunRecord`](tlslab_contract::record::RunRecord) comes out ([`run`]). Nothing here prints,
//! reads a file or knows of experiments.

pub mod check;
mod collector;
mod connection;
pub mod error;
mod event_loop;
pub mod hold;
pub mod merge;
mod mix;
mod notes;
mod pacing;
mod phase;
mod preflight;
mod prime;
mod recorder;
pub mod run;
pub mod start;
pub mod trace;
mod verdict;
pub mod watch;
mod worker;

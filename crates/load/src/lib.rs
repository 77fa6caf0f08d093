//! The load generator.
//!
//! [`run::run`] takes a [`spec::RunSpec`](tlslab_contract::spec::RunSpec) and returns a
//! [`record::RunRecord`](tlslab_contract::record::RunRecord). This crate prints nothing, reads no
//! file, and does not know of experiments.

pub mod check;
mod collector;
mod connection;
pub mod error;
mod event_loop;
pub mod hold;
mod kept_off;
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

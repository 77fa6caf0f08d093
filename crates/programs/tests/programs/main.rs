//! The programs as users start them, in one test program: linking is the largest cost of tests.

mod barrier;
mod fail_if;
mod hold_cli;
mod host_faults;
mod identities;
mod last_line;
mod load_cli;
mod load_limits;
mod memory_cli;
mod merge;
mod outputs;
mod probe_cli;
mod requests;
mod resumption;
mod serve;
mod support;

//! What the machine has to give: time, sockets and their readiness, processors, memory, and the rule
//! which hosts may be connected to at all.

pub mod backlog;
pub mod clock;
pub mod environment;
pub mod files;
pub mod guard;
pub mod memory;
pub mod poller;
pub mod processor;
pub mod socket;
pub mod usage;

//! The resources of the machine (clocks, sockets and their poller, processors, memory), and the
//! guard, which decides which hosts may be connected to.

pub mod addresses;
pub mod backlog;
pub mod clock;
pub mod control_group;
pub mod environment;
pub mod files;
pub mod guard;
pub mod memory;
pub mod poller;
pub mod processor;
pub mod run_queue;
pub mod socket;
pub mod steal;
pub mod usage;

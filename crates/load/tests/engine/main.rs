//! The engine as its users meet it. All tests are in one program, because linking is the largest
//! cost of tests. A test that needs its own process starts one ([`alone`]).

mod alone;
mod backlog;
mod client_certificates;
mod cuts;
mod equal_clients;
mod faults;
mod h2_faults;
mod harness;
mod hold;
mod http2;
mod http2_kinds;
mod in_memory;
mod keylog;
mod learned;
mod load;
mod names;
mod obsolete;
mod open_loop;
mod openssl_client;
mod openssl_failures;
mod patience;
mod plain;
mod primitives;
mod probe;
mod reasons;
mod requests;
mod resumption;
mod round_trips;
mod segments;
mod serve;
mod stapling;
mod support;
mod trusted_leaf;

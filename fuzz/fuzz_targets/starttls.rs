//! Any bytes as a server's part of the dialogue before TLS. The first selects the service; the
//! second says in what pieces the others arrive, or that they arrive without end.
#![no_main]

use tlslab_wire::starttls::Service;
use tlslab_wire::starttls::invariants::{hold_dialogue, hold_end};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some(([service, piece], answers)) = bytes.split_first_chunk() else { return };
    let service = Service::ALL[usize::from(*service) % Service::ALL.len()];
    hold_dialogue(service, answers, usize::from(*piece));
    if *piece == 0 {
        hold_end(service, answers);
    }
});

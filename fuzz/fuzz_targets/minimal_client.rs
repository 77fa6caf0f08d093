//! Scripted servers under the right keys, to the minimal client and to rustls' own: the bytes say
//! what is in the flight, and how it is edited.
#![no_main]

use std::cell::LazyCell;
use std::sync::Arc;

use libfuzzer_sys::arbitrary::{Result, Unstructured};
use rustls::ClientConfig;
use rustls::client::Resumption;
use rustls::crypto::ring;
use tlslab_fuzz::rustls::minimal::invariants::script::{
    BETWEEN, CONTENTS, Edit, MESSAGES, NUMBERS, Script,
};
use tlslab_fuzz::rustls::minimal::invariants::{Clients, hold};
use tlslab_fuzz::rustls::verifier::Verifier;

thread_local! {
    static CLIENTS: LazyCell<Clients> = LazyCell::new(clients);
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(script) = script(&mut Unstructured::new(bytes)) else { return };
    CLIENTS.with(|clients| drop(hold(clients, &script)));
});

fn clients() -> Clients {
    let mut provider = ring::default_provider();
    provider.kx_groups = vec![ring::kx_group::X25519];
    let mut config = ClientConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .expect("the provider has TLS 1.3")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Verifier))
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    config.resumption = Resumption::disabled();
    Clients::new(Arc::new(config), ring::kx_group::X25519)
}

/// A flight with up to six edits.
fn script(input: &mut Unstructured<'_>) -> Result<Script> {
    let shape: u8 = input.arbitrary()?;
    let updates = (0..shape >> 3 & 3).map(|_| input.int_in_range(0..=2)).collect::<Result<_>>()?;
    let mut edits = Vec::new();
    while edits.len() < 6 && !input.is_empty() {
        edits.push((input.int_in_range(0..=15)?, edit(input)?));
    }
    let (asks, resumes) = (shape & 1 == 1, shape >> 5 & 1 == 1);
    Ok(Script { resumes, asks, tickets: usize::from(shape >> 1 & 3), updates, edits })
}

fn edit(input: &mut Unstructured<'_>) -> Result<Edit> {
    let place = |input: &mut Unstructured<'_>| input.int_in_range(0..=159_u16);
    Ok(match input.int_in_range(0..=14_u8)? {
        0 => Edit::Flip(place(input)?, input.arbitrary()?),
        1 => Edit::Cut(place(input)?),
        2 => Edit::Insert(place(input)?, input.arbitrary()?),
        3 => Edit::Extension(*input.choose(&NUMBERS)?, input.choose(&CONTENTS)?.to_vec()),
        4 => Edit::Extension(input.arbitrary()?, content(input)?),
        5 => Edit::Remove,
        6 => Edit::Twice,
        7 => Edit::Swap,
        8 => Edit::Other(*input.choose(&MESSAGES)?),
        9 => Edit::Split(place(input)?),
        10 => Edit::Join,
        11 => Edit::Pad(input.int_in_range(1..=16_000)?),
        12 => Edit::Spoil(place(input)?, input.arbitrary()?),
        13 => Edit::Version(input.int_in_range(0..=4)?, input.arbitrary()?),
        _ if input.arbitrary()? => {
            let (kind, content) = input.choose(&BETWEEN)?;
            Edit::Record(input.arbitrary()?, *kind, content.to_vec())
        }
        _ => Edit::Record(input.arbitrary()?, input.int_in_range(0..=25)?, content(input)?),
    })
}

fn content(input: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let length = input.int_in_range(0..=16)?;
    input.bytes(length).map(<[u8]>::to_vec)
}

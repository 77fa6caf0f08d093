//! Any offer as a ClientHello, read back; and what is left of it when bytes of it are changed or
//! missing.
#![no_main]

use libfuzzer_sys::arbitrary::{Result, Unstructured};
use tlslab_wire::tls::client_hello::ClientHello;
use tlslab_wire::tls::invariants::hellos::{hold_hello, hold_readers};
use tlslab_wire::tls::registry::Protocol;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut input = Unstructured::new(bytes);
    let Ok(hello) = hello(&mut input) else { return };
    hold_hello(&hello);
    let mut bytes = hello.bytes(|| [7; 32]);
    let Ok((number, length)) = input.arbitrary::<(u16, u16)>() else { return };
    while let (false, Ok((place, mask))) = (input.is_empty(), input.arbitrary::<(u16, u8)>()) {
        let place = usize::from(place) % bytes.len();
        bytes[place] ^= mask;
    }
    hold_readers(&bytes, number);
    hold_readers(&bytes[..usize::from(length).min(bytes.len())], number);
});

/// At most as much as a probe offers.
fn hello(input: &mut Unstructured<'_>) -> Result<ClientHello> {
    let chosen: u8 = input.arbitrary()?;
    let is_chosen = |place: &usize| chosen >> place & 1 == 1;
    let mut versions: Vec<_> = (0..Protocol::NEWEST_FIRST.len())
        .filter(is_chosen)
        .map(|place| Protocol::NEWEST_FIRST[place])
        .collect();
    if versions.is_empty() {
        versions.push(Protocol::Tls12);
    }
    let shares = input.int_in_range(0..=3)?;
    let is_named = input.arbitrary()?;
    Ok(ClientHello {
        versions,
        suites: numbers(input, 1..=400)?,
        groups: numbers(input, 0..=80)?,
        schemes: numbers(input, 0..=80)?,
        shares: (0..shares)
            .map(|_| Ok((input.arbitrary()?, bytes(input, 1..=1300)?)))
            .collect::<Result<_>>()?,
        server_name: if is_named { Some(name(input)?) } else { None },
        compression: bytes(input, 0..=3)?,
    })
}

fn name(input: &mut Unstructured<'_>) -> Result<String> {
    bytes(input, 0..=252).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

fn numbers(input: &mut Unstructured<'_>, count: std::ops::RangeInclusive<u16>) -> Result<Vec<u16>> {
    let count = input.int_in_range(count)?;
    (0..count).map(|_| input.arbitrary()).collect()
}

fn bytes(input: &mut Unstructured<'_>, count: std::ops::RangeInclusive<u16>) -> Result<Vec<u8>> {
    let count = input.int_in_range(count)?;
    (0..count).map(|_| input.arbitrary()).collect()
}

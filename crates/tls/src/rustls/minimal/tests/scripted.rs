//! Random scripts for the server in `invariants::script`.

use proptest::prelude::*;

use crate::rustls::minimal::invariants::script::{
    BETWEEN, CONTENTS, Edit, MESSAGES, NUMBERS, Script,
};

fn edit() -> impl Strategy<Value = Edit> {
    let place = || 0..160_u16;
    let content = prop_oneof![
        4 => prop::sample::select(&CONTENTS[..]).prop_map(<[u8]>::to_vec),
        1 => prop::collection::vec(any::<u8>(), 0..6),
    ];
    prop_oneof![
        4 => (place(), any::<u8>()).prop_map(|(at, mask)| Edit::Flip(at, mask)),
        1 => place().prop_map(Edit::Cut),
        1 => (place(), any::<u8>()).prop_map(|(at, byte)| Edit::Insert(at, byte)),
        4 => (prop::sample::select(&NUMBERS[..]), content).prop_map(|(n, c)| Edit::Extension(n, c)),
        1 => Just(Edit::Remove),
        1 => Just(Edit::Twice),
        1 => Just(Edit::Swap),
        2 => prop::sample::select(&MESSAGES[..]).prop_map(Edit::Other),
        3 => place().prop_map(Edit::Split),
        3 => Just(Edit::Join),
        3 => (1..16_000_u16).prop_map(Edit::Pad),
        1 => (place(), any::<u8>()).prop_map(|(at, mask)| Edit::Spoil(at, mask)),
        1 => (any::<u8>(), any::<u8>()).prop_map(|(major, minor)| Edit::Version(major % 5, minor)),
        3 => (any::<bool>(), prop::sample::select(&BETWEEN[..]))
            .prop_map(|(sealed, (kind, content))| Edit::Record(sealed, kind, content.to_vec())),
    ]
}

/// Any script; most have one or two edits.
pub fn scripts() -> impl Strategy<Value = Script> {
    let edits = prop_oneof![
        1 => Just(0..1_usize),
        4 => Just(1..2_usize),
        3 => Just(2..4_usize),
    ];
    let edits = edits.prop_flat_map(|count| prop::collection::vec((0..16_u8, edit()), count));
    let updates = prop::collection::vec(0..3_u8, 0..3);
    let shape = (prop::bool::weighted(0.3), any::<bool>(), 0..3_usize);
    (shape, updates, edits).prop_map(|((resumes, asks, tickets), updates, edits)| Script {
        resumes,
        // A server that resumes requests no certificate: a fault in one case of eight.
        asks: asks && (!resumes || updates.len() == 2),
        tickets,
        updates,
        edits,
    })
}

//! Generators that started apart, and the time in which all of them were measuring.

use tlslab_contract::record::{StartTime, VerdictCode};

use super::{merge, named, record};

#[test]
fn starts_are_apart_by_so_much_from_the_first() {
    let mut parts = named(vec![record(&[]), record(&[])]);
    parts[0].record.started = Some(StartTime { unix_s: 1000.25, monotonic_s: 7.0 });
    let skews: Vec<_> =
        merge(&parts).unwrap().hosts.iter().map(|host| host.start_skew_s.unwrap()).collect();
    assert!((skews[0] - 0.249_999).abs() < 1e-9 && skews[1] == 0.0, "{skews:?}");
}

#[test]
fn starts_that_are_apart_by_more_than_a_millisecond_are_noted() {
    let of = |late_s: f64| {
        let mut parts = named(vec![record(&[]), record(&[])]);
        parts[1].record.started = Some(StartTime { unix_s: 1000.0 + late_s, monotonic_s: 7.0 });
        merge(&parts).unwrap()
    };
    let apart = of(0.0123);
    assert_eq!(apart.verdicts[0].code, VerdictCode::Valid);
    let words = "host-1 began 12.3 ms after the first generator: the rate in the 0.99 s in which \
                 all measured is in `common`";
    assert_eq!(apart.notes.last().unwrap(), words);
    assert!(!of(0.0005).notes.iter().any(|note| note.contains("began")));
    let separate = of(0.25);
    assert_eq!(separate.verdicts[0].code, VerdictCode::NotSimultaneous);
    assert!(!separate.notes.iter().any(|note| note.contains("began")));
}

#[test]
fn the_common_window_leaves_out_what_only_one_was_measuring() {
    let mut parts = named(vec![record(&[]), record(&[])]);
    let begun = |unix_s| Some(StartTime { unix_s, monotonic_s: 7.0 });
    parts[1].record.started = begun(1000.25);
    let merged = merge(&parts).unwrap();
    let common = merged.common.unwrap();
    assert_eq!((common.from_unix_s, common.seconds, common.start_skew_s), (1000.25, 0.75, 0.25));
    // The second slice of the first generator, and the first slice of the second generator.
    assert_eq!((common.completed, common.connections_per_s), (5, Some(10.0)));
    assert_eq!(merged.intervals[0].completed, 4);
    assert_eq!(merged.verdicts[0].code, VerdictCode::NotSimultaneous);
    assert!(merged.verdicts[0].message.contains("for 0.75 s of 1.00 s"));
    // No slice of either generator lies wholly inside the window.
    parts[1].record.started = begun(1000.75);
    assert_eq!(merge(&parts).unwrap().common.unwrap().connections_per_s, None);
    parts[1].record.started = begun(5000.0);
    assert_eq!(merge(&parts).unwrap().common.unwrap().seconds, 0.0);
    parts[1].record.started = None;
    let merged = merge(&parts).unwrap();
    assert_eq!((merged.common, merged.verdicts[0].code), (None, VerdictCode::NotSimultaneous));
}

use super::tables::{count, figure, grouped};

#[test]
fn numbers_are_grouped_and_their_absence_is_a_dash() {
    assert_eq!(["0", "999", "1,000", "1,234,567"], [0, 999, 1000, 1_234_567].map(grouped));
    assert_eq!(figure(Some(4515.26), 1), "4,515.3");
    assert_eq!(figure(Some(0.0521), 3), "0.052");
    assert_eq!(figure(None, 3), "-");
}

#[test]
fn plurals_are_right() {
    assert_eq!(count(1_u32, "connection"), "1 connection");
    assert_eq!(count(0_u32, "connection"), "0 connections");
    assert_eq!(count(1_200_u64, "process"), "1,200 processes");
    assert_eq!(count(1_u64, "process"), "1 process");
}

//! `--fail-if`: conditions that end a valid run with code 1.

use crate::support::{Temporary, refused, run, server};

fn lines(text: &str) -> Vec<&str> {
    text.lines().collect()
}

const HOLDS: &str = "a condition of --fail-if holds, see above: exit 1";

#[test]
fn a_condition_that_holds_ends_a_valid_run_with_its_value_and_code_1() {
    let (_server, url) = server("127.0.0.1:0");
    let file = Temporary::new(b"");
    let load = ["--insecure", "-n", "4", "-o", file.path(), &url];
    let conditions = ["--fail-if", "requests<1", "--fail-if", "failed>0"];
    let passed = run(&[&load[..], &conditions].concat());
    assert_eq!((passed.code, lines(&passed.stderr).pop()), (Some(0), Some("valid: exit 0")));
    let said = run(&[&load[..], &["--fail-if", "rate>0", "--fail-if=mean<9s"]].concat());
    let [.., rate, mean, last] = *lines(&said.stderr) else { panic!("{said:?}") };
    assert_eq!((said.code, last), (Some(1), HOLDS));
    assert!(rate.starts_with("--fail-if 'rate>0': ") && rate.ends_with(" connections/s"), "{rate}");
    assert!(mean.starts_with("--fail-if 'mean<9s': mean of the service times was "), "{mean}");
    // In JSON, too: the lines are on standard error.
    let said = run(&[&load[..], &["--json", "--fail-if", "failed<1"]].concat());
    assert_eq!((said.code, said.json()["outcomes"]["completed"].as_u64()), (Some(1), Some(4)));
    let line = "--fail-if 'failed<1': 0 of 4 connections (0.00 %) did not complete";
    assert_eq!(lines(&said.stderr), [line]);
    let merged = run(&["merge", file.path(), "--fail-if", "failed<1"]);
    assert_eq!((merged.code, lines(&merged.stderr)), (Some(1), vec![line, HOLDS]));
}

#[test]
fn a_condition_on_too_few_values_holds() {
    let (_server, url) = server("127.0.0.1:0");
    let said = run(&["--insecure", "--client", "library", "-n", "20", "--fail-if", "p99>1s", &url]);
    let line = "--fail-if 'p99>1s': p99 of the service times needs 800 values and has 20 values";
    assert_eq!((said.code, lines(&said.stderr).contains(&line)), (Some(1), true), "{said:?}");
}

#[test]
fn what_is_no_condition_is_wrong_usage_before_the_load() {
    for wrong in ["p99>50", "p98>5ms", "failed"] {
        let line = refused(&["--fail-if", wrong, "https://127.0.0.1:1/"], 2, "usage");
        assert!(line.contains(&format!("'{wrong}' is no condition; write p99>50ms, ")), "{line}");
    }
}

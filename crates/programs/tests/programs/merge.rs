//! `tlslab-load merge` on records of real runs.

use crate::support::{Temporary, record, run, server, verdicts};

#[test]
fn two_runs_on_one_server_are_one_record() {
    let (_server, url) = server("127.0.0.1:0");
    let files = [Temporary::new(b""), Temporary::new(b"")];
    for (file, connections) in files.iter().zip(["2", "3"]) {
        let load = ["-n", "20", "-c", connections, "--insecure", "-o", file.path(), &*url];
        assert_eq!(run(&load).code, Some(0));
    }
    let [first, second] = [&files[0], &files[1]].map(Temporary::path);
    let whole =
        record(&run(&["merge", "--json", &format!("east={first}"), &format!("west={second}")]));
    assert_eq!(whole["outcomes"]["completed"], 40);
    assert_eq!(whole["summaries"]["handshake"]["n"], 40);
    assert_eq!(whole["spec"]["connections"], 5);
    assert_eq!(whole["spec"]["stop"]["count"], 40);
    let names: Vec<_> = whole["hosts"].as_array().unwrap().iter().map(|h| &h["name"]).collect();
    assert_eq!(names, ["east", "west"]);
    let common = &whole["common"];
    assert!(common["start_skew_s"].as_f64().unwrap() > 0.0, "one ran after the other: {common}");
    assert_eq!((&common["seconds"], &common["completed"]), (&0.0.into(), &0.into()));
    // One ran after the other: their sum is no load that the server had.
    assert_eq!(verdicts(&whole), ["not_simultaneous"]);
    let text = run(&["merge", first, second]);
    assert!(text.stdout.contains("not valid: the generators measured together for 0.00 s"));
}

#[test]
fn what_cannot_be_merged_is_said_in_a_line() {
    let (_server, url) = server("127.0.0.1:0");
    let file = Temporary::new(b"");
    assert_eq!(run(&["-n", "3", "--insecure", "-o", file.path(), &url]).code, Some(0));
    let twice = run(&["merge", file.path(), file.path()]);
    assert_eq!(twice.code, Some(2));
    assert!(twice.stderr.contains("name them: NAME=FILE"), "{}", twice.stderr);
    let broken = Temporary::new(b"{}");
    let said = run(&["merge", broken.path()]);
    assert_eq!(said.code, Some(2));
    assert!(said.stderr.contains("is no record of a run"), "{}", said.stderr);
}

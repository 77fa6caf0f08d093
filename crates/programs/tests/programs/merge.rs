//! `tlslab-load merge` on records of real runs.

use serde_json::json;

use crate::support::{Temporary, faults, record, run, server};

#[test]
fn two_runs_on_one_server_are_one_record() {
    let (_server, url) = server("127.0.0.1:0");
    let files = [Temporary::new(b""), Temporary::new(b"")];
    for (file, connections) in files.iter().zip(["2", "3"]) {
        let load = ["-n", "20", "-c", connections, "--insecure", "-o", file.path(), &*url];
        assert!(matches!(run(&load).code, Some(0 | 1)));
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
    // The runs were made one after the other: their sum is not a load that the server had.
    assert_eq!(faults(&whole), ["not_simultaneous"]);
    let text = run(&["merge", first, second]);
    assert!(text.stdout.contains("not valid: the generators measured together for 0.00 s"));
    // A merged record alone is printed, and cannot be merged again.
    let merged = Temporary::new(whole.to_string().as_bytes());
    assert_eq!(record(&run(&["merge", "--json", merged.path()])), whole);
    let lost = Temporary::new(b"{}");
    for more in [&[first][..], &["--lost", lost.path()]] {
        assert_eq!(run(&[&["merge", merged.path()], more].concat()).code, Some(2));
    }
}

#[test]
fn a_lost_host_and_what_was_found_out_come_in_files() {
    let (_server, url) = server("127.0.0.1:0");
    let file = Temporary::new(b"");
    let load = ["-n", "20", "-c", "2", "--insecure", "-o", file.path(), &url];
    assert!(matches!(run(&load).code, Some(0 | 1)));
    let spec = run(&["--print-spec", "-n", "20", "-c", "2", "--insecure", &url]).json();
    let totals = json!({ "completed": 5, "failed": { "reset": 1 }, "in_flight": 2, "arrivals": 8 });
    let lost =
        json!({ "host": "west", "reason": "it died", "at_s": 1.5, "spec": spec, "totals": totals });
    let lost = Temporary::new(lost.to_string().as_bytes());
    let clock = json!({ "offset_s": 0.25, "uncertainty_s": 1e-4, "readings": 9 });
    let found = json!({ "east": { "boot_id": "b", "clock": clock }, "west": {} });
    let found = Temporary::new(found.to_string().as_bytes());
    let east = format!("east={}", file.path());
    let said = run(&["merge", "--json", &east, "--lost", lost.path(), "--found", found.path()]);
    assert_eq!(said.code, Some(1), "{said:?}");
    let whole = record(&said);
    assert_eq!(faults(&whole), ["host_lost"]);
    assert_eq!(whole["outcomes"]["completed"], 25);
    assert_eq!(whole["outcomes"]["lost_with_host"], 2);
    assert_eq!(whole["summaries"]["handshake"]["n"], 20);
    assert_eq!(whole["hosts"][0]["found"]["clock"]["offset_s"], 0.25);
    assert_eq!(whole["hosts"][1]["lost"]["reason"], "it died");
    assert_eq!(whole["spec"]["connections"], 4);
    let text = run(&["merge", &east, "--lost", lost.path()]);
    assert!(text.stdout.contains("not valid: 1 of 2 generators: west was lost 1.5 s into"));
    let broken = Temporary::new(b"[]");
    let said = run(&["merge", &east, "--lost", broken.path()]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.stderr.contains("is not an account of a lost host"), "{said:?}");
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
    assert!(said.stderr.contains("is not a record of a run"), "{}", said.stderr);
}

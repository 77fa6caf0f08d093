//! The modes of `tlslab-load` that need no server, `in-memory` and `primitives`, by the older
//! options.

use crate::support::{refused, run, schema, verdicts};

/// A record that is valid by the schema of its format.
fn valid(arguments: &[&str], format: &str) -> serde_json::Value {
    let said = run(&[&["--json"], arguments].concat());
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
    let record = said.json();
    schema::validate(&record, &run(&["--print-schema", format]).json()).unwrap();
    record
}

#[test]
fn handshakes_in_memory_give_a_record_that_its_schema_describes() {
    let flags = ["--in-memory", "-n", "20", "-t", "2", "--handshake", "mutual"];
    let record = valid(&[&flags[..], &["--client-certificate", "ed25519"]].concat(), "in-memory");
    let found = &record["handshakes"];
    assert_eq!(found["outcomes"]["completed"], 20);
    assert_eq!(found["facts"]["client_signature_scheme"], "ed25519");
    assert_eq!((verdicts(&record), &record["bulk"]), (vec!["valid"], &serde_json::json!([])));
}

#[test]
fn bulk_in_memory_gives_a_line_for_each_suite_size_and_direction() {
    let flags =
        ["--in-memory", "--bulk", "-n", "10", "--record-size", "100", "--direction", "both"];
    let suites = ["--suite", "TLS_AES_128_GCM_SHA256", "--suite", "TLS_AES_256_GCM_SHA384"];
    let record = valid(&[&flags[..], &suites].concat(), "in-memory");
    let lines = record["bulk"].as_array().unwrap();
    assert_eq!(lines.len(), 4);
    assert!(lines.iter().all(|line| line["bytes"] == 1000));
    assert!(record["handshakes"].is_null());
}

#[test]
fn people_get_a_table() {
    let said = run(&["--in-memory", "-n", "5", "--backend", "openssl"]);
    assert_eq!(said.code, Some(0));
    for words in ["openssl in memory, 1 thread", "5 handshakes of 5", "client", "flights in bytes"]
    {
        assert!(said.stdout.contains(words), "{}", said.stdout);
    }
    let said = run(&["--in-memory", "--bulk", "-n", "5", "--record-size", "64"]);
    assert!(said.stdout.contains("TLS_AES_128_GCM_SHA256"), "{}", said.stdout);
}

#[test]
fn what_cannot_be_measured_in_memory_is_said_in_one_line() {
    let line = refused(&["--in-memory", "--tls", "1.2", "--group", "MLKEM768"], 2, "usage");
    assert!(line.contains("group MLKEM768 exists in TLS 1.3 only"), "{line}");
    let line =
        refused(&["--in-memory", "--backend", "rustls", "--group", "ffdhe2048"], 2, "unsupported");
    assert!(line.contains("rustls has no group ffdhe2048"), "{line}");
    refused(&["--in-memory", "--cpu", "1023"], 3, "pin");
    refused(&["--in-memory", "-n", "0"], 2, "usage");
    refused(&["--in-memory", "https://localhost/"], 2, "usage");
    refused(&["--in-memory", "--record-size", "10"], 2, "usage");
    refused(&["--in-memory", "--client-certificate", "ed25519"], 2, "usage");
}

#[test]
fn primitives_give_a_record_that_its_schema_describes() {
    let flags = ["--primitives", "--time", "1ms", "--group", "X25519", "--backend", "rustls"];
    let record = valid(&flags, "primitives");
    let found = record["primitives"].as_array().unwrap();
    let operations: Vec<_> = found.iter().map(|p| p["operation"].as_str().unwrap()).collect();
    assert_eq!(operations, ["generate", "server", "client", "connect", "request", "serve"]);
    let said = run(&[&flags[..], &["--no-tcp"]].concat());
    assert_eq!((said.code, said.stdout.lines().count()), (Some(0), 4), "{}", said.stdout);
}

#[test]
fn primitives_that_cannot_be_measured_are_said_in_one_line() {
    refused(&["--primitives", "--time", "0s"], 2, "usage");
    refused(&["--primitives", "--group", "P-257"], 2, "usage");
    let somewhere =
        ["--primitives", "--time", "1ms", "--group", "X25519", "--plain", "192.0.2.1:80"];
    let line = refused(&somewhere, 2, "target_refused");
    assert!(line.contains("not a loopback address"), "{line}");
    refused(&["--primitives", "--cpu", "1023"], 3, "pin");
}

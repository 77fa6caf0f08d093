//! The files of a load and of a merge: nothing that was measured is lost, and nothing that a file
//! held is lost without need.

use std::fs;
use std::process::Stdio;

use crate::support::{Running, Temporary, load, refused, run, server};

/// A record of the past, which is none: only its text counts.
const OLD: &str = "kept";

fn content(file: &Temporary) -> String {
    fs::read_to_string(file.path()).unwrap()
}

#[test]
fn a_load_that_cannot_start_leaves_its_files_as_they_were() {
    let (_server, url) = server("127.0.0.1:0");
    let [record, trace] = [OLD; 2].map(|old| Temporary::new(old.as_bytes()));
    let files = ["-o", record.path(), "--trace", trace.path()];
    let line = [&["--json", "--events", "--barrier", "-n", "2", "--insecure"], &files[..]].concat();
    let barred = Running::start(load().args(line).arg(&url).stdin(Stdio::null())).said();
    assert_ne!(barred.code, Some(0), "{barred:?}");
    assert_eq!((content(&record), content(&trace)), (OLD.to_owned(), OLD.to_owned()));
    let done = run(&[&["-n", "2", "--insecure", &url], &files[..]].concat());
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(content(&record).starts_with("{\"schema\":\"tlslab.record/"), "{}", content(&record));
    assert!(content(&trace).starts_with("connection,"));
}

#[test]
fn a_refused_merge_leaves_its_file_as_it_was() {
    let (_server, url) = server("127.0.0.1:0");
    let [one, other] = [b""; 2].map(|none| Temporary::new(none));
    assert_eq!(run(&["-n", "3", "--insecure", "-o", one.path(), &url]).code, Some(0));
    let openssl = ["-n", "1", "--backend", "openssl", "--insecure", "-o", other.path(), &url];
    assert_eq!(run(&openssl).code, Some(0));
    let before = content(&one);
    let merged = run(&["merge", one.path(), other.path(), "-o", one.path()]);
    assert_eq!((merged.code, content(&one)), (Some(2), before), "{merged:?}");
}

#[test]
fn a_full_disk_costs_no_record() {
    let (_server, url) = server("127.0.0.1:0");
    let measured = ["-n", "3", "--insecure", &url];
    let is_record = |line: &str| line.starts_with("{\"schema\":\"tlslab.record/");
    let said = run(&[&measured[..], &["-o", "/dev/full"]].concat());
    assert_eq!(said.code, Some(3), "{said:?}");
    assert!(said.stderr.contains("cannot write '/dev/full'"), "{said:?}");
    assert!(said.stdout.lines().last().is_some_and(is_record), "{said:?}");
    assert!(said.stdout.lines().count() > 5, "the summary as well: {said:?}");
    for option in ["--trace", "--keylog"] {
        let file = Temporary::new(OLD.as_bytes());
        let said = run(&[&measured[..], &[option, "/dev/full", "-o", file.path()]].concat());
        assert_eq!(said.code, Some(3), "{said:?}");
        assert!(is_record(&content(&file)), "{option}");
        assert!(!said.stdout.is_empty() && !said.stdout.lines().any(is_record), "{said:?}");
    }
    let said = run(&[&measured[..], &["--json", "--trace", "/dev/full"]].concat());
    let lines: Vec<&str> = said.stdout.lines().collect();
    assert!(is_record(lines[0]) && lines[1].contains("tlslab.error/1"), "{lines:?}");
    assert_eq!((said.code, lines.len()), (Some(3), 2));
}

#[test]
fn a_record_in_the_file_of_standard_output_precedes_the_summary() {
    let (_server, url) = server("127.0.0.1:0");
    let printed = Temporary::new(b"before\n");
    let file = fs::OpenOptions::new().append(true).open(printed.path()).unwrap();
    let line = ["-n", "3", "--insecure", "-o", "/dev/stdout", &*url];
    let status = load().args(line).stdout(file).stderr(Stdio::null()).status().unwrap();
    assert!(status.success());
    let content = content(&printed);
    let lines: Vec<&str> = content.lines().collect();
    assert_eq!(lines[0], "before");
    assert!(lines[1].starts_with('{') && lines[1].ends_with('}'), "{content}");
    assert!(lines.len() > 5 && !lines[2].contains('{'), "{content}");
}

#[test]
fn a_specification_is_not_stored_in_silence() {
    let said = run(&["--print-spec", "-o/tmp/none", "https://localhost/"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.stderr.contains("--print-spec"), "{said:?}");
}

#[test]
fn a_line_break_is_no_part_of_a_host() {
    for line in [&["--probe=a\nb"][..], &["-n", "1", "https://a\nb/"], &["-n", "1", "a\nb:443"]] {
        let said = refused(line, 2, "usage");
        assert!(said.contains("holds a blank or a line break"), "{said}");
    }
}

//! Starts the programs like users do, and reads all of their output.
#![allow(dead_code, reason = "each test program takes what it needs")]

pub mod namespace;
pub mod schema;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use openssl::x509::X509;
use serde_json::Value;
use tlslab_testkit::certificates::Authority;

/// The load generator.
pub fn load() -> Command {
    Command::new(env!("CARGO_BIN_EXE_tlslab-load"))
}

/// The output of a program that has ended.
#[derive(Debug)]
pub struct Said {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Said {
    fn new(output: Output) -> Self {
        let said = Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        };
        for text in [&said.stdout, &said.stderr] {
            let drives =
                |c: char| c.is_control() && c != '\n' || ('\u{202a}'..='\u{202e}').contains(&c);
            assert!(!text.contains(drives), "control characters: {text:?}");
        }
        said
    }

    /// The JSON on standard output: one object in one line, and nothing else.
    pub fn json(&self) -> Value {
        assert_eq!(self.stdout.lines().count(), 1, "{}", self.stdout);
        let value: Value = serde_json::from_str(&self.stdout).unwrap();
        assert!(value.is_object());
        value
    }
}

/// Runs the load generator to its end.
pub fn run(arguments: &[&str]) -> Said {
    Said::new(load().args(arguments).output().unwrap())
}

/// Runs it twice, with JSON and without: the same exit status, and one line, which is returned.
pub fn refused(arguments: &[&str], code: i32, class: &str) -> String {
    let said = run(&[&["--json"], arguments].concat());
    assert_eq!(said.code, Some(code), "{said:?}");
    let json = said.json();
    assert_eq!(json["schema"], "tlslab.error/1");
    assert_eq!(json["class"], class, "{json}");
    let for_people = run(arguments);
    assert_eq!(for_people.code, Some(code));
    assert_eq!(for_people.stdout, "");
    for stderr in [&said.stderr, &for_people.stderr] {
        assert!(stderr.lines().count() == 1 && stderr.starts_with("tlslab-load: "), "{stderr}");
    }
    let message = json["message"].as_str().unwrap();
    assert!(said.stderr.starts_with(&format!("tlslab-load: {message}")), "{}", said.stderr);
    assert!(said.stderr.ends_with(&format!(": exit {code}\n")), "{}", said.stderr);
    said.stderr
}

/// A record that is valid by the schema and whose accounting balances.
pub fn record(said: &Said) -> Value {
    let record = said.json();
    let of_program = run(&["--print-schema", "record"]).json();
    schema::validate(&record, &of_program).unwrap();
    let outcomes = &record["outcomes"];
    let number = |name: &str| outcomes[name].as_u64().unwrap();
    let all = |name: &str| -> u64 {
        outcomes[name].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum()
    };
    let ended = number("completed") + all("failed") + all("unexpected");
    let open = number("in_flight_at_stop") + number("lost_with_host");
    assert_eq!(number("attempts"), ended + open, "{outcomes}");
    record
}

/// The codes of a record's verdicts.
pub fn verdicts(record: &Value) -> Vec<&str> {
    let verdicts = record["verdicts"].as_array().unwrap();
    verdicts.iter().map(|verdict| verdict["code"].as_str().unwrap()).collect()
}

/// The codes of the verdicts that speak of the load itself: without those by which other programs
/// kept the generator from its processors, which depends on what else runs beside the tests.
pub fn faults(record: &Value) -> Vec<&str> {
    const OF_MACHINE: [&str; 3] = ["client_delayed", "client_starved", "client_saturated"];
    let mut codes = verdicts(record);
    codes.retain(|code| *code != "valid" && !OF_MACHINE.contains(code));
    codes
}

/// The exit code that this record's verdicts require.
pub fn exit_code(record: &Value) -> Option<i32> {
    Some(i32::from(verdicts(record) != ["valid"]))
}

/// The reference server at an address; its first URL without the path.
pub fn server(listen: &str) -> (Running, String) {
    serving(&["--listen", listen])
}

/// The reference server with these options; its first URL without the path.
pub fn serving(options: &[&str]) -> (Running, String) {
    let mut server = Running::start(Command::new(env!("CARGO_BIN_EXE_tlslab-serve")).args(options));
    let ready: Value = serde_json::from_str(&server.first_line()).unwrap();
    let url = ready["urls"][0].as_str().unwrap().trim_end_matches('/').to_owned();
    assert!(url.ends_with(ready["address"].as_str().unwrap()), "{url}");
    (server, url)
}

/// A running program; killed when the test ends, however it ends.
pub struct Running {
    child: Child,
    stderr: BufReader<std::process::ChildStderr>,
    seen: String,
}

impl Running {
    /// Starts a load with `--json --events`.
    pub fn load(arguments: &[&str]) -> Self {
        Self::start(load().args(["--json", "--events"]).args(arguments))
    }

    /// Starts any program.
    pub fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        Self { child, stderr, seen: String::new() }
    }

    /// Waits until the measurement has begun.
    pub fn until_measuring(&mut self) {
        self.until(r#""phase":"measure""#);
    }

    /// Waits until standard error has this text; returns its last line.
    pub fn until(&mut self, words: &str) -> &str {
        while !self.seen.contains(words) {
            let length = self.stderr.read_line(&mut self.seen).unwrap();
            assert!(length > 0, "never said {words}: {}", self.seen);
        }
        self.seen.lines().last().unwrap()
    }

    /// Writes a line to standard input, which has to be a pipe.
    pub fn give(&mut self, line: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Ends standard input.
    pub fn give_no_more(&mut self) {
        self.child.stdin = None;
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.id().try_into().unwrap()), signal).unwrap();
    }

    /// The first line on standard output.
    pub fn first_line(&mut self) -> String {
        let mut line = String::new();
        BufReader::new(self.child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        line
    }

    /// Waits until it has ended.
    pub fn said(mut self) -> Said {
        let mut stdout = Vec::new();
        self.child.stdout.take().unwrap().read_to_end(&mut stdout).unwrap();
        self.stderr.read_to_string(&mut self.seen).unwrap();
        let stderr = std::mem::take(&mut self.seen).into_bytes();
        Said::new(Output { status: self.child.wait().unwrap(), stdout, stderr })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A file that is removed when the test ends.
pub struct Temporary(PathBuf);

impl Temporary {
    pub fn new(content: &[u8]) -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("tlslab-load-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::write(&path, content).unwrap();
        Self(path)
    }

    /// The path of a file that does not exist yet.
    pub fn at(path: PathBuf) -> Self {
        Self(path)
    }

    /// The authority's certificate.
    pub fn ca(authority: &Authority) -> Self {
        Self::new(&X509::from_der(authority.certificate()).unwrap().to_pem().unwrap())
    }

    pub fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// The URL of a server.
pub fn url(address: SocketAddr) -> String {
    format!("https://{address}/")
}

//! `tlslab-serve` as users start it: lines, signals, exit statuses.

use std::fs;
use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use openssl::ssl::{SslConnector, SslMethod, StatusType};
use openssl::x509::X509;
use serde_json::Value;
use tlslab_testkit::certificates::{Authority, Identity, Key};
use tlslab_testkit::ocsp_response;

const ECDSA: &str = "ecdsa_secp256r1_sha256";
const RSA: &str = "rsa_pss_rsae_sha256:rsa_pkcs1_sha256";

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_tlslab-serve"))
}

/// The program under test; killed when the test ends, however it ends.
struct Running {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Running {
    fn start(arguments: &[&str]) -> Self {
        Self::spawn(program().args(arguments))
    }

    fn spawn(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    fn line(&mut self) -> Value {
        serde_json::from_str(&self.lines.next().unwrap().unwrap()).unwrap()
    }

    fn ready(&mut self) -> SocketAddr {
        let line = self.line();
        assert_eq!((&line["event"], &line["pid"]), (&"ready".into(), &self.child.id().into()));
        line["address"].as_str().unwrap().parse().unwrap()
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().try_into().unwrap()), signal).unwrap();
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
struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str, content: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tlslab-{}-{name}", std::process::id()));
        fs::write(&path, content).unwrap();
        Self(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// A certificate and its key in files.
fn files(name: &str, identity: &Identity) -> [Temporary; 2] {
    let text = |pem: Vec<u8>| String::from_utf8(pem).unwrap();
    let certificate = text(identity.certificate.to_pem().unwrap());
    let key = text(identity.key.private_key_to_pem_pkcs8().unwrap());
    [("certificate", certificate), ("key", key)]
        .map(|(what, content)| Temporary::new(&format!("{name}-{what}.pem"), &content))
}

/// Fetches a document from the server, whose certificate must match the schemes and the
/// authorities.
fn get(address: SocketAddr, authorities: &str, schemes: &str, target: &str) -> String {
    let mut connector = SslConnector::builder(SslMethod::tls_client()).unwrap();
    connector.set_ca_file(authorities).unwrap();
    connector.set_sigalgs_list(schemes).unwrap();
    let socket = TcpStream::connect(address).unwrap();
    let mut stream = connector.build().connect("localhost", socket).unwrap();
    write!(stream, "GET {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
    let mut response = Vec::new();
    stream.read_to_end(&mut response).unwrap();
    String::from_utf8(response).unwrap()
}

#[test]
fn a_server_says_where_it_listens_what_it_did_and_that_it_stopped() {
    for (backend, stop) in [("openssl", Signal::SIGTERM), ("rustls", Signal::SIGINT)] {
        let authorities = Temporary::new(&format!("{backend}.pem"), "");
        let keys = ["--self-signed", "ecdsa-p256", "--self-signed", "rsa-2048"];
        let files = ["--ca-out", authorities.path(), "--backend", backend, "--cpu", "0"];
        let mut server = Running::start(&[&keys[..], &files[..]].concat());
        let address = server.ready();
        let response = get(address, authorities.path(), RSA, "/bytes/5");
        assert!(response.ends_with("\r\n\r\n\0\u{1}\u{2}\u{3}\u{4}"), "{response:?}");
        let pem = fs::read_to_string(authorities.path()).unwrap();
        assert_eq!(pem.matches("BEGIN CERTIFICATE").count(), 2);

        server.signal(Signal::SIGUSR1);
        let line = server.line();
        assert_eq!((&line["event"], &line["stats"]["requests"]), (&"stats".into(), &1.into()));
        server.signal(stop);
        let line = server.line();
        assert_eq!(line["event"], "stopped");
        assert_eq!(
            line["stats"]["handshakes"],
            serde_json::json!({
                "full": 1, "resumed": 0, "early_data": 0, "failed": 0, "mutual": 0
            })
        );
        assert!(line["stats"]["cpu"]["user_us"].is_u64());
        assert!(line["stats"].get("burned_us").is_none());
        assert!(server.lines.next().is_none());
        assert_eq!(server.child.wait().unwrap().code(), Some(0));
    }
}

#[test]
fn a_share_of_what_new_connections_cost_is_burned() {
    let authorities = Temporary::new("burn.pem", "");
    let files = ["--ca-out", authorities.path(), "--burn", "100%"];
    let mut server = Running::start(&files);
    let line = server.line();
    assert_eq!((&line["event"], &line["burn"]), (&"ready".into(), &1.0.into()));
    let address = line["address"].as_str().unwrap().parse().unwrap();
    for _ in 0..100 {
        get(address, authorities.path(), ECDSA, "/bytes/1");
    }
    server.signal(Signal::SIGTERM);
    let stats = server.line()["stats"].clone();
    let cpu = |part: &str| stats["cpu"][part].as_u64().unwrap();
    let burned = stats["burned_us"].as_u64().unwrap();
    let worked = cpu("user_us") + cpu("system_us") - burned;
    // The other time includes waiting and listening, which are no work on a connection.
    let share = burned as f64 / worked as f64;
    assert!((0.5..1.1).contains(&share), "{burned} {worked}");
}

#[test]
fn nonsense_is_not_burned() {
    for share in ["-5%", "1001%", "5", "x%", "NaN%", "inf%"] {
        let (code, line) = refused(&["--burn", share]);
        let message = format!("'{share}' is not a share from 0% to 1000%");
        assert!(code == 2 && line.contains(&message), "{code} {line}");
    }
}

#[test]
fn certificates_come_from_files_in_pairs() {
    let authority = Authority::new("authority");
    let trusted = X509::from_der(authority.certificate()).unwrap().to_pem().unwrap();
    let trusted = Temporary::new("trusted.pem", &String::from_utf8(trusted).unwrap());
    let [ecdsa, ecdsa_key] = files("ecdsa", &authority.issue(Key::P256));
    let [rsa, rsa_key] = files("rsa", &authority.issue(Key::Rsa(2048)));
    let ecdsa = ["--cert", ecdsa.path(), "--key", ecdsa_key.path()];
    let rsa = ["--cert", rsa.path(), "--key", rsa_key.path()];
    let mut server = Running::start(&[ecdsa, rsa].concat());
    let address = server.ready();
    for (schemes, before) in [(ECDSA, 0), (RSA, 1)] {
        let stats = get(address, trusted.path(), schemes, "/stats");
        assert!(stats.contains(&format!(r#""requests":{before}"#)), "{stats}");
    }
}

#[test]
fn connections_beyond_the_file_limit_wait_for_others_to_end() {
    let authorities = Temporary::new("limited.pem", "");
    let limited = format!("ulimit -n 80; exec {}", env!("CARGO_BIN_EXE_tlslab-serve"));
    let mut shell = Command::new("sh");
    shell.args(["-c", &(limited + " \"$@\""), "sh", "--ca-out", authorities.path()]);
    let mut server = Running::spawn(&mut shell);
    let address = server.ready();
    let silent: Vec<_> = (0..40).map(|_| TcpStream::connect(address).unwrap()).collect();
    server.signal(Signal::SIGUSR1);
    let accepted = server.line()["stats"]["connections"].as_u64().unwrap();
    assert!(accepted < 40, "{accepted}");
    drop(silent);
    assert!(get(address, authorities.path(), ECDSA, "/bytes/1").starts_with("HTTP/1.1 200 OK"));
    server.signal(Signal::SIGTERM);
    let stats = server.line()["stats"].clone();
    assert_eq!((&stats["connections"], &stats["handshakes"]["failed"]), (&41.into(), &0.into()));
}

/// Runs the program with arguments that it must reject; its message is one line.
fn refused(arguments: &[&str]) -> (i32, String) {
    let Output { status, stdout, stderr } = program().args(arguments).output().unwrap();
    assert_eq!(stdout, b"");
    let message = String::from_utf8(stderr).unwrap();
    let line = message.strip_prefix("tlslab-serve: ").unwrap().trim_end().to_owned();
    assert!(!line.contains('\n'), "{line}");
    // The fault; the remedy.
    assert!(line.rsplit_once("; ").is_some_and(|(_, remedy)| remedy.len() > 9), "{line}");
    (status.code().unwrap(), line)
}

#[test]
fn files_that_are_no_certificates_are_wrong_usage() {
    let authority = Authority::new("authority");
    let [certificate, key] = files("one", &authority.issue(Key::P256));
    let [_, other] = files("other", &authority.issue(Key::P256));
    let with = |cert: &str, key: &str| refused(&["--cert", cert, "--key", key]);

    let (code, line) = with("/nowhere/c.pem", key.path());
    assert_eq!((code, line.starts_with("cannot read /nowhere/c.pem: No such file")), (2, true));
    let (code, line) = with(key.path(), key.path());
    assert_eq!((code, line.contains(": no certificate in PEM form found; ")), (2, true), "{line}");
    let (code, line) = with(certificate.path(), certificate.path());
    assert_eq!((code, line.contains("no private key in PEM form found")), (2, true), "{line}");
    let (code, line) = with(certificate.path(), other.path());
    assert_eq!((code, line.contains(" does not belong to the certificate; ")), (2, true), "{line}");
    let unpaired =
        ["--cert", certificate.path(), "--cert", certificate.path(), "--key", key.path()];
    let (code, line) = refused(&unpaired);
    assert_eq!((code, line.starts_with("2 --cert, but 1 --key; give each")), (2, true), "{line}");
}

#[test]
fn what_is_to_be_stapled_has_a_certificate_and_is_a_response() {
    let authority = Authority::new("authority");
    let identity = authority.issue(Key::P256);
    let [certificate, key] = files("stapled", &identity);
    let response = Temporary::new("stapled.ocsp", "");
    let staple = ocsp_response(&identity.certificate.to_der().unwrap(), 300);
    fs::write(response.path(), &staple).unwrap();
    let pair = ["--cert", certificate.path(), "--key", key.path()];
    let with = |more: &[&str]| refused(&[&pair[..], more].concat());

    let (code, line) = with(&["--staple", "/nowhere/c.ocsp"]);
    assert_eq!((code, line.starts_with("cannot read /nowhere/c.ocsp: No such file")), (2, true));
    let (code, line) = with(&["--staple", key.path()]);
    assert_eq!((code, line.contains(": not a successful OCSP response in DER; give")), (2, true));
    let twice = ["--staple", response.path(), "--staple", response.path()];
    let (code, line) = with(&twice);
    assert_eq!((code, line.starts_with("1 --cert, but 2 --staple; give")), (2, true), "{line}");
    let output = program().args(["--staple", response.path()]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));

    let authorities = Temporary::new("stapled.pem", &authority.pem());
    for backend in ["openssl", "rustls"] {
        let more = ["--backend", backend, "--staple", response.path()];
        let mut server = Running::start(&[&pair[..], &more].concat());
        let address = server.ready();
        let stream = TcpStream::connect(address).unwrap();
        let mut connector = SslConnector::builder(SslMethod::tls()).unwrap();
        connector.set_ca_file(authorities.path()).unwrap();
        let mut ssl = connector.build().configure().unwrap();
        ssl.set_status_type(StatusType::OCSP).unwrap();
        let stream = ssl.connect("localhost", stream).unwrap();
        assert_eq!(stream.ssl().ocsp_status(), Some(&staple[..]), "{backend}");
    }
}

#[test]
fn what_cannot_be_served_is_wrong_usage() {
    let (code, line) = refused(&["--backend", "rustls", "--group", "X448"]);
    assert_eq!((code, line.starts_with("rustls has no group X448; it has: X25519, ")), (2, true));
    let (code, line) = refused(&["--threads", "0"]);
    assert_eq!((code, line.as_str()), (2, "threads must be at least 1; see --help"));
    for arguments in [["--group", "P-257"], ["--cpu", "1-x"], ["--tls", "1.4"], ["--cert", "c"]] {
        let output = program().args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn what_the_machine_refuses_has_another_status() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let (code, line) = refused(&["--listen", &address]);
    assert_eq!(
        (
            code,
            line.contains("Address already in use") && line.contains("; end what listens there")
        ),
        (3, true),
        "{line}"
    );
    let (code, line) = refused(&["--ca-out", "/nowhere/ca.pem"]);
    assert_eq!((code, line.starts_with("cannot write /nowhere/ca.pem: ")), (3, true), "{line}");
    let (code, line) = refused(&["--cpu", "1023"]);
    assert_eq!((code, line.starts_with("cannot pin a worker to processor 1023")), (3, true));
}

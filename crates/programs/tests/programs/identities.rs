//! Client certificates, key log and obsolete protocols, on the command lines of both programs.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::support::{Running, Temporary, load, record, refused, run, url};
use serde_json::Value;
use tlslab_testkit::certificates::{Authority, Key};
use tlslab_testkit::peers::Peer;
use tlslab_testkit::tls_server::Settings;

/// A correct server, and the file with the authority to trust.
fn good() -> (Peer, Temporary) {
    let authority = Authority::new("tlslab test");
    let identities = vec![authority.issue(Key::P256)];
    let settings = Settings { identities, body_length: 100, ..Settings::default() };
    (Peer::honest(&settings), Temporary::ca(&authority))
}

fn server(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tlslab-serve"));
    command.args(arguments);
    command
}

/// Starts the reference server; the server and its URL.
fn serving(arguments: &[&str]) -> (Running, String) {
    let mut server = Running::start(&mut server(arguments));
    let ready: Value = serde_json::from_str(&server.first_line()).unwrap();
    let address = format!("https://{}/bytes/100", ready["address"].as_str().unwrap());
    (server, address)
}

#[test]
fn a_client_certificate_is_a_pair_of_files() {
    let authority = Authority::new("clients");
    let (certificate, key) = authority.issue_client(Key::Ed25519).pem();
    let [certificate, key] = [certificate, key].map(|pem| Temporary::new(pem.as_bytes()));
    let (authorities, ca) = (Temporary::new(authority.pem().as_bytes()), Temporary::new(b""));
    for backend in ["openssl", "rustls"] {
        let asking = ["--backend", backend, "--client-ca", authorities.path()];
        let (_server, url) = serving(&[&asking[..], &["--ca-out", ca.path()]].concat());
        let own = ["--client-cert", certificate.path(), "--client-key", key.path()];
        let flags = ["--json", "-n", "5", "--ca", ca.path(), &url];
        let said = record(&run(&[&flags[..], &own].concat()));
        assert_eq!(said["facts"][0]["client_authenticated"], true);
        assert_eq!(said["client_certificate"]["key"], "Ed25519");
        assert_eq!(said["spec"]["tls"]["client_identity"]["key"], "withheld");
        let line = refused(&["--ca", ca.path(), &url], 3, "alert_certificate_required");
        assert!(line.contains("--client-cert FILE"), "{line}");
    }
    let half = ["--insecure", "--client-cert", certificate.path(), "https://127.0.0.1:1/"];
    refused(&half, 2, "usage");
    let mixed_up = ["--client-cert", key.path(), "--client-key", certificate.path()];
    let line =
        refused(&[&["--insecure", "https://127.0.0.1:1/"], &mixed_up[..]].concat(), 2, "usage");
    assert!(line.contains("client certificate: no certificate in PEM form found"), "{line}");
}

#[test]
fn secrets_are_written_to_a_private_file_and_only_if_a_flag_says_so() {
    let (peer, ca) = good();
    let url = url(peer.address());
    let path = std::env::temp_dir().join(format!("tlslab-keylog-{}", std::process::id()));
    let flags = ["--json", "-n", "3", "--tls", "1.2", "--ca", ca.path(), &url];
    let silent = load().args(flags).env("SSLKEYLOGFILE", &path).output().unwrap();
    assert_eq!((silent.status.code(), path.exists()), (Some(0), false), "{silent:?}");

    let log = Temporary::at(path);
    let said = record(&run(&[&flags[..], &["--keylog", log.path()]].concat()));
    assert!(said["notes"][0].as_str().unwrap().contains("key log"));
    assert_eq!(fs::metadata(log.path()).unwrap().permissions().mode() & 0o777, 0o600);
    let text = fs::read_to_string(log.path()).unwrap();
    // Three connections and that of the preflight.
    assert_eq!(text.lines().filter(|line| line.starts_with("CLIENT_RANDOM ")).count(), 4);
    assert_eq!(text.lines().count(), 4);

    run(&[&flags[..], &["--keylog", log.path()]].concat());
    assert_eq!(fs::read_to_string(log.path()).unwrap().lines().count(), 8);

    fs::set_permissions(log.path(), fs::Permissions::from_mode(0o644)).unwrap();
    let line = refused(&["--insecure", "--keylog", log.path(), &url], 2, "usage");
    assert!(line.contains("may be read by others"), "{line}");
    refused(&["--insecure", "--keylog", "/no/such/folder/log", &url], 2, "usage");
    let said = run(&["--insecure", "-n", "1", "--keylog", "/dev/full", &url]);
    assert_eq!(said.code, Some(3), "{said:?}");
    assert!(said.stderr.contains("No space left"), "{said:?}");
}

#[test]
fn obsolete_things_need_leave_on_both_sides() {
    let cases: [&[&str]; 4] = [
        &["--tls", "ssl3"],
        &["--tls", "1.1"],
        &["--suite", "RC4-MD5"],
        &["--suite", "DHE-RSA-AES128-SHA", "--dh-bits", "1024"],
    ];
    for case in cases {
        let words = "is obsolete; give --allow-obsolete to have it";
        let line = refused(&[case, &["--insecure", "https://127.0.0.1:1/"]].concat(), 2, "usage");
        assert!(line.contains(words), "{line}");
        let ended = server(case).output().unwrap();
        let stderr = String::from_utf8(ended.stderr).unwrap();
        assert_eq!((ended.status.code(), stderr.lines().count()), (Some(2), 1), "{stderr}");
        assert!(stderr.contains(words), "{stderr}");
    }
    let ca = Temporary::new(b"");
    let old = ["--allow-obsolete", "--tls", "ssl3", "--suite", "RC4-MD5"];
    let (_server, url) =
        serving(&[&old[..], &["--self-signed", "rsa-1024", "--ca-out", ca.path()]].concat());
    let flags = ["--json", "-n", "5", "--ca", ca.path(), &url];
    let said = record(&run(&[&flags[..], &old].concat()));
    assert_eq!((&said["facts"][0]["tls"], &said["facts"][0]["count"]), (&"ssl3".into(), &5.into()));
    assert_eq!(said["facts"][0]["suite"], "TLS_RSA_WITH_RC4_128_MD5");
    let note = said["notes"][0].as_str().unwrap();
    assert!(note.ends_with("used: TLS version ssl3, TLS_RSA_WITH_RC4_128_MD5"), "{note}");
}

#[test]
fn protocols_and_names_are_flags() {
    let (peer, ca) = good();
    let url = url(peer.address());
    let names = ["--sni", "localhost", "--sni", "127.0.0.1", "--alpn", "none"];
    let said =
        record(&run(&[&["--json", "-n", "4", "--ca", ca.path(), &url], &names[..]].concat()));
    let counted = said["server_names"].as_array().unwrap();
    let counts = counted.iter().map(|name| (name["name"].as_str().unwrap(), &name["completed"]));
    assert!(counts.eq([("localhost", &2.into()), ("127.0.0.1", &2.into())]), "{counted:?}");
    assert_eq!(said["facts"][0]["alpn"], "none");
    let line = refused(&["--insecure", "--alpn", "h2", &url], 2, "usage");
    assert!(line.contains("alpn: requests are made in http/1.1; h2 needs"), "{line}");
    refused(&["--insecure", "--alpn", "none", "--alpn", "http/1.1", &url], 2, "usage");
}

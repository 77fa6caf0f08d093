//! The last line of `tlslab-load`, which gives the exit code and the reason.

use tlslab_testkit::certificates::{Authority, Key};
use tlslab_testkit::peers::script::Act::{Receive, Reset};
use tlslab_testkit::peers::{Peer, bare, nowhere};
use tlslab_testkit::tls_server::Settings;

use crate::support::{Said, Temporary, run, server, url};

fn last(said: &Said) -> &str {
    said.stderr.lines().last().unwrap_or_default()
}

#[test]
fn every_measurement_for_people_ends_with_its_exit_code() {
    let (_server, url) = server("127.0.0.1:0");
    let host = url.trim_start_matches("https://");
    let file = Temporary::new(b"");
    let load = ["--insecure", "-n", "4", &url];
    for (line, reason) in [
        (&[&load[..], &["-o", file.path()]].concat()[..], "valid"),
        (&[&load[..], &["--format", "csv"]].concat(), "valid"),
        (&[&load[..], &["--format", "markdown"]].concat(), "valid"),
        (&["merge", file.path()], "valid"),
        (&["probe", host, "--insecure", "--only", "alpn"], "probed"),
        (&["hold", "1", "--dwell", "1ms", "--insecure", &url], "every connection lasted"),
        (&["primitives", "--time", "1ms", "--group", "X25519", "--no-tcp"], "measured"),
    ] {
        let said = run(line);
        assert_eq!((said.code, last(&said)), (Some(0), &*format!("{reason}: exit 0")), "{line:?}");
    }
}

#[test]
fn what_is_for_programs_has_no_such_line() {
    let (_server, url) = server("127.0.0.1:0");
    let load = ["--insecure", "-n", "4", &url];
    for line in [
        &[&load[..], &["--json"]].concat()[..],
        &[&load[..], &["--format", "json"]].concat(),
        &[&load[..], &["--print-spec"]].concat(),
        &[&load[..], &["--preflight"]].concat(),
        &["schema", "spec"],
    ] {
        let said = run(line);
        assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""), "{line:?}");
    }
}

#[test]
fn a_run_that_is_not_valid_says_so_and_an_error_has_its_code_in_its_line() {
    let identities = vec![Authority::new("tlslab test").issue(Key::P256)];
    let settings = Settings { identities, body_length: 100, ..Settings::default() };
    let peer = Peer::start(&settings, 8, bare(vec![Receive, Reset]));
    let said = run(&["--insecure", "-n", "40", &url(peer.address())]);
    let words = "a verdict is against the result, see above: exit 1";
    assert_eq!((said.code, last(&said)), (Some(1), words));
    let said = run(&["--insecure", &url(nowhere())]);
    assert_eq!(said.code, Some(3));
    assert!(said.stderr.ends_with("; start the server, or correct the port: exit 3\n"), "{said:?}");
}

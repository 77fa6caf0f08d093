//! Runs in a process of their own: the memory and the panics of a run are then its own, and not
//! those of its peers, which are threads of the test.

use std::io::{self, Write};
use std::process::Command;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tlslab_contract::record::RunRecord;
use tlslab_contract::spec::RunSpec;
use tlslab_testkit::certificates::{Authority, Key};
use tlslab_testkit::peers::Peer;
use tlslab_testkit::tls_server::Settings;
use tlslab_tls::TrustAnchors;

use crate::harness::{BACKENDS, measured, peak_memory_mib, spec};

/// What a process may take at most for a run of four connections, in MiB. A run whose server is
/// honest takes some 13, most of it for histograms; floods go up to a GiB.
const MEMORY_LIMIT_MIB: u64 = 32;

/// Which test of this program makes a run that its environment describes.
const NAME: &str = "alone::a_run_of_its_own";

/// The environment's variable that describes it.
const WORK: &str = "TLSLAB_TEST_RUN";

/// Set for a test that is in a process of its own.
const ALONE: &str = "TLSLAB_TEST_ALONE";

/// What stands before its result.
const RESULT: &str = "the run's result: ";

/// Far longer than any run takes: one that takes so long hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is to be done.
#[derive(Serialize, Deserialize)]
struct Work {
    spec: RunSpec,
    anchors: Vec<Vec<u8>>,
}

/// What came of it.
#[derive(Serialize, Deserialize)]
struct Done {
    record: RunRecord,
    peak_mib: u64,
}

/// Runs in a process of its own, and asserts what must be true of every record, that nothing
/// panicked, and that memory was bounded.
pub fn measured_alone(spec: RunSpec, authority: &Authority) -> RunRecord {
    let work = Work { spec, anchors: vec![authority.certificate().to_vec()] };
    let output = Command::new(std::env::current_exe().unwrap())
        .args([NAME, "--exact"])
        .env(WORK, serde_json::to_string(&work).unwrap())
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {said}{words}", output.status);
    let result = said.lines().find_map(|line| line.split_once(RESULT)).unwrap().1;
    let done: Done = serde_json::from_str(result).unwrap();
    let peak = done.peak_mib;
    assert!(peak < MEMORY_LIMIT_MIB, "{peak} MiB");
    done.record
}

/// Whether the test of this name is in a process of its own; if not, runs it there, and asserts
/// that it passes.
pub fn by_itself(test: &str) -> bool {
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact"])
        .env(ALONE, "")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{words}");
    assert!(said.contains("1 passed"), "no test is called {test}: {said}");
    false
}

/// Makes the run that the environment describes; without one, shows that an honest server's run in
/// a process of its own is as good as any.
#[test]
fn a_run_of_its_own() {
    let Ok(work) = std::env::var(WORK) else {
        return honest_runs_stay_within_the_limit();
    };
    std::thread::spawn(|| {
        std::thread::sleep(PATIENCE);
        std::process::exit(1);
    });
    let work: Work = serde_json::from_str(&work).unwrap();
    let record = measured(work.spec, TrustAnchors::Certificates(work.anchors));
    let done = Done { record, peak_mib: peak_memory_mib() };
    writeln!(io::stdout(), "{RESULT}{}", serde_json::to_string(&done).unwrap()).unwrap();
}

fn honest_runs_stay_within_the_limit() {
    let authority = Authority::new("tlslab test");
    let settings = Settings { identities: vec![authority.issue(Key::P256)], ..Settings::default() };
    for backend in BACKENDS {
        let peer = Peer::honest(&settings);
        let record = measured_alone(spec(peer.address(), backend), &authority);
        assert_eq!(record.outcomes.completed, 4, "{backend:?}");
    }
}

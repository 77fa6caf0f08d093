//! Runs in a separate process, so that memory and panics are those of the run and not those of its
//! peers, which are threads of the test.

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

/// The highest memory use of a process for a run of four connections, in MiB. A run against an
/// honest server takes some 13, most of it for histograms; floods send up to a GiB.
const MEMORY_LIMIT_MIB: u64 = 32;

/// The test of this program that makes the run that its environment describes.
const NAME: &str = "alone::a_run_of_its_own";

/// The environment variable with the description of the run.
const WORK: &str = "TLSLAB_TEST_RUN";

/// Set for a test that runs in its own process.
const ALONE: &str = "TLSLAB_TEST_ALONE";

/// The text in front of the result.
const RESULT: &str = "the run's result: ";

/// Far longer than any run takes: a process that takes this long hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// The run to make.
#[derive(Serialize, Deserialize)]
struct Work {
    spec: RunSpec,
    anchors: Vec<Vec<u8>>,
}

/// The result of the run.
#[derive(Serialize, Deserialize)]
struct Done {
    record: RunRecord,
    peak_mib: u64,
}

/// Makes a run in a separate process. Asserts what holds for every record, that nothing panicked,
/// and that memory was bounded.
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

/// Whether the test of this name is in its own process. If not, runs the test there, and asserts
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

/// Makes the run that the environment describes. Without a description, shows that the run of an
/// honest server passes in a separate process, too.
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

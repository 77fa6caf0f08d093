//! Tests that need a network and mounts of their own run in namespaces.

use std::process::Command;

/// Set for a test that is in its namespaces.
const INSIDE: &str = "TLSLAB_TEST_INSIDE";

/// Whether the test of this name is in namespaces of its own, with a loopback interface; if not,
/// runs it there, and asserts that it passes.
pub fn inside(test: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        let up = Command::new("ip").args(["link", "set", "lo", "up"]).status().unwrap();
        assert!(up.success());
        return true;
    }
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--net", "--mount", "--fork", "--kill-child"])
        .arg(std::env::current_exe().unwrap())
        .args([test, "--exact"])
        .env(INSIDE, "")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{words}");
    assert!(said.contains("1 passed"), "no test is called {test}: {said}");
    false
}

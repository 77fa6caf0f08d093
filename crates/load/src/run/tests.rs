//! A worker that panics ends the run, and the other workers do not wait for it.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::check::check;
use crate::watch::Progress;
use tlslab_serve::{ServeSpec, Server, ServerBackend};
use tlslab_system::clock::MILLISECOND;
use tlslab_tls::TrustAnchors;
use tlslab_tls::self_signed::self_signed;
use tlslab_wire::names::KeyKind;

struct Deaf;

impl Observer for Deaf {
    fn preflight(&mut self, _: &Checked) {}
    fn phase(&mut self, _: &'static str, _: u64) {}
    fn progress(&mut self, _: Progress) {}
}

#[test]
fn a_panic_before_the_start_ends_the_run_with_its_words() {
    let made = self_signed(KeyKind::EcdsaP256).unwrap();
    let spec = ServeSpec::loopback(ServerBackend::Openssl, vec![made.identity]);
    let server = Server::start(&spec).unwrap();
    let json = format!(
        r#"{{"url":"https://{}/bytes/10","stop":{{"duration_ms":60000}},"connections":2,"threads":2}}"#,
        server.address()
    );
    let spec: RunSpec = serde_json::from_str(&json).unwrap();
    let spec = spec.checked().unwrap();
    let checked = check(&spec, TrustAnchors::Anyone).unwrap();
    let made = AtomicUsize::new(0);
    let make = || {
        assert_ne!(made.fetch_add(1, Ordering::SeqCst), 1, "injected");
        RustlsBackend::new(&checked.settings)
    };
    let began = MonotonicClock.now();
    let ended =
        load(&spec, &checked, &mut Deaf, &AtomicBool::new(false), &mut ImmediateStart, make);
    assert!(matches!(&ended, Err(RunError::Panicked(words)) if words.contains("injected")));
    assert!(MonotonicClock.now() - began < 30_000 * MILLISECOND, "it waited for the measurement");
}

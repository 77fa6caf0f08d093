//! A public target must show that its operator consents. The peer is local and treated as public;
//! no public host is contacted.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

use openssl::ssl::{AlpnError, Ssl, SslContext, SslMethod, SslStream, select_next_proto};
use tlslab_testkit::certificates::{Authority, Key};
use tlslab_testkit::peers::{Fault, Peer};
use tlslab_testkit::tls_server::Settings;

use super::*;
use tlslab_contract::spec::{BackendChoice, RunSpec, Stop};
use tlslab_system::guard::GuardError;

const TOKEN: &str = "4c1e-0f7a-93b5-d268";
const PAGE: &str = "/.well-known/tlslab-4c1e-0f7a-93b5-d268";

/// A server that answers requests for the consent page with this status and all others with 200,
/// and records the requested paths.
struct Site {
    peer: Peer,
    trust: TrustAnchors,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Site {
    fn new(page: &'static str) -> Self {
        let authority = Authority::new("tlslab test");
        let identity = authority.issue(Key::P256);
        let mut context = SslContext::builder(SslMethod::tls_server()).unwrap();
        context.set_certificate(&identity.certificate).unwrap();
        context.set_private_key(&identity.key).unwrap();
        context.set_alpn_select_callback(|_, offered| {
            select_next_proto(b"\x08http/1.1", offered).ok_or(AlpnError::ALERT_FATAL)
        });
        let context = context.build();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&asked);
        let serve: Fault = Arc::new(move |socket: TcpStream| {
            let mut stream = SslStream::new(Ssl::new(&context).unwrap(), socket).unwrap();
            if stream.accept().is_err() {
                return;
            }
            let mut head = [0; 1024];
            let Ok(length) = stream.read(&mut head) else { return };
            let head = String::from_utf8_lossy(&head[..length]).into_owned();
            let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
            let status = if path.starts_with("/.well-known/") { page } else { "200 OK" };
            seen.lock().unwrap().push(path);
            let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 2\r\n\r\nok");
            // The client may have closed the connection already.
            let _ = stream.write_all(answer.as_bytes());
            let _ = stream.shutdown();
        });
        let peer = Peer::start(&Settings::default(), 0, serve);
        let trust = TrustAnchors::Certificates(vec![authority.certificate().to_vec()]);
        Self { peer, trust, asked }
    }

    /// Checks a run of N seconds as if the server's address were public.
    fn checked(
        &self,
        seconds: u64,
        proof: Option<&str>,
        backend: BackendChoice,
    ) -> Result<Checked, RunError> {
        let address = self.peer.address();
        let json = format!(r#"{{"url":"https://{address}/","stop":{{"count":1}}}}"#);
        let mut spec: RunSpec = serde_json::from_str(&json).unwrap();
        spec.stop = Stop::DurationMs(seconds * 1000);
        spec.proof = proof.map(str::to_owned);
        spec.tls.backend = backend;
        // The minimal client would try the page in addition.
        spec.tls.client = ClientChoice::Library;
        let permit = Permit { address, bounded: true, portion: 1.0 };
        check_permitted(&spec.checked().unwrap(), self.trust.clone(), None, permit)
    }

    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

const BACKENDS: [BackendChoice; 2] = [BackendChoice::Rustls, BackendChoice::Openssl];

#[test]
fn a_public_target_that_serves_the_page_may_be_loaded_for_longer() {
    let site = Site::new("200 OK");
    for backend in BACKENDS {
        let checked = site.checked(600, Some(TOKEN), backend).unwrap();
        assert!(!checked.permit.bounded, "{backend:?}");
        assert_eq!(site.asked(), [PAGE, "/"], "{backend:?}");
    }
}

#[test]
fn a_public_target_that_does_not_serve_it_may_not() {
    for status in ["404 Not Found", "302 Found", "500 Internal Server Error"] {
        let site = Site::new(status);
        for backend in BACKENDS {
            let refused = site.checked(61, Some(TOKEN), backend).unwrap_err();
            let words = "beyond 1,000 connections/s or 60 s";
            assert!(refused.to_string().contains(words), "{refused}");
            assert_eq!(site.asked(), [PAGE], "{status}, {backend:?}");
        }
    }
}

#[test]
fn without_a_token_nothing_is_asked_and_only_a_short_run_is_taken() {
    let site = Site::new("200 OK");
    let refused = site.checked(61, None, BackendChoice::Rustls).unwrap_err();
    assert!(matches!(refused, RunError::Guard(GuardError::PublicWithoutProof { .. })));
    assert_eq!(site.asked(), Vec::<String>::new());
    let short = site.checked(60, None, BackendChoice::Rustls).unwrap();
    assert!(short.permit.bounded);
    assert_eq!(site.asked(), ["/"]);
}

#[test]
fn a_page_behind_a_certificate_that_is_not_trusted_proves_nothing() {
    let mut site = Site::new("200 OK");
    let stranger = Authority::new("a stranger");
    site.trust = TrustAnchors::Certificates(vec![stranger.certificate().to_vec()]);
    for backend in BACKENDS {
        let refused = site.checked(61, Some(TOKEN), backend).unwrap_err();
        assert!(matches!(refused, RunError::Guard(GuardError::PublicWithoutProof { .. })));
        assert_eq!(site.asked(), Vec::<String>::new());
    }
}

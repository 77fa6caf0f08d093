//! Certificates as `openssl req -x509` makes them, which are their own authority: trusted by
//! `--ca`, they pass for their names while they are valid, to both back ends and to the minimal
//! client.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use openssl::pkey::PKey;
use openssl::x509::X509;
use tlslab_contract::spec::{BackendChoice, ClientChoice, RunSpec};
use tlslab_load::error::RunError;
use tlslab_testkit::certificates::{Authority, Identity, Key};
use tlslab_testkit::tls_server::{Settings, TlsServer};
use tlslab_tls::TrustAnchors;

use crate::harness::{BACKENDS, spec, try_run, with_minimal_client};

/// A folder of a test's own for the files of `openssl`.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path =
            std::env::temp_dir().join(format!("tlslab-leaf-{}-{number}", std::process::id()));
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    /// Runs `openssl` in it.
    fn openssl(&self, arguments: &[&str]) {
        let output = Command::new("openssl").args(arguments).current_dir(&self.0).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    fn identity(&self) -> Identity {
        let read = |name| fs::read(self.0.join(name)).unwrap();
        Identity {
            certificate: X509::from_pem(&read("certificate.pem")).unwrap(),
            key: PKey::private_key_from_pem(&read("key.pem")).unwrap(),
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What `openssl req` makes a key and a certificate, or a request for one, of.
const KEY: [&str; 10] = [
    "req",
    "-nodes",
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:P-256",
    "-keyout",
    "key.pem",
    "-subj",
    "/CN=localhost",
];

/// What `openssl req -x509` makes of these arguments.
fn made(arguments: &[&str]) -> Identity {
    let folder = Folder::new();
    folder.openssl(&[&KEY[..], &["-x509", "-out", "certificate.pem"], arguments].concat());
    folder.identity()
}

/// What `openssl ca -selfsign` makes, valid in the year 2020 only; `openssl req` knows no past.
fn expired() -> Identity {
    const SETTINGS: &str = "[ca]\ndefault_ca = one\n[one]\ndatabase = index\nnew_certs_dir = .\n\
        rand_serial = yes\ndefault_md = sha256\npolicy = any\ncopy_extensions = copyall\n\
        [any]\ncommonName = supplied\n";
    let folder = Folder::new();
    fs::write(folder.0.join("settings"), SETTINGS).unwrap();
    fs::write(folder.0.join("index"), "").unwrap();
    folder.openssl(&[&KEY[..], &["-out", "request.pem", "-addext", NAMES]].concat());
    let dates = ["-startdate", "20200101000000Z", "-enddate", "20201231000000Z"];
    let files = ["-keyfile", "key.pem", "-in", "request.pem", "-out", "certificate.pem"];
    let sign = ["ca", "-batch", "-selfsign", "-notext", "-config", "settings"];
    folder.openssl(&[&sign[..], &dates, &files].concat());
    folder.identity()
}

const NAMES: &str = "subjectAltName=DNS:localhost,IP:127.0.0.1";

/// Both back ends, and all clients that they have; the minimal client makes one of two connections.
fn clients(server: &TlsServer) -> Vec<RunSpec> {
    let of = |backend, client| {
        let mut spec = with_minimal_client(spec(server.address(), backend));
        spec.tls.client = client;
        spec
    };
    let library = BACKENDS.map(|backend| of(backend, ClientChoice::Library));
    library.into_iter().chain([of(BackendChoice::Rustls, ClientChoice::Auto)]).collect()
}

fn serving(identity: Identity) -> TlsServer {
    TlsServer::start(&Settings { identities: vec![identity], ..Settings::default() })
}

/// That no client takes a server with this certificate, which is trusted.
fn assert_refused(identity: Identity) {
    let trust = TrustAnchors::Certificates(vec![identity.certificate.to_der().unwrap()]);
    let server = serving(identity);
    for spec in clients(&server) {
        let error = try_run(spec.clone(), trust.clone()).unwrap_err();
        assert_eq!(error.class(), "certificate", "{:?}: {error}", spec.tls.backend);
    }
}

#[test]
fn a_trusted_certificate_of_the_servers_own_passes() {
    let usual = made(&["-addext", NAMES]);
    assert!(usual.certificate.to_text().unwrap().windows(7).any(|text| text == b"CA:TRUE"));
    let leaf = made(&["-addext", NAMES, "-addext", "basicConstraints=critical,CA:FALSE"]);
    let issued = Authority::new("tlslab").issue(Key::P256);
    for identity in [usual, leaf, issued] {
        let certificate = identity.certificate.to_der().unwrap();
        let other = made(&["-addext", NAMES]).certificate.to_der().unwrap();
        let server = serving(identity);
        for spec in clients(&server) {
            let trust = TrustAnchors::Certificates(vec![other.clone(), certificate.clone()]);
            let record = try_run(spec.clone(), trust).unwrap();
            assert_eq!(record.outcomes.completed, 4, "{:?}", spec.tls.backend);
            let minimal = spec.tls.client == ClientChoice::Auto;
            assert_eq!(record.minimal_client > 0, minimal);
            // One that is not trusted does not pass for it, though it says the same of itself.
            let trust = TrustAnchors::Certificates(vec![other.clone()]);
            assert!(matches!(try_run(spec, trust), Err(RunError::Preflight { .. })));
        }
    }
}

#[test]
fn its_name_validity_and_purpose_are_checked() {
    assert_refused(made(&["-addext", "subjectAltName=DNS:elsewhere.test"]));
    // A name in the subject alone is none (RFC 9525, section 6.1).
    assert_refused(made(&[]));
    assert_refused(expired());
    assert_refused(made(&["-addext", NAMES, "-addext", "extendedKeyUsage=clientAuth"]));
    assert_refused(made(&["-addext", NAMES, "-addext", "keyUsage=critical,keyCertSign"]));
}

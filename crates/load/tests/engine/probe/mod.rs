//! The probe against servers with known settings, and against peers that are no servers.

mod after_handshake;
mod broken;
mod hellos;
mod hostile;
mod legacy;
mod offers;
mod settings;
mod silence;
mod starttls;
mod trust;

use std::net::SocketAddr;
use std::sync::Arc;

use openssl::ssl::{Ssl, SslContext, SslContextBuilder, SslMethod, SslStream};
use tlslab_probe::{
    Accepted, Named, ProbeError, ProbeRecord, ProbeSpec, Protocol, Suite, Topic, probe,
};
use tlslab_testkit::certificates::{Authority, Identity};
use tlslab_testkit::peers::{Fault, Peer};
use tlslab_testkit::tls_server::Settings;
use tlslab_tls::TrustAnchors;

/// A probe of this address under the name `localhost`, for these topics (none: all).
fn spec(address: SocketAddr, only: &[Topic]) -> ProbeSpec {
    ProbeSpec {
        server_name: Some("localhost".to_owned()),
        only: only.to_vec(),
        ..ProbeSpec::of(address.to_string())
    }
}

fn try_probe(spec: ProbeSpec) -> Result<ProbeRecord, ProbeError> {
    probe(&spec.checked().unwrap(), TrustAnchors::Anyone)
}

fn probed(address: SocketAddr, only: &[Topic]) -> ProbeRecord {
    let record = try_probe(spec(address, only)).unwrap();
    assert_eq!(record.incomplete, None);
    record
}

fn trust(authority: &Authority) -> TrustAnchors {
    TrustAnchors::Certificates(vec![authority.certificate().to_vec()])
}

/// The accepted versions.
fn versions(record: &ProbeRecord) -> Vec<Protocol> {
    let accepted = record.versions.iter().filter(|found| found.accepted == Some(true));
    accepted.map(|found| found.version).collect()
}

/// The findings for one version.
fn of_version<T>(found: &[Accepted<T>], version: Protocol) -> &Accepted<T> {
    found.iter().find(|accepted| accepted.version == version).unwrap()
}

fn names(found: &Accepted<Named>) -> Vec<&str> {
    found.accepted.iter().map(|named| named.name.as_str()).collect()
}

fn suites(found: &Accepted<Suite>) -> Vec<&str> {
    found.accepted.iter().map(|suite| suite.name.as_str()).collect()
}

/// An OpenSSL server with settings of the test. It ends each connection after its handshake, or
/// calls a function first.
fn serve(
    identity: &Identity,
    set: impl FnOnce(&mut SslContextBuilder),
    then: impl Fn(SslStream<std::net::TcpStream>) + Send + Sync + 'static,
) -> Peer {
    let mut context = SslContext::builder(SslMethod::tls_server()).unwrap();
    context.set_security_level(0);
    context.set_cipher_list("ALL").unwrap();
    context.set_certificate(&identity.certificate).unwrap();
    context.set_private_key(&identity.key).unwrap();
    set(&mut context);
    let context = context.build();
    let fault: Fault = Arc::new(move |socket| {
        socket.set_read_timeout(Some(std::time::Duration::from_secs(5))).unwrap();
        let mut stream = SslStream::new(Ssl::new(&context).unwrap(), socket).unwrap();
        if stream.accept().is_ok() {
            then(stream);
        }
    });
    Peer::start(&Settings::default(), 0, fault)
}

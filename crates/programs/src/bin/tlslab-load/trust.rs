//! Whom to trust: PEM text, or the trust anchors of this machine.

use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use tlslab_engine::spec::Trust;
use tlslab_engine::tls::TrustAnchors;

use crate::problem::Problem;

/// The trust anchors that a specification names.
pub fn anchors(trust: &Trust) -> Result<TrustAnchors, Problem> {
    match trust {
        Trust::Anyone => Ok(TrustAnchors::Anyone),
        Trust::Pem(text) => from_pem(text),
        Trust::System => {
            let found = rustls_native_certs::load_native_certs().certs;
            if found.is_empty() {
                return Err(Problem::usage(
                    "this machine has no trust anchors; give --ca FILE or --insecure".to_owned(),
                ));
            }
            Ok(TrustAnchors::Certificates(found.iter().map(|c| c.as_ref().to_vec()).collect()))
        }
    }
}

/// The same for a probe, which tells of a chain that it does not pass: no anchors are no obstacle.
pub fn anchors_of_probe(trust: &Trust) -> Result<TrustAnchors, Problem> {
    match trust {
        Trust::System => {
            let found = rustls_native_certs::load_native_certs().certs;
            Ok(TrustAnchors::Certificates(found.iter().map(|c| c.as_ref().to_vec()).collect()))
        }
        other => anchors(other),
    }
}

fn from_pem(text: &str) -> Result<TrustAnchors, Problem> {
    let certificates = CertificateDer::pem_slice_iter(text.as_bytes())
        .map(|certificate| certificate.map(|c| c.as_ref().to_vec()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|e| Problem::usage(format!("the CA is not PEM: {e}")))?;
    if certificates.is_empty() {
        return Err(Problem::usage("the CA text holds no certificate".to_owned()));
    }
    Ok(TrustAnchors::Certificates(certificates))
}

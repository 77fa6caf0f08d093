//! The trust anchors: certificates in PEM, or those of this machine.

use std::fs;

use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use tlslab_contract::spec::Trust;
use tlslab_tls::TrustAnchors;

use crate::load::problem::Problem;

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

/// The text of a file of certificates; an error with its name if it contains none.
pub fn from_file(path: &str) -> Result<String, Problem> {
    let said = |what: String| Problem::usage(format!("--ca '{path}' {what}"));
    let bytes = fs::read(path).map_err(|e| said(format!("cannot be read: {e}")))?;
    let text = String::from_utf8(bytes)
        .map_err(|_| said("is not PEM: convert it (openssl x509 -inform DER)".to_owned()))?;
    match certificates(&text) {
        Ok(found) if found.is_empty() => Err(said(
            "holds no certificate: give the PEM file of the server's CA, or of its own certificate"
                .to_owned(),
        )),
        Ok(_) => Ok(text),
        Err(error) => Err(said(format!("is not PEM: {error}"))),
    }
}

fn certificates(text: &str) -> Result<Vec<Vec<u8>>, rustls_pki_types::pem::Error> {
    let found = CertificateDer::pem_slice_iter(text.as_bytes());
    found.map(|certificate| certificate.map(|c| c.as_ref().to_vec())).collect()
}

fn from_pem(text: &str) -> Result<TrustAnchors, Problem> {
    let certificates = certificates(text)
        .map_err(|e| Problem::usage(format!("the trust of the specification is not PEM: {e}")))?;
    if certificates.is_empty() {
        let words = "the trust of the specification holds no certificate in PEM";
        return Err(Problem::usage(words.to_owned()));
    }
    Ok(TrustAnchors::Certificates(certificates))
}

//! What only OpenSSL does with a certificate and its key.

use openssl::error::ErrorStack;
use openssl::pkey::PKey;
use openssl::ssl::SslContextBuilder;
use openssl::x509::X509;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

use super::IdentityError;
use crate::openssl::ffi::add_to_chain;

/// Adds a chain (the owner's certificate first) and its key to a context.
pub fn install(
    chain: &[CertificateDer<'_>],
    key: &PrivateKeyDer<'_>,
    context: &mut SslContextBuilder,
) -> Result<(), ErrorStack> {
    let (own, others) = chain.split_first().expect("a chain is never empty");
    let own = X509::from_der(own)?;
    context.set_certificate(&own)?;
    let key = PKey::private_key_from_der(key.secret_der())?;
    context.set_private_key(&key)?;
    others.iter().try_for_each(|other| {
        let other = X509::from_der(other)?;
        add_to_chain(context, &other)
    })
}

/// Checks that a certificate and a key belong together.
pub fn check_pair(
    certificate: &CertificateDer<'_>,
    key: &PrivateKeyDer<'_>,
) -> Result<(), IdentityError> {
    let public = X509::from_der(certificate).and_then(|certificate| certificate.public_key());
    let public = public.map_err(|_| IdentityError::NoCertificate)?;
    let key = PKey::private_key_from_der(key.secret_der()).map_err(|_| IdentityError::NoKey)?;
    if public.public_eq(&key) { Ok(()) } else { Err(IdentityError::KeyMismatch) }
}

//! RSA keys shorter than aws-lc generates, for the subject of a certificate.

use openssl::error::ErrorStack;
use openssl::pkey::PKey;
use openssl::rsa::Rsa;

use super::PrivateKey;

/// Generates a key: the public half, PKCS #1 in DER, and the private one.
pub fn generate(bits: u32) -> Result<(Vec<u8>, PrivateKey), ErrorStack> {
    let rsa = Rsa::generate(bits)?;
    let public = rsa.public_key_to_der_pkcs1()?;
    let key = PKey::from_rsa(rsa)?;
    let pem = String::from_utf8_lossy(&key.private_key_to_pem_pkcs8()?).into_owned();
    Ok((public, PrivateKey { pem, der: key.private_key_to_pkcs8()? }))
}

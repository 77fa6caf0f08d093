//! Servers whose own certificate is a trust anchor, byte for byte, such as one made by `openssl req
//! -x509` and named by `--ca`. There is no chain to check, whatever the certificate says about
//! authorities. Name, validity and purpose are checked, as in OpenSSL and curl.

use std::time::Duration;

use rustls::CertificateError::{BadEncoding, ExpiredContext, InvalidPurpose, NotValidYet};
use rustls::client::verify_server_name;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, Error};
use x509_parser::prelude::{FromDer, X509Certificate};

/// Checks such a certificate for this name at this time.
pub fn check(
    certificate: &CertificateDer<'_>,
    name: &ServerName<'_>,
    now: UnixTime,
) -> Result<(), Error> {
    let bad = |_| Error::from(BadEncoding);
    let (_, parsed) = X509Certificate::from_der(certificate).map_err(|_| bad(()))?;
    is_valid_at(&parsed, now)?;
    if !is_for_servers(&parsed).map_err(bad)? {
        return Err(InvalidPurpose.into());
    }
    verify_server_name(&ParsedCertificate::try_from(certificate)?, name)
}

/// Both ends of the validity period are inclusive (RFC 5280, section 4.1.2.5).
fn is_valid_at(certificate: &X509Certificate<'_>, now: UnixTime) -> Result<(), CertificateError> {
    let time = now;
    let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    let validity = certificate.validity();
    let not_after = validity.not_after.timestamp();
    match now {
        _ if now < validity.not_before.timestamp() => Err(NotValidYet),
        _ if now > not_after => {
            let ended = Duration::from_secs(not_after.max(0).unsigned_abs());
            Err(ExpiredContext { time, not_after: UnixTime::since_unix_epoch(ended) })
        }
        _ => Ok(()),
    }
}

/// Checks that a certificate which restricts its purpose allows TLS servers (RFC 5280, sections
/// 4.2.1.3 and 4.2.1.12).
fn is_for_servers(certificate: &X509Certificate<'_>) -> Result<bool, ()> {
    let usage = certificate.key_usage().map_err(drop)?;
    let extended = certificate.extended_key_usage().map_err(drop)?;
    let may_sign = usage.is_none_or(|usage| {
        let usage = usage.value;
        usage.digital_signature() || usage.key_encipherment() || usage.key_agreement()
    });
    Ok(may_sign && extended.is_none_or(|usage| usage.value.any || usage.value.server_auth))
}

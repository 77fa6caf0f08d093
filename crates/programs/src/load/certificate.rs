//! Remedies for a server's certificate that is not accepted.

use tlslab_contract::spec::Trust;

/// The remedy for an unknown fault.
pub const ANY: &str = "give its CA, or its own certificate, with --ca FILE and a name that it is for \
                       with --sni NAME, or do not check it with --insecure";

/// Why a certificate is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// It has expired.
    Expired,
    /// It is not valid yet.
    NotYetValid,
    /// It is for other names.
    WrongName,
    /// No trusted authority has issued it.
    UnknownAuthority,
    /// Anything else.
    Other,
}

/// How the reasons of these faults begin: OpenSSL's own (X509_verify_cert_error_string(3)), and those
/// of rustls, which begin with the alert.
const NAMES: [(&str, Fault); 13] = [
    ("certificate has expired", Fault::Expired),
    ("certificate_expired (expired", Fault::Expired),
    ("certificate is not yet valid", Fault::NotYetValid),
    ("certificate_expired (not valid yet", Fault::NotYetValid),
    ("hostname mismatch", Fault::WrongName),
    ("IP address mismatch", Fault::WrongName),
    ("bad_certificate (not valid for name", Fault::WrongName),
    ("unable to get", Fault::UnknownAuthority),
    ("unable to verify the first certificate", Fault::UnknownAuthority),
    ("self-signed certificate", Fault::UnknownAuthority),
    ("unknown_ca (unknown issuer", Fault::UnknownAuthority),
    // A namesake of the CA, with another key.
    ("certificate signature failure", Fault::UnknownAuthority),
    ("decrypt_error (bad signature", Fault::UnknownAuthority),
];

impl Fault {
    /// By the reason in the library's words. Only its beginning counts: what follows quotes the
    /// certificate.
    pub fn of(reason: &str) -> Self {
        let found = NAMES.iter().find(|(name, _)| reason.starts_with(name));
        found.map_or(Self::Other, |(_, fault)| *fault)
    }

    /// The remedy, for a user who trusts these authorities.
    pub fn remedy(self, trust: &Trust) -> &'static str {
        match (self, trust) {
            (Self::Expired, _) => {
                "renew the server's certificate, or do not check it with --insecure"
            }
            (Self::NotYetValid, _) => {
                "check the clocks of both machines, or do not check the certificate with --insecure"
            }
            (Self::WrongName, _) => {
                "give a name that the certificate is for with --sni NAME, or correct the host"
            }
            (Self::UnknownAuthority, Trust::Pem(_)) => {
                "the file of --ca FILE is not its CA: give the certificate of the CA that issued it, \
                 or the server's own"
            }
            (Self::UnknownAuthority, _) => {
                "give its CA, or its own certificate, with --ca FILE, or do not check it with \
                 --insecure"
            }
            (Self::Other, _) => ANY,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::shown::assert_shown;

    const FAULTS: [Fault; 5] = [
        Fault::Expired,
        Fault::NotYetValid,
        Fault::WrongName,
        Fault::UnknownAuthority,
        Fault::Other,
    ];

    #[test]
    fn only_what_the_library_says_itself_counts() {
        assert_eq!(Fault::of("certificate has expired"), Fault::Expired);
        assert_eq!(Fault::of("decrypt_error (bad signature)"), Fault::UnknownAuthority);
        assert_eq!(Fault::of("certificate_expired (expired context): x"), Fault::Expired);
        let quoting =
            "bad_certificate (not valid for name context): certificate has expired.example";
        assert_eq!(Fault::of(quoting), Fault::WrongName);
        assert_eq!(Fault::of("bad_certificate (bad encoding): hostname mismatch"), Fault::Other);
    }

    #[test]
    fn no_two_faults_have_the_same_remedy_and_every_mode_that_connects_has_its_options() {
        for trust in [Trust::System, Trust::Pem(String::new())] {
            let remedies: std::collections::BTreeSet<_> =
                FAULTS.iter().map(|fault| fault.remedy(&trust)).collect();
            assert_eq!(remedies.len(), FAULTS.len(), "{remedies:?}");
            for mode in ["run", "hold", "probe"] {
                remedies.iter().for_each(|remedy| assert_shown(remedy, mode));
            }
        }
    }
}

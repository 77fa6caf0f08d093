//! Remedies for a server certificate that is not accepted.

use tlslab_contract::spec::Trust;
use tlslab_tls::rustls::certificate_error::{
    BAD_SIGNATURE, EXPIRED, NOT_YET_VALID, UNKNOWN_ISSUER, WRONG_NAME,
};

/// The remedy for an unknown fault.
pub const ANY: &str = "give its CA, or its own certificate, with --ca FILE and a name that it is \
                       for with --sni NAME, or do not check it with --insecure";

/// The fault of a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The certificate has expired.
    Expired,
    /// The certificate is not valid yet.
    NotYetValid,
    /// The certificate does not cover the name.
    WrongName,
    /// No trusted authority has issued the certificate.
    UnknownAuthority,
    /// Any other fault.
    Other,
}

/// How OpenSSL's words on these faults begin (X509_verify_cert_error_string(3)).
const BY_OPENSSL: [(&str, Fault); 8] = [
    ("certificate has expired", Fault::Expired),
    ("certificate is not yet valid", Fault::NotYetValid),
    ("hostname mismatch", Fault::WrongName),
    ("IP address mismatch", Fault::WrongName),
    ("unable to get", Fault::UnknownAuthority),
    ("unable to verify the first certificate", Fault::UnknownAuthority),
    ("self-signed certificate", Fault::UnknownAuthority),
    // A namesake of the CA, with another key.
    ("certificate signature failure", Fault::UnknownAuthority),
];

/// The phrases for the same faults where rustls has found them.
const BY_RUSTLS: [(&str, Fault); 5] = [
    (EXPIRED, Fault::Expired),
    (NOT_YET_VALID, Fault::NotYetValid),
    (WRONG_NAME, Fault::WrongName),
    (UNKNOWN_ISSUER, Fault::UnknownAuthority),
    (BAD_SIGNATURE, Fault::UnknownAuthority),
];

impl Fault {
    /// The fault for a reason in the library's words. Only the beginning counts: the rest quotes
    /// the certificate.
    pub fn of(reason: &str) -> Self {
        // What rustls has found begins with the name of an alert: `unknown_ca (no trusted CA ...)`.
        let (words, table) = match reason.split_once(" (") {
            Some((alert, phrase)) if !alert.contains(' ') => (phrase, &BY_RUSTLS[..]),
            _ => (reason, &BY_OPENSSL[..]),
        };
        let found = table.iter().find(|(start, _)| words.starts_with(start));
        found.map_or(Self::Other, |(_, fault)| *fault)
    }

    /// The remedy, for these trust anchors.
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
                "the file of --ca FILE is not its CA, or the server omits an intermediate \
                 certificate: give the CA that issued it, or the server's own certificate, or have \
                 the server send its whole chain"
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
        assert_eq!(Fault::of("self-signed certificate in chain (x)"), Fault::UnknownAuthority);
        for (phrase, fault) in BY_RUSTLS {
            assert_eq!(Fault::of(&format!("some_alert ({phrase})")), fault);
            assert_eq!(Fault::of(&format!("some_alert ({phrase}): quoted")), fault);
        }
        let quoting = format!("bad_certificate ({WRONG_NAME}): a.test is not among its names: ");
        for quoted in ["certificate has expired", EXPIRED, "hostname mismatch"] {
            assert_eq!(Fault::of(&format!("{quoting}{quoted}")), Fault::WrongName);
            let other = format!("bad_certificate (an extension is invalid): {quoted}");
            assert_eq!(Fault::of(&other), Fault::Other);
        }
        // What OpenSSL finds is not looked for among what rustls finds, nor the reverse.
        assert_eq!(Fault::of("bad_certificate (hostname mismatch)"), Fault::Other);
        assert_eq!(Fault::of(EXPIRED), Fault::Other);
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

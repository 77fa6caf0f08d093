//! The failure class and the reason of a rustls error.

use rustls::{AlertDescription, CertificateError, Error, InvalidMessage};

use super::certificate_error;
use super::variant_name::word;
use tlslab_wire::outcome::{Failure, alert_name};
use tlslab_wire::reason::Reason;

/// The class of a failure. `signed`: the server's signature was being verified or had been
/// verified.
pub fn failure(error: &Error, signed: bool) -> Failure {
    match error {
        Error::AlertReceived(alert) => Failure::Alert(u8::from(*alert)),
        Error::InvalidCertificate(CertificateError::BadSignature) if signed => Failure::Signature,
        Error::InvalidCertificate(_) | Error::NoCertificatesPresented => Failure::Certificate,
        _ => Failure::TlsProtocol,
    }
}

/// The reason of a failure. Values that the server chose (names, numbers) appear only in its
/// `words`. `whole`: whether the record with the error was authentic, if known.
pub fn reason(error: &Error, whole: Option<bool>) -> Reason {
    let name = match error {
        Error::InvalidCertificate(why) => {
            let alert = alert_words(AlertDescription::from(why.clone()));
            let reason = Reason::alerted(&alert, &certificate_error::phrase(why));
            return reason.with(certificate_error::details(why));
        }
        Error::DecryptError => match whole {
            Some(true) => "decrypt_error (a Finished that does not fit)".into(),
            Some(false) => "bad_record_mac (a record that is not authentic)".into(),
            None => "bad_record_mac or decrypt_error".into(),
        },
        Error::PeerSentOversizedRecord => "record_overflow".into(),
        Error::InvalidMessage(message) => {
            format!("{} ({})", alert_words((*message).into()), word(message))
        }
        Error::InappropriateMessage { .. } | Error::InappropriateHandshakeMessage { .. } => {
            "unexpected_message".into()
        }
        Error::PeerMisbehaved(how) => format!("peer misbehaved ({})", word(how)),
        Error::PeerIncompatible(how) => format!("peer incompatible ({})", word(how)),
        Error::AlertReceived(alert) => format!("received {}", alert_words(*alert)),
        Error::General(words) => words.clone(),
        other => word(other),
    };
    let words = match error {
        Error::InvalidMessage(message) => details(message),
        // The library's message is the debug name of what the reason says in words.
        Error::PeerMisbehaved(_) | Error::PeerIncompatible(_) | Error::AlertReceived(_) => {
            String::new()
        }
        _ => error.to_string(),
    };
    let says_more = !name.contains(&words);
    Reason::named(name).with(if says_more { words } else { String::new() })
}

/// Details of a message that cannot be decoded; empty if there are none.
fn details(message: &InvalidMessage) -> String {
    use InvalidMessage as M;
    match message {
        M::MissingData(part) | M::TrailingData(part) | M::IllegalEmptyList(part) => {
            format!("in {part}")
        }
        M::UnexpectedMessage(kind) => (*kind).to_owned(),
        M::DuplicateExtension(number) => format!("extension {number}"),
        _ => String::new(),
    }
}

fn alert_words(alert: AlertDescription) -> String {
    let number = u8::from(alert);
    alert_name(number).map_or_else(|| format!("alert {number}"), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::PeerMisbehaved;
    use rustls::pki_types::UnixTime;
    use std::time::Duration;

    #[test]
    fn reasons_have_the_names_of_alerts_and_nothing_that_a_server_made_up() {
        for (error, whole, name) in [
            (Error::DecryptError, Some(false), "bad_record_mac (a record that is not authentic)"),
            (Error::DecryptError, Some(true), "decrypt_error (a Finished that does not fit)"),
            (Error::PeerSentOversizedRecord, None, "record_overflow"),
            (InvalidMessage::MessageTooShort.into(), None, "decode_error (message too short)"),
            (
                PeerMisbehaved::SelectedUnofferedCipherSuite.into(),
                None,
                "peer misbehaved (selected unoffered cipher suite)",
            ),
            (
                CertificateError::ExpiredContext {
                    time: UnixTime::since_unix_epoch(Duration::from_secs(20)),
                    not_after: UnixTime::since_unix_epoch(Duration::from_secs(10)),
                }
                .into(),
                None,
                "certificate_expired (a certificate has expired)",
            ),
        ] {
            assert_eq!(reason(&error, whole).name, name);
        }
        let held = InvalidMessage::UnexpectedMessage("held").into();
        let said = reason(&held, None).in_one_line();
        assert_eq!(said, "decode_error (unexpected message): held");
        let twice = InvalidMessage::DuplicateExtension(51).into();
        let said = reason(&twice, None).in_one_line();
        assert_eq!(said, "illegal_parameter (duplicate extension): extension 51");
        let refused = Error::AlertReceived(AlertDescription::HandshakeFailure);
        assert_eq!(reason(&refused, None).in_one_line(), "received handshake_failure");
    }
}

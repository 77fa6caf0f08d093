//! Converts OpenSSL's errors into a failure class and a message.

use ::openssl::error::{Error, ErrorStack};
use ::openssl::ssl;
use ::openssl::x509::X509VerifyResult;

use tlslab_wire::outcome::{Failure, Step};

/// `ERR_LIB_SSL` of openssl/err.h.
const SSL_LIBRARY: i32 = 20;

/// `SSL_R_BAD_SIGNATURE` of openssl/sslerr.h.
const BAD_SIGNATURE: i32 = 123;

/// `SSL_R_CERTIFICATE_VERIFY_FAILED` of openssl/sslerr.h.
const CERTIFICATE_VERIFY_FAILED: i32 = 134;

/// OpenSSL reports a received alert as this reason plus the alert's number
/// (`SSL_AD_REASON_OFFSET`).
const ALERT_OFFSET: i32 = 1000;

/// The class of an error that ended a session in a step, and the library's message. `verified` is
/// the result of the certificate verification.
pub fn classify(error: &ssl::Error, verified: X509VerifyResult, step: Step) -> (Failure, String) {
    if let Some(errors) = error.ssl_error() {
        return of_library(errors, verified);
    }
    // The buffer between session and socket has no errors of its own: the stream has ended.
    (Failure::Closed(step), "the peer closed the connection".to_owned())
}

fn of_library(errors: &ErrorStack, verified: X509VerifyResult) -> (Failure, String) {
    let errors = errors.errors();
    let Some(error) = errors.iter().find(|e| e.library_code() == SSL_LIBRARY) else {
        return (Failure::TlsProtocol, errors.first().map(words).unwrap_or_default());
    };
    match error.reason_code() {
        CERTIFICATE_VERIFY_FAILED if verified != X509VerifyResult::OK => {
            (Failure::Certificate, verified.error_string().to_owned())
        }
        CERTIFICATE_VERIFY_FAILED => (Failure::Certificate, words(error)),
        BAD_SIGNATURE => (Failure::Signature, words(error)),
        reason => match u8::try_from(reason - ALERT_OFFSET) {
            Ok(alert) if is_received(error) => (Failure::Alert(alert), words(error)),
            _ => (Failure::TlsProtocol, words(error)),
        },
    }
}

/// True if an alert was received. Some errors of the library itself have the names of alerts.
fn is_received(error: &Error) -> bool {
    error.data().is_some_and(|data| data.contains("SSL alert number"))
}

fn words(error: &Error) -> String {
    error.reason().map_or_else(|| error.to_string(), str::to_owned)
}

/// True if the library's message adds to the failure's class.
pub fn says_more(failure: Failure) -> bool {
    matches!(failure, Failure::TlsProtocol | Failure::Certificate | Failure::Signature)
}

/// The message of the first error in an error stack.
pub fn first_words(errors: &ErrorStack) -> String {
    errors.errors().first().map_or_else(|| "unknown error".to_owned(), words)
}

//! Whether a server is who it should be: its certificates and its signature (RFC 8446, sections 4.4.2
//! and 4.4.3), judged by the back end's verifier as those of a connection of rustls are.

use std::borrow::Cow;
use std::sync::Arc;

use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::hash;
use rustls::internal::msgs::codec::Codec;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, Error};

use super::hello::for_each_extension;
use crate::names::SignatureScheme;
use crate::outcome::Failure;
use crate::tls::rustls::client_hello::split;
use crate::tls::rustls::failure::failure;
use crate::tls::rustls::signed_with;
use crate::tls::rustls::verifier::Verifier;

/// What a server signs stands behind so many spaces and this, and is a hash (section 4.4.3).
const SPACES: [u8; 64] = [b' '; 64];
const CONTEXT: &[u8] = b"TLS 1.3, server CertificateVerify\0";

/// The extension in which a certificate's state is stapled, the only one that is asked for (section
/// 4.4.2.1).
const STATUS_REQUEST: u16 = 5;

/// The only type of such a state (RFC 6066, section 8).
const OCSP: u8 = 1;

/// Judges the servers of one name.
pub struct Judge {
    verifier: Arc<Verifier>,
    name: ServerName<'static>,
}

/// Why a server is refused: the class, and words.
#[derive(Debug, PartialEq, Eq)]
pub struct Refusal {
    pub failure: Failure,
    pub words: Cow<'static, str>,
}

impl Judge {
    pub fn new(verifier: Arc<Verifier>, name: ServerName<'static>) -> Self {
        Self { verifier, name }
    }

    /// Judges by the bodies of Certificate and CertificateVerify, the latter as [`scheme`] takes it,
    /// and by the hash of the transcript up to the former.
    pub fn judge(
        &self,
        certificate: &[u8],
        proof: &[u8],
        transcript: &hash::Output,
    ) -> Result<(), Refusal> {
        let mut chain = Vec::new();
        for_each_certificate(certificate, |one| chain.push(CertificateDer::from(one)))
            .map_err(malformed)?;
        let [server, others @ ..] = &chain[..] else {
            return Err(refused(&Error::NoCertificatesPresented, false));
        };
        let signed = DigitallySignedStruct::read_bytes(proof)
            .map_err(|_| malformed("a CertificateVerify that cannot be read"))?;
        // What is stapled is not looked at, here as there.
        self.verifier
            .verify_server_cert(server, others, &self.name, &[], UnixTime::now())
            .map_err(|error| refused(&error, false))?;
        let message = [&SPACES, CONTEXT, transcript.as_ref()].concat();
        let verified = self.verifier.verify_tls13_signature(&message, server, &signed);
        // The note is for sessions of rustls, which see the scheme nowhere else.
        signed_with::take();
        verified.map(|_| ()).map_err(|error| refused(&error, true))
    }
}

fn malformed(words: &'static str) -> Refusal {
    Refusal { failure: Failure::TlsProtocol, words: words.into() }
}

fn refused(error: &Error, signed: bool) -> Refusal {
    Refusal { failure: failure(error, signed), words: error.to_string().into() }
}

/// The scheme of the signature in a CertificateVerify's body; an error in words if it is none.
pub fn scheme(proof: &[u8]) -> Result<SignatureScheme, &'static str> {
    let wrong = "a CertificateVerify whose lengths are wrong";
    let (scheme, signature) = proof.split_first_chunk().ok_or(wrong)?;
    let is_whole = split(signature, 2).is_some_and(|(_, rest)| rest.is_empty());
    let scheme = SignatureScheme::from_code_point(u16::from_be_bytes(*scheme));
    is_whole.then_some(scheme).ok_or(wrong)
}

/// Reads the certificates of a Certificate's body, the server's own first; an error in words if it is
/// none.
pub fn for_each_certificate<'m>(
    body: &'m [u8],
    mut take: impl FnMut(&'m [u8]),
) -> Result<(), &'static str> {
    let wrong = "a Certificate whose lengths are wrong";
    // In front of the list is the context, which is empty in a handshake.
    let (context, list) = split(body, 1).ok_or(wrong)?;
    let (mut list, rest) = split(list, 3).ok_or(wrong)?;
    if !context.is_empty() || !rest.is_empty() {
        return Err(wrong);
    }
    while !list.is_empty() {
        let (certificate, rest) = split(list, 3).ok_or(wrong)?;
        let (extensions, rest) = split(rest, 2).ok_or(wrong)?;
        let mut statuses = 0;
        for_each_extension(extensions, |number, content| {
            statuses += 1;
            number == STATUS_REQUEST && statuses == 1 && is_status(content)
        })?;
        take(certificate);
        list = rest;
    }
    Ok(())
}

/// Whether this is a certificate's state, which is not looked into.
fn is_status(content: &[u8]) -> bool {
    let Some((&OCSP, response)) = content.split_first() else { return false };
    split(response, 3).is_some_and(|(response, rest)| !response.is_empty() && rest.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_is_read_as_it_is_built() {
        let status = [0, 5, 0, 5, 1, 0, 0, 1, 9];
        let entry = |der: &[u8], extensions: &[u8]| {
            let (der_length, length) = (der.len() as u8, extensions.len() as u8);
            [&[0, 0, der_length], der, &[0, length], extensions].concat()
        };
        let list = |entries: &[Vec<u8>]| {
            let entries = entries.concat();
            [&[0, 0, 0, entries.len() as u8], &entries[..]].concat()
        };
        let read = |body: &[u8]| {
            let mut chain = Vec::new();
            for_each_certificate(body, |one| chain.push(one.to_vec())).map(|()| chain)
        };
        let good = list(&[entry(&[1, 2], &status), entry(&[3], &[])]);
        assert_eq!(read(&good), Ok(vec![vec![1, 2], vec![3]]));
        assert_eq!(read(&[0, 0, 0, 0]), Ok(vec![]));
        for length in 0..good.len() {
            assert!(read(&good[..length]).is_err(), "{length} bytes");
        }
        for wrong in [
            [&good[..], &[0]].concat(),
            [&[1, 7], &good[1..]].concat(),
            list(&[entry(&[1], &[0, 18, 0, 0])]),
            list(&[entry(&[1], &[status, status].concat())]),
            list(&[entry(&[1], &status[..6])]),
            // Of another type, empty, and with something behind it.
            list(&[entry(&[1], &[0, 5, 0, 5, 2, 0, 0, 1, 9])]),
            list(&[entry(&[1], &[0, 5, 0, 4, 1, 0, 0, 0])]),
            list(&[entry(&[1], &[0, 5, 0, 6, 1, 0, 0, 1, 9, 9])]),
        ] {
            assert!(read(&wrong).is_err(), "{wrong:?}");
        }
    }
}

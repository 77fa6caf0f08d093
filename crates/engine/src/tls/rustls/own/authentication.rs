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
use crate::outcome::Failure;
use crate::tls::rustls::client_hello::split;
use crate::tls::rustls::failure::failure;
use crate::tls::rustls::signed_with;
use crate::tls::rustls::verifier::Verifier;

/// What a server signs stands behind so many spaces and this, and is a hash (section 4.4.3).
const SPACES: [u8; 64] = [b' '; 64];
const CONTEXT: &[u8] = b"TLS 1.3, server CertificateVerify\0";

/// Scheme and length, in front of a signature (section 4.4.3).
const BEFORE_SIGNATURE: usize = 2 + 2;

/// The extension in which a certificate's state is stapled, the only one that is asked for (section
/// 4.4.2.1).
const STATUS_REQUEST: u16 = 5;

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

    /// Judges by the bodies of Certificate and CertificateVerify, and by the hash of the transcript
    /// up to the former.
    pub fn judge(
        &self,
        certificate: &[u8],
        proof: &[u8],
        transcript: &hash::Output,
    ) -> Result<(), Refusal> {
        let chain = chain(certificate).map_err(malformed)?;
        let [server, others @ ..] = &chain[..] else {
            return Err(refused(&Error::NoCertificatesPresented, false));
        };
        let signed = DigitallySignedStruct::read_bytes(proof)
            .ok()
            .filter(|signed| proof.len() == BEFORE_SIGNATURE + signed.signature().len())
            .ok_or_else(|| malformed("a CertificateVerify whose lengths are wrong"))?;
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

/// The certificates of a Certificate's body, the server's own first; an error in words if it is none.
fn chain(body: &[u8]) -> Result<Vec<CertificateDer<'_>>, &'static str> {
    let wrong = "a Certificate whose lengths are wrong";
    // In front of the list is the context, which is empty in a handshake.
    let (context, list) = split(body, 1).ok_or(wrong)?;
    let (mut list, rest) = split(list, 3).ok_or(wrong)?;
    if !context.is_empty() || !rest.is_empty() {
        return Err(wrong);
    }
    let mut chain = Vec::new();
    while !list.is_empty() {
        let (certificate, rest) = split(list, 3).ok_or(wrong)?;
        let (extensions, rest) = split(rest, 2).ok_or(wrong)?;
        let mut statuses = 0;
        for_each_extension(extensions, |number, _| {
            statuses += 1;
            number == STATUS_REQUEST && statuses == 1
        })?;
        chain.push(CertificateDer::from(certificate));
        list = rest;
    }
    Ok(chain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_is_read_as_it_is_built() {
        let status = [0, 5, 0, 3, 9, 9, 9];
        let entry = |der: &[u8], extensions: &[u8]| {
            let (der_length, length) = (der.len() as u8, extensions.len() as u8);
            [&[0, 0, der_length], der, &[0, length], extensions].concat()
        };
        let list = |entries: &[Vec<u8>]| {
            let entries = entries.concat();
            [&[0, 0, 0, entries.len() as u8], &entries[..]].concat()
        };
        let good = list(&[entry(&[1, 2], &status), entry(&[3], &[])]);
        let ders: Vec<_> = chain(&good).unwrap().iter().map(|der| der.to_vec()).collect();
        assert_eq!(ders, [vec![1, 2], vec![3]]);
        assert_eq!(chain(&[0, 0, 0, 0]), Ok(vec![]));
        for length in 0..good.len() {
            assert!(chain(&good[..length]).is_err(), "{length} bytes");
        }
        for wrong in [
            [&good[..], &[0]].concat(),
            [&[1, 7], &good[1..]].concat(),
            list(&[entry(&[1], &[0, 18, 0, 0])]),
            list(&[entry(&[1], &[status, status].concat())]),
            list(&[entry(&[1], &status[..6])]),
        ] {
            assert!(chain(&wrong).is_err(), "{wrong:?}");
        }
    }
}

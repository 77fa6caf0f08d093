//! Protections of the handshake, read from ServerHellos, and record compression (RFC 3749).

use super::asker::Asker;
use super::connection::Stop;
use super::{Compression, Protections, certificate_compression};
use tls_parser::TlsCipherEncMode;
use tlslab_wire::tls::answer::Refusal;
use tlslab_wire::tls::client_hello::{COMPRESSIONS, ClientHello, extension};
use tlslab_wire::tls::registry::{self, FALLBACK_SCSV, Protocol};

/// The alert of RFC 7507.
const INAPPROPRIATE_FALLBACK: &str = "alert_inappropriate_fallback";

pub fn find_protections(asker: &mut Asker) -> Result<Protections, Stop> {
    let (fallback_scsv, fallback_refusal) = refuses_fallback(asker)?;
    let mut found = Protections {
        fallback_scsv,
        fallback_refusal,
        hello_retry_request: asks_again(asker)?,
        ..Protections::default()
    };
    let Some(hello) = asker.legacy_hello() else { return Ok(found) };
    asker.about(format!("extended master secret in {}", hello.versions[0]));
    if hello.versions == [Protocol::Ssl3] {
        return Ok(found);
    }
    if let Ok(flight) = asker.ask(&hello)? {
        let master_secret = flight.extension(extension::EXTENDED_MASTER_SECRET);
        found.extended_master_secret = Some(master_secret.is_some());
    }
    let cbc = |suite: &u16| {
        registry::suite(*suite).is_some_and(|suite| suite.enc_mode == TlsCipherEncMode::Cbc)
    };
    let suites: Vec<u16> = hello.suites.iter().copied().filter(cbc).collect();
    asker.about(format!("encrypt-then-MAC in {}", hello.versions[0]));
    if !suites.is_empty()
        && let Ok(flight) = asker.ask(&ClientHello { suites, ..hello })?
    {
        found.encrypt_then_mac = Some(flight.extension(extension::ENCRYPT_THEN_MAC).is_some());
    }
    Ok(found)
}

/// Finds whether the server refuses a fallback to its second newest version (`None` if it has only
/// one), and the refusal, if it is not the alert defined for that.
fn refuses_fallback(asker: &mut Asker) -> Result<(Option<bool>, Option<Refusal>), Stop> {
    let older =
        asker.versions().iter().copied().filter(|version| *version != Protocol::Ssl2).nth(1);
    let Some(version) = older else { return Ok((None, None)) };
    asker.about(format!("fallback SCSV in {version}"));
    let mut hello = asker.short_hello(version);
    let without = hello.clone();
    hello.suites.push(FALLBACK_SCSV);
    Ok(match asker.ask(&hello)? {
        Ok(_) => (Some(false), None),
        Err(refusal) if refusal.is_silence() => (None, None),
        Err(refusal) if refusal.class == INAPPROPRIATE_FALLBACK => (Some(true), None),
        // Checks that the server refuses the fallback, and not the version.
        Err(refusal) => match asker.ask(&without)? {
            Ok(_) => (Some(false), Some(refusal)),
            Err(also) => {
                asker.doubt(also)?;
                (None, None)
            }
        },
    })
}

/// Sends no key share, which the server must answer by a HelloRetryRequest.
fn asks_again(asker: &mut Asker) -> Result<Option<bool>, Stop> {
    if !asker.has(Protocol::Tls13) {
        return Ok(None);
    }
    asker.about(format!("HelloRetryRequest of {}", Protocol::Tls13));
    let hello = ClientHello { shares: Vec::new(), ..asker.hello(Protocol::Tls13) };
    match asker.ask(&hello)? {
        Ok(flight) => Ok(Some(flight.retry)),
        Err(refusal) if refusal.is_silence() => Ok(None),
        // Checks that the server refuses to ask again, and not the version.
        Err(_) => match asker.ask(&asker.hello(Protocol::Tls13))? {
            Ok(_) => Ok(Some(false)),
            Err(also) => asker.doubt(also).map(|()| None),
        },
    }
}

/// True if the ServerHello has the extension of RFC 5746.
pub fn indicates_renegotiation(asker: &mut Asker) -> Result<Option<bool>, Stop> {
    let Some(hello) = asker.legacy_hello() else { return Ok(None) };
    let flight = asker.ask(&hello)?;
    Ok(flight.ok().map(|flight| flight.extension(extension::RENEGOTIATION_INFO).is_some()))
}

pub fn find_compression(asker: &mut Asker) -> Result<Compression, Stop> {
    Ok(Compression {
        records: compresses_records(asker)?,
        certificates: certificate_compression::compresses_certificates(asker)?,
    })
}

fn compresses_records(asker: &mut Asker) -> Result<Option<Vec<String>>, Stop> {
    let Some(hello) = asker.legacy_hello() else { return Ok(None) };
    let (mut methods, mut silent) = (Vec::new(), false);
    for (number, name) in COMPRESSIONS {
        let hello = ClientHello { compression: vec![number], ..hello.clone() };
        asker.about(format!("{name} compression of records in {}", hello.versions[0]));
        match asker.ask(&hello)? {
            Ok(flight) if flight.compression == number => methods.push(name.to_owned()),
            Err(refusal) if refusal.is_silence() => silent = true,
            _ => {}
        }
    }
    Ok(Compression::known(methods, silent))
}

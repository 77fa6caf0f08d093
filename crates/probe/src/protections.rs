//! Protections of the handshake, read off ServerHellos; and what RFC 3749 left of compression.

use super::connection::Stop;
use super::{Compression, Prober, Protections};
use tls_parser::TlsCipherEncMode;
use tlslab_wire::tls::answer::Refusal;
use tlslab_wire::tls::client_hello::{COMPRESSIONS, ClientHello, extension};
use tlslab_wire::tls::registry::{self, FALLBACK_SCSV, Protocol};

/// The alert of RFC 7507.
const INAPPROPRIATE_FALLBACK: &str = "alert_inappropriate_fallback";

impl Prober {
    pub(super) fn find_protections(&mut self) -> Result<Protections, Stop> {
        let (fallback_scsv, fallback_refusal) = self.refuses_fallback()?;
        let mut found = Protections {
            fallback_scsv,
            fallback_refusal,
            hello_retry_request: self.asks_again()?,
            ..Protections::default()
        };
        let Some(hello) = self.legacy_hello() else { return Ok(found) };
        if hello.versions == [Protocol::Ssl3] {
            return Ok(found);
        }
        if let Ok(flight) = self.ask(&hello)? {
            let master_secret = flight.extension(extension::EXTENDED_MASTER_SECRET);
            found.extended_master_secret = Some(master_secret.is_some());
        }
        let cbc = |suite: &u16| {
            registry::suite(*suite).is_some_and(|suite| suite.enc_mode == TlsCipherEncMode::Cbc)
        };
        let suites: Vec<u16> = hello.suites.iter().copied().filter(cbc).collect();
        if !suites.is_empty()
            && let Ok(flight) = self.ask(&ClientHello { suites, ..hello })?
        {
            found.encrypt_then_mac = Some(flight.extension(extension::ENCRYPT_THEN_MAC).is_some());
        }
        Ok(found)
    }

    /// Offers its second newest version as if by falling back; `None` when it has only one. Beside that:
    /// how it refuses, if it does so by anything but the alert that is meant for it.
    fn refuses_fallback(&mut self) -> Result<(Option<bool>, Option<Refusal>), Stop> {
        let older =
            self.versions.iter().copied().filter(|version| *version != Protocol::Ssl2).nth(1);
        let Some(version) = older else { return Ok((None, None)) };
        let mut hello = self.hello(version);
        if Some(version) == self.newest_legacy() && !self.legacy_suites.is_empty() {
            hello.suites.clone_from(&self.legacy_suites);
        }
        hello.suites.truncate(self.suites_at_once);
        let without = hello.clone();
        hello.suites.push(FALLBACK_SCSV);
        Ok(match self.ask(&hello)? {
            Ok(_) => (Some(false), None),
            Err(refusal) if refusal.class == INAPPROPRIATE_FALLBACK => (Some(true), None),
            // Is it the fallback that it refuses?
            Err(refusal) => (Some(false), self.ask(&without)?.is_ok().then_some(refusal)),
        })
    }

    /// Sends no key share at all.
    fn asks_again(&mut self) -> Result<Option<bool>, Stop> {
        if !self.has(Protocol::Tls13) {
            return Ok(None);
        }
        let hello = ClientHello { shares: Vec::new(), ..self.hello(Protocol::Tls13) };
        Ok(Some(self.ask(&hello)?.is_ok_and(|flight| flight.retry)))
    }

    /// Whether a ServerHello has the extension of RFC 5746.
    pub(super) fn indicates_renegotiation(&mut self) -> Result<Option<bool>, Stop> {
        let Some(hello) = self.legacy_hello() else { return Ok(None) };
        let flight = self.ask(&hello)?;
        Ok(flight.ok().map(|flight| flight.extension(extension::RENEGOTIATION_INFO).is_some()))
    }

    pub(super) fn find_compression(&mut self) -> Result<Compression, Stop> {
        Ok(Compression {
            records: self.compresses_records()?,
            certificates: self.compresses_certificates()?,
        })
    }

    fn compresses_records(&mut self) -> Result<Option<Vec<String>>, Stop> {
        let Some(hello) = self.legacy_hello() else { return Ok(None) };
        let mut methods = Vec::new();
        for (number, name) in COMPRESSIONS {
            let hello = ClientHello { compression: vec![number], ..hello.clone() };
            if self.ask(&hello)?.is_ok_and(|flight| flight.compression == number) {
                methods.push(name.to_owned());
            }
        }
        Ok(Some(methods))
    }
}

//! Which versions the server has; and whether it speaks TLS at all.

use super::random::random;
use super::record::VersionFound;
use super::{End, Prober};
use crate::connection::Stop;
use std::io::{Read as _, Write as _};
use tlslab_wire::tls::answer::Refusal;
use tlslab_wire::tls::client_hello;
use tlslab_wire::tls::registry::Protocol;

/// Where a server takes no long list of suites, N are offered at once.
const FEW_SUITES: usize = 64;

/// N silent answers in a row are enough to know that no others will come.
const PATIENCE: usize = 2;

impl Prober {
    /// Finds the versions, newest first. A server that has nothing to say in TLS ends the probe.
    pub(super) fn find_versions(&mut self) -> Result<Vec<VersionFound>, End> {
        let mut found = self.find_with_hellos(PATIENCE)?;
        let none = |found: &[VersionFound]| !found.iter().any(|version| version.accepted);
        let tls = |found: &[VersionFound]| {
            found.iter().filter_map(|v| v.refusal.as_ref()).any(|refusal| refusal.in_tls)
        };
        if none(&found) && !found[0].refusal.as_ref().is_some_and(Refusal::is_silence) {
            // An old server may not know this many suites, or a hello of this length.
            self.suites_at_once = FEW_SUITES;
            let again = self.find_with_hellos(PATIENCE)?;
            if !none(&again) {
                found = again;
            }
        }
        let ssl2 = if found.iter().any(silent) {
            VersionFound {
                version: Protocol::Ssl2,
                accepted: false,
                refusal: Some(Refusal::silence()),
            }
        } else {
            self.find_ssl2()?
        };
        found.push(ssl2);
        if none(&found) && !tls(&found) {
            let refusal = found.swap_remove(0).refusal;
            return Err(End::NoTls(refusal.unwrap_or_else(Refusal::silence)));
        }
        self.versions = found.iter().filter(|v| v.accepted).map(|v| v.version).collect();
        Ok(found)
    }

    fn find_with_hellos(&mut self, patience: usize) -> Result<Vec<VersionFound>, Stop> {
        let mut found: Vec<VersionFound> = Vec::new();
        for version in Protocol::NEWEST_FIRST {
            let given_up = found.len() >= patience && found.iter().all(silent);
            let refusal = if given_up { Some(Refusal::silence()) } else { self.refuses(version)? };
            found.push(VersionFound { version, accepted: refusal.is_none(), refusal });
        }
        Ok(found)
    }

    /// How the server refuses a version; `None` when it has it.
    fn refuses(&mut self, version: Protocol) -> Result<Option<Refusal>, Stop> {
        let whole = self.hello(version);
        let mut last = None;
        for suites in whole.suites.chunks(self.suites_at_once) {
            let hello = client_hello::ClientHello { suites: suites.to_vec(), ..whole.clone() };
            match self.ask(&hello)? {
                Ok(_) => return Ok(None),
                Err(refusal) => last = Some(refusal),
            }
        }
        Ok(last)
    }

    /// A server of SSL 2.0 answers with a SERVER-HELLO behind a header of two bytes.
    fn find_ssl2(&mut self) -> Result<VersionFound, Stop> {
        const SERVER_HELLO: u8 = 4;
        const BEGIN: usize = 7;
        const ALERT: u8 = 21;
        const FATAL: u8 = 2;
        let mut line = self.connector.dial()?;
        let mut begin = [0; BEGIN];
        let read = line
            .write_all(&client_hello::ssl2(random()))
            .and_then(|()| line.read_exact(&mut begin));
        let refusal = match read {
            Err(error) => Some(super::connection::refusal(&error)),
            // Header, type, session ID hit, certificate type, version.
            Ok(()) if begin[0] & 0x80 != 0 && begin[2] == SERVER_HELLO && begin[5..] == [0, 2] => {
                None
            }
            Ok(()) if begin[..2] == [ALERT, 3] && begin[5] == FATAL => {
                Some(Refusal::alert(begin[6]))
            }
            Ok(()) => Some(Refusal::not_tls("answers with what is no SSL 2.0")),
        };
        Ok(VersionFound { version: Protocol::Ssl2, accepted: refusal.is_none(), refusal })
    }
}

fn silent(found: &VersionFound) -> bool {
    found.refusal.as_ref().is_some_and(Refusal::is_silence)
}

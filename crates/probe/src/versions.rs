//! Finds the server's versions, and whether it speaks TLS at all.

use super::End;
use super::asker::Asker;
use super::random::random;
use super::record::VersionFound;
use crate::connection::Stop;
use std::io::{Read as _, Write as _};
use tlslab_wire::tls::answer::Refusal;
use tlslab_wire::tls::client_hello;
use tlslab_wire::tls::registry::Protocol;

/// The number of suites per offer for a server that rejects long lists.
const FEW_SUITES: usize = 64;

/// The number of consecutive silent answers after which no other is expected.
const PATIENCE: usize = 2;

/// Finds the versions, newest first. If the server does not answer in TLS, the probe ends.
pub fn find_versions(asker: &mut Asker) -> Result<Vec<VersionFound>, End> {
    let mut found = find_with_hellos(asker, PATIENCE)?;
    let none = |found: &[VersionFound]| !found.iter().any(|version| version.accepted);
    let tls = |found: &[VersionFound]| {
        found.iter().filter_map(|v| v.refusal.as_ref()).any(|refusal| refusal.in_tls)
    };
    if none(&found) && !found[0].refusal.as_ref().is_some_and(Refusal::is_silence) {
        // An old server may reject a hello with this many suites, or of this length.
        asker.limit_suites(FEW_SUITES);
        let again = find_with_hellos(asker, PATIENCE)?;
        if !none(&again) {
            found = again;
        }
    }
    let ssl2 = if found.iter().any(silent) {
        VersionFound { version: Protocol::Ssl2, accepted: false, refusal: Some(Refusal::silence()) }
    } else {
        find_ssl2(asker)?
    };
    found.push(ssl2);
    if none(&found) && !tls(&found) {
        let refusal = found.swap_remove(0).refusal;
        return Err(End::NoTls(refusal.unwrap_or_else(Refusal::silence)));
    }
    asker.learn_versions(found.iter().filter(|v| v.accepted).map(|v| v.version).collect());
    Ok(found)
}

fn find_with_hellos(asker: &mut Asker, patience: usize) -> Result<Vec<VersionFound>, Stop> {
    let mut found: Vec<VersionFound> = Vec::new();
    for version in Protocol::NEWEST_FIRST {
        let given_up = found.len() >= patience && found.iter().all(silent);
        let refusal = if given_up { Some(Refusal::silence()) } else { refuses(asker, version)? };
        found.push(VersionFound { version, accepted: refusal.is_none(), refusal });
    }
    Ok(found)
}

/// The refusal of a version; `None` if the server accepts the version.
fn refuses(asker: &mut Asker, version: Protocol) -> Result<Option<Refusal>, Stop> {
    let whole = asker.hello(version);
    let mut last = None;
    for suites in whole.suites.chunks(asker.suites_at_once()) {
        let hello = client_hello::ClientHello { suites: suites.to_vec(), ..whole.clone() };
        match asker.ask(&hello)? {
            Ok(_) => return Ok(None),
            Err(refusal) => last = Some(refusal),
        }
    }
    Ok(last)
}

/// An SSL 2.0 server answers with a SERVER-HELLO after a two-byte header.
fn find_ssl2(asker: &mut Asker) -> Result<VersionFound, Stop> {
    const SERVER_HELLO: u8 = 4;
    const HEAD: usize = 7;
    const ALERT: u8 = 21;
    const FATAL: u8 = 2;
    let mut stream = asker.connect()?;
    let mut head = [0; HEAD];
    let read =
        stream.write_all(&client_hello::ssl2(random())).and_then(|()| stream.read_exact(&mut head));
    let refusal = match read {
        Err(error) => Some(super::connection::refusal(&error)),
        // Header, type, session ID hit, certificate type, version.
        Ok(()) if head[0] & 0x80 != 0 && head[2] == SERVER_HELLO && head[5..] == [0, 2] => None,
        Ok(()) if head[..2] == [ALERT, 3] && head[5] == FATAL => Some(Refusal::alert(head[6])),
        Ok(()) => Some(Refusal::not_tls("answers with what is no SSL 2.0")),
    };
    Ok(VersionFound { version: Protocol::Ssl2, accepted: refusal.is_none(), refusal })
}

fn silent(found: &VersionFound) -> bool {
    found.refusal.as_ref().is_some_and(Refusal::is_silence)
}

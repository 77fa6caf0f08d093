//! Finds the server's versions, and whether it speaks TLS at all.

use super::End;
use super::asker::Asker;
use super::connection::{SEGMENT, refusal};
use super::random::random;
use super::record::{LargeHello, VersionFound, accepted};
use super::shares;
use crate::connection::Stop;
use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use tlslab_wire::names::Group;
use tlslab_wire::tls::answer::Refusal;
use tlslab_wire::tls::client_hello::{self, ClientHello};
use tlslab_wire::tls::registry::{self, Protocol};

/// The number of suites per offer for a server that rejects long lists.
const FEW_SUITES: usize = 64;

/// The number of consecutive silent answers after which no other is expected.
const PATIENCE: usize = 2;

/// How often the same offer of a version is repeated: by chance, each of two servers answers all of
/// these and the first one in 1 of 8 probes.
const AGAIN: usize = 3;

/// The answer to an offer that the server refuses.
const REFUSED: &str = "a refusal";

/// Finds the versions, newest first. If the server does not answer in TLS, the probe ends.
pub fn find_versions(asker: &mut Asker) -> Result<Vec<VersionFound>, End> {
    let mut found = find_with_hellos(asker, PATIENCE)?;
    let none = |found: &[VersionFound]| !found.iter().any(accepts);
    let tls = |found: &[VersionFound]| {
        found.iter().filter_map(|v| v.refusal.as_ref()).any(|refusal| refusal.in_tls)
    };
    if none(&found) && !found[0].refusal.as_ref().is_some_and(Refusal::is_silence) {
        // An old server may reject a hello with this many suites, or of this length.
        asker.limit_suites(FEW_SUITES);
        let again = find_with_hellos(asker, PATIENCE)?;
        if !none(&again) || found.iter().chain(&again).any(silent) {
            found = again;
        }
    }
    let ssl2 = if found.iter().any(silent) {
        VersionFound::not_asked(Protocol::Ssl2)
    } else {
        find_ssl2(asker)?
    };
    found.push(ssl2);
    if none(&found) && !tls(&found) {
        let refusal = found.swap_remove(0).refusal;
        return Err(End::NoTls(refusal.unwrap_or_else(Refusal::silence)));
    }
    asker.learn_versions(found.iter().filter(|v| accepts(v)).map(|v| v.version).collect());
    Ok(found)
}

fn find_with_hellos(asker: &mut Asker, patience: usize) -> Result<Vec<VersionFound>, Stop> {
    let mut found: Vec<VersionFound> = Vec::new();
    for version in Protocol::NEWEST_FIRST {
        let given_up = found.len() >= patience && found[..patience].iter().all(silent);
        found.push(if given_up {
            VersionFound::not_asked(version)
        } else {
            VersionFound::answered(version, refuses(asker, version)?)
        });
    }
    Ok(found)
}

/// The refusal of a version; `None` if the server accepts the version.
fn refuses(asker: &mut Asker, version: Protocol) -> Result<Option<Refusal>, Stop> {
    asker.about(version.to_string());
    asker.settle();
    let whole = asker.hello(version);
    let mut last: Option<Refusal> = None;
    for suites in whole.suites.chunks(asker.suites_at_once()) {
        let hello = ClientHello { suites: suites.to_vec(), ..whole.clone() };
        match asker.ask(&hello)? {
            Ok(_) => {
                asker.settle();
                return Ok(None);
            }
            Err(refusal) => last = last.filter(Refusal::is_silence).or(Some(refusal)),
        }
    }
    Ok(last)
}

/// Finds whether the server takes a ClientHello of more than one segment, as clients of a hybrid group
/// send it: `None` if it does not take the same one without that group, either. If it does not, the
/// complete handshakes of later questions do with one segment.
pub fn find_large_hello(asker: &mut Asker) -> Result<Option<LargeHello>, Stop> {
    let newest = asker.versions().first().copied();
    let Some(version @ (Protocol::Tls13 | Protocol::Tls12)) = newest else { return Ok(None) };
    let small = asker.short_hello(version);
    let hybrid = Group::X25519MlKem768.code_point();
    let Some(key) = shares::public_key(hybrid) else { return Ok(None) };
    let small = if version == Protocol::Tls13 {
        small
    } else {
        // A server without TLS 1.3 gets the ClientHello of a client that has it.
        let suites = [registry::suites_of(Protocol::Tls13), small.suites].concat();
        ClientHello { versions: vec![Protocol::Tls13, Protocol::Tls12], suites, ..small }
    };
    let shares = [&[(hybrid, key)][..], &small.shares].concat();
    let large = ClientHello { shares, ..small.clone() };
    let [small_bytes, bytes] = [&small, &large].map(|hello| hello.bytes(random).len());
    if small_bytes > SEGMENT {
        return Ok(None);
    }
    asker.about(format!("a ClientHello of {small_bytes} bytes"));
    if asker.ask(&small)?.is_err() {
        // The questions for versions have an answer.
        asker.settle();
        return Ok(None);
    }
    asker.about(format!("a ClientHello of {bytes} bytes"));
    let refusal = asker.ask(&large)?.err();
    if refusal.is_some() {
        asker.limit_to_one_segment();
    }
    Ok(Some(LargeHello { bytes, small_bytes, accepted: accepted(refusal.as_ref()), refusal }))
}

/// A hint if the server answers the same offer in different ways. One server does not; several with
/// different settings behind one address do, and their settings are mixed in what was found.
pub fn find_contradiction(
    asker: &mut Asker,
    found: &[VersionFound],
) -> Result<Option<String>, Stop> {
    for version in [Protocol::Tls13, Protocol::Tls12] {
        let known = found.iter().find(|each| each.version == version);
        let accepted = known.filter(|_| asker.suites_at_once() == usize::MAX);
        let accepted = accepted.and_then(|found| found.accepted);
        let mut answers = BTreeSet::new();
        asker.about(format!("{version} again"));
        let hello = asker.short_hello(version);
        for _ in 0..AGAIN {
            match asker.ask(&hello)? {
                Ok(flight) => answers.insert(registry::suite_name(flight.suite)),
                Err(refusal) if refusal.in_tls => answers.insert(REFUSED.to_owned()),
                Err(_) => {
                    asker.settle();
                    return Ok(None);
                }
            };
        }
        let is_refused = answers.contains(REFUSED);
        match accepted {
            Some(false) => drop(answers.insert(REFUSED.to_owned())),
            Some(true) if is_refused && answers.len() == 1 => {
                answers.insert("a ServerHello".to_owned());
            }
            _ => {}
        }
        if answers.len() > 1 {
            let answers: Vec<String> = answers.into_iter().collect();
            return Ok(Some(format!(
                "the server gave different answers to the same offer of {version}: {}. Several \
                 servers with different settings are behind this address, and what was found is a \
                 mixture: probe each of them alone",
                answers.join(", ")
            )));
        }
    }
    Ok(None)
}

/// An SSL 2.0 server answers with a SERVER-HELLO after a two-byte header.
fn find_ssl2(asker: &mut Asker) -> Result<VersionFound, Stop> {
    const SERVER_HELLO: u8 = 4;
    const HEAD: usize = 7;
    const ALERT: u8 = 21;
    const FATAL: u8 = 2;
    asker.about(Protocol::Ssl2.to_string());
    let answer = asker.twice(|mut stream| {
        let mut head = [0; HEAD];
        let hello = client_hello::ssl2(random());
        let read = stream.write_all(&hello).and_then(|()| stream.read_exact(&mut head));
        match read {
            Err(error) => Err(refusal(&error)),
            // Header, type, session ID hit, certificate type, version.
            Ok(()) if head[0] & 0x80 != 0 && head[2] == SERVER_HELLO && head[5..] == [0, 2] => {
                Ok(())
            }
            Ok(()) if head[..2] == [ALERT, 3] && head[5] == FATAL => Err(Refusal::alert(head[6])),
            Ok(()) => Err(Refusal::not_tls("answers with what is no SSL 2.0")),
        }
    })?;
    Ok(VersionFound::answered(Protocol::Ssl2, answer.err()))
}

fn accepts(found: &VersionFound) -> bool {
    found.accepted == Some(true)
}

fn silent(found: &VersionFound) -> bool {
    found.refusal.as_ref().is_some_and(Refusal::is_silence)
}

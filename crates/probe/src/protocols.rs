//! Finds the application protocols that the server selects by ALPN (RFC 7301).

use super::asker::Asker;
use super::connection::Stop;
use super::handshake::{self, Terms};
use super::{FailedProtocol, Protocols};
use tlslab_wire::tls::answer::Refusal;
use tlslab_wire::tls::registry::Protocol;

/// The protocols of the web (IANA "TLS ALPN Protocol IDs"), which are offered together.
const USUAL: [&str; 5] = ["h2", "http/1.1", "http/1.0", "http/0.9", "spdy/3"];

/// Other protocols, each offered alone: a server may give the mere presence of one a special
/// meaning, as certmagic (Caddy) uses `acme-tls/1` for a challenge (RFC 8737).
const UNUSUAL: [&str; 7] =
    ["acme-tls/1", "dot", "imap", "pop3", "ftp", "xmpp-client", "postgresql"];

/// The alert of a server that has none of the offered protocols (RFC 7301, section 3.2). Any other
/// end of a handshake says nothing about them.
const NONE_OF_THESE: &str = "alert_no_application_protocol";

/// The server's answer to a list of protocols.
enum Answer {
    /// The server selects the protocol with this index.
    Selected(usize),
    /// The server has none of the protocols: it says so, or continues without one.
    None(Option<Refusal>),
    /// The handshake ended in another way.
    Failed(Refusal),
}

/// Finds the application protocols of the server in its newest version; `None` if it has none.
pub fn find_protocols(asker: &mut Asker) -> Result<Option<Protocols>, Stop> {
    let mut found = Protocols::default();
    let Some(&version) = asker.versions().first() else { return Ok(None) };
    offer_protocols(asker, version, &USUAL, &mut found)?;
    for name in UNUSUAL {
        offer_protocols(asker, version, &[name], &mut found)?;
    }
    Ok(Some(found))
}

/// Offers protocols together, without those already selected, until the server selects none. If
/// such an offer breaks the handshake, the remaining ones are offered one by one.
fn offer_protocols(
    asker: &mut Asker,
    version: Protocol,
    names: &[&str],
    found: &mut Protocols,
) -> Result<(), Stop> {
    let mut left = names.to_vec();
    while !left.is_empty() {
        match offer_list(asker, version, &left)? {
            Answer::Selected(at) => found.accepted.push(left.remove(at).to_owned()),
            Answer::None(refusal) => {
                found.refusal = found.refusal.take().or(refusal);
                found.others_known = true;
                return Ok(());
            }
            Answer::Failed(refusal) => match left[..] {
                [name] => {
                    found.failed.push(FailedProtocol { name: name.to_owned(), refusal });
                    return Ok(());
                }
                _ => {
                    // Each protocol gets an answer of its own.
                    asker.settle();
                    return left
                        .iter()
                        .try_for_each(|name| offer_protocols(asker, version, &[name], found));
                }
            },
        }
    }
    Ok(())
}

fn offer_list(asker: &mut Asker, version: Protocol, names: &[&str]) -> Result<Answer, Stop> {
    asker.about(format!("ALPN {} in {version}", names.join(", ")));
    let terms = Terms::new(version).and_then(|terms| terms.protocols(names));
    Ok(match handshake::shake(asker, terms)? {
        Ok(stream) => {
            let chosen = stream.ssl().selected_alpn_protocol();
            let place = names.iter().position(|name| Some(name.as_bytes()) == chosen);
            place.map_or(Answer::None(None), Answer::Selected)
        }
        Err(refusal) if refusal.class == NONE_OF_THESE => Answer::None(Some(refusal)),
        Err(refusal) => Answer::Failed(refusal),
    })
}

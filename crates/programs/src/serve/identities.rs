//! The certificates and keys of the server, and the authorities of its clients.

use std::fs;
use std::path::{Path, PathBuf};

use tlslab_serve::{ClientAuth, Identity};
use tlslab_tls::self_signed::self_signed;
use tlslab_wire::names::KeyKind;

use super::arguments::{Arguments, Backend, ClientAuthName};
use super::failure::{COULD_NOT_RUN, Failure, ROOM, SYSTEM, USAGE};

/// Remedies that several failures share.
const PAIRS: &str = "give each certificate chain with its key, both in PEM: --cert FILE --key FILE";
const RESPONSES: &str = "give each certificate the OCSP response that its issuer signed, or none: \
                         --cert FILE --key FILE --staple FILE";

/// The certificates with their keys, from files or generated.
pub fn identities(arguments: &Arguments) -> Result<Vec<Identity>, Failure> {
    if arguments.cert.len() != arguments.key.len() {
        let (certificates, keys) = (arguments.cert.len(), arguments.key.len());
        let message = format!("{certificates} --cert, but {keys} --key");
        return Err(Failure::new(USAGE, message, PAIRS));
    }
    if !arguments.staple.is_empty() && arguments.staple.len() != arguments.cert.len() {
        let (certificates, responses) = (arguments.cert.len(), arguments.staple.len());
        let message = format!("{certificates} --cert, but {responses} --staple");
        return Err(Failure::new(USAGE, message, RESPONSES));
    }
    let needs_none = arguments.self_signed.is_empty() && arguments.ca_out.is_none();
    if arguments.cert.is_empty() && arguments.backend == Backend::None && needs_none {
        return Ok(Vec::new());
    }
    if arguments.cert.is_empty() {
        return made_up(&arguments.self_signed, arguments.ca_out.as_ref());
    }
    let pairs = arguments.cert.iter().zip(&arguments.key);
    let identity = |(place, (cert, key)): (usize, (&PathBuf, &PathBuf))| {
        let identity = Identity::from_pem(&read(cert)?, &read(key)?);
        let files = format!("{}, {}", cert.display(), key.display());
        let identity = identity.map_err(|e| Failure::new(USAGE, format!("{files}: {e}"), PAIRS))?;
        match arguments.staple.get(place) {
            Some(file) => stapled(identity, file),
            None => Ok(identity),
        }
    };
    pairs.enumerate().map(identity).collect()
}

/// The certificate with the OCSP response from this file.
fn stapled(identity: Identity, file: &PathBuf) -> Result<Identity, Failure> {
    let identity = identity.with_ocsp_response(read_bytes(file)?);
    identity.map_err(|e| Failure::new(USAGE, format!("{}: {e}", file.display()), RESPONSES))
}

/// How clients are authenticated, if at all.
pub fn client_auth(arguments: &Arguments) -> Result<Option<ClientAuth>, Failure> {
    let Some(path) = &arguments.client_ca else { return Ok(None) };
    let required = arguments.client_auth == ClientAuthName::Required;
    let auth = ClientAuth::from_pem(&read(path)?, required);
    let message = || format!("{}: no certificates in PEM form found", path.display());
    let remedy = "give the authorities of the clients' certificates in PEM with --client-ca";
    auth.map(Some).ok_or_else(|| Failure::new(USAGE, message(), remedy))
}

fn made_up(kinds: &[KeyKind], ca_out: Option<&PathBuf>) -> Result<Vec<Identity>, Failure> {
    let kinds = if kinds.is_empty() { &[KeyKind::EcdsaP256] } else { kinds };
    let made: Result<Vec<_>, _> = kinds.iter().map(|kind| self_signed(*kind)).collect();
    let made = made.map_err(|e| Failure::new(COULD_NOT_RUN, e, SYSTEM))?;
    if let Some(path) = ca_out {
        let authorities: String = made.iter().map(|m| m.authority.as_str()).collect();
        fs::write(path, authorities)
            .map_err(|e| format!("cannot write {}: {e}", path.display()))
            .map_err(|message| Failure::new(COULD_NOT_RUN, message, ROOM))?;
    }
    Ok(made.into_iter().map(|m| m.identity).collect())
}

fn read(path: &PathBuf) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|e| unreadable(path, &e))
}

fn read_bytes(path: &PathBuf) -> Result<Vec<u8>, Failure> {
    fs::read(path).map_err(|e| unreadable(path, &e))
}

fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    let message = format!("cannot read {}: {error}", path.display());
    Failure::new(USAGE, message, "give a file that is there and may be read")
}

//! The settings of a back end for a case.

use tlslab_contract::spec::{Authenticate, ClientChoice, KeyShare, Resume};
use tlslab_tls::identity::{Identity, IdentityError};
use tlslab_tls::{BackendError, ClientSettings, TrustAnchors};
use tlslab_wire::names::{Group, SignatureScheme, TlsVersion};

use crate::case::{Case, Stop};

/// The flag that requests what the library does not support, or the error if it is of no flag.
pub fn lacks(error: BackendError) -> Stop {
    match &error {
        BackendError::Unsupported { what, .. } if what.starts_with("group") => {
            Stop::Unimplemented("-curves".to_owned())
        }
        BackendError::Unsupported { what, .. } if what.starts_with("signature scheme") => {
            Stop::Unimplemented("-verify-prefs".to_owned())
        }
        BackendError::Refused { message, .. } if message.contains("dns name") => {
            Stop::Unimplemented("-host-name".to_owned())
        }
        _ => Stop::Failed(error.to_string()),
    }
}

pub fn settings(case: &Case) -> Result<ClientSettings, Stop> {
    let unimplemented = |flag: &str| Stop::Unimplemented(flag.to_owned());
    let is_minimal = case.client == "minimal";
    let mut groups = case.groups.iter().map(|code| Group::from_code_point(*code));
    let mut groups: Vec<Group> =
        groups.by_ref().collect::<Option<_>>().ok_or_else(|| unimplemented("-curves"))?;
    if is_minimal && groups.is_empty() {
        groups.push(Group::X25519);
    }
    match () {
        () if is_minimal && groups.len() > 1 => return Err(unimplemented("-curves")),
        () if is_minimal && case.certificate.is_some() => return Err(unimplemented("-cert-file")),
        () if is_minimal && case.early_data => return Err(unimplemented("-enable-early-data")),
        () if is_minimal && case.newest < 0x0304 => return Err(unimplemented("-max-version")),
        () => {}
    }
    let asked = if is_minimal { 0x0304..=0x0304 } else { case.oldest..=case.newest };
    let versions = [(0x0303, TlsVersion::Tls12), (0x0304, TlsVersion::Tls13)];
    let versions = versions.into_iter().filter(|(code, _)| asked.contains(code));
    let schemes = case.schemes.iter().map(|code| SignatureScheme::from_code_point(*code));
    Ok(ClientSettings {
        versions: versions.map(|(_, version)| version).collect(),
        suites: vec![],
        groups,
        signature_schemes: schemes.collect(),
        // With an address as its name, a client sends no SNI. The runner's certificates are for
        // `test`.
        server_names: vec![match (&case.host, case.verify) {
            (Some(host), _) => host.clone(),
            (None, true) => "test".to_owned(),
            (None, false) => "127.0.0.1".to_owned(),
        }],
        alpn: case.alpn.clone(),
        client_identity: identity(case)?,
        trust: trust(case)?,
        authenticate: Authenticate::Every,
        key_share: KeyShare::Fresh,
        client: if is_minimal { ClientChoice::Auto } else { ClientChoice::Library },
        key_log: None,
        allow_obsolete: false,
        resume: if case.resumptions > 0 { Resume::Psk } else { Resume::None },
        early_data: case.early_data,
        hello_retry: None,
    })
}

fn trust(case: &Case) -> Result<TrustAnchors, Stop> {
    let (true, Some(file)) = (case.verify, &case.trust) else { return Ok(TrustAnchors::Anyone) };
    let read = |error: String| Stop::Failed(format!("{file}: {error}"));
    let pem = std::fs::read(file).map_err(|error| read(error.to_string()))?;
    let anchors = openssl::x509::X509::stack_from_pem(&pem)
        .and_then(|all| all.iter().map(|one| one.to_der()).collect());
    Ok(TrustAnchors::Certificates(anchors.map_err(|error| read(error.to_string()))?))
}

fn identity(case: &Case) -> Result<Option<Identity>, Stop> {
    let (Some(chain), Some(key)) = (&case.certificate, &case.key) else { return Ok(None) };
    let read =
        |file| std::fs::read_to_string(file).map_err(|e| Stop::Failed(format!("{file}: {e}")));
    match Identity::from_pem(&read(chain)?, &read(key)?) {
        Ok(identity) => Ok(Some(identity)),
        Err(IdentityError::KeyKind(_)) => Err(Stop::Unimplemented("-key-file".to_owned())),
        Err(error) => Err(Stop::Failed(error.to_string())),
    }
}

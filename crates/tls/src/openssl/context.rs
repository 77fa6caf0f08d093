//! Builds an OpenSSL context from client settings. All sessions of a worker share it.

use std::fmt::Display;

use ::openssl::error::ErrorStack;
use ::openssl::ssl::{
    SslContext, SslContextBuilder, SslMethod, SslMode, SslOptions, SslVerifyMode, SslVersion,
};
use ::openssl::x509::X509;
use ::openssl::x509::store::X509StoreBuilder;
use ::openssl::x509::verify::{X509CheckFlags, X509VerifyFlags};

use crate::alpn::wire_list;
use crate::{BackendError, ClientSettings, USUAL_GROUPS};
use tlslab_contract::spec::HelloRetry;
use tlslab_wire::names::{CipherSuite, Group, SignatureScheme, TlsVersion};

use super::failure::first_words;
use super::ffi::{self, messages};
use super::legacy::{NO_SECURITY_LEVEL, load_rc4};
use super::{NAME, tickets};

/// The highest total size of a server's certificates in bytes, as in rustls. OpenSSL's default is
/// 100 KiB.
const CERTIFICATE_LIMIT: usize = 64 * 1024;

/// A group of OpenSSL that hardly any server accepts: IANA's number 31 (RFC 8734).
const DECOY: &str = "brainpoolP256r1tls13";

/// SSL_OP_NO_ENCRYPT_THEN_MAC (openssl/ssl.h), which the crate does not define. The extension
/// concerns only suites with a separate MAC; rustls has none and never sends it.
const NO_ENCRYPT_THEN_MAC: SslOptions = SslOptions::from_bits_retain(1 << 19);

/// True if a suite has a separate MAC (RFC 7366).
fn has_mac(suite: &CipherSuite) -> bool {
    let name = suite.openssl_name();
    suite.version() == TlsVersion::Tls12
        && !["GCM", "CCM", "POLY1305"].iter().any(|aead| name.contains(aead))
}

/// A context whose sessions verify the server's chain, name and validity against these trust
/// anchors (DER). Without anchors any certificate is accepted. The handshake signature is always
/// verified.
pub fn build(
    settings: &ClientSettings,
    anchors: Option<&[Vec<u8>]>,
) -> Result<SslContext, BackendError> {
    if settings.allow_obsolete {
        load_rc4().map_err(refused)?;
    }
    let mut context = SslContext::builder(SslMethod::tls_client()).map_err(refused)?;
    set_security_level(&mut context, settings);
    refuse_unknown_names(settings)?;
    set_versions(&mut context, settings)?;
    set_offered(&mut context, settings).map_err(refused)?;
    set_behaviour(&mut context).map_err(refused)?;
    if !settings.suites.is_empty() && !settings.suites.iter().any(has_mac) {
        context.set_options(NO_ENCRYPT_THEN_MAC);
    }
    tickets::set_resumption(&mut context, settings.resume);
    match anchors {
        Some(anchors) => {
            verify_against(&mut context, anchors).map_err(refused)?;
        }
        None => ffi::accept_any_chain(&mut context),
    }
    if let Some(identity) = &settings.client_identity {
        identity
            .install(&mut context)
            .map_err(|e| BackendError::Refused { backend: NAME, message: e.to_string() })?;
    }
    if let Some(log) = settings.key_log.clone() {
        context.set_keylog_callback(move |_, line| log.line(format_args!("{line}")));
    }
    Ok(context.build())
}

/// Lowers the security level if obsolete parameters are allowed or a SHA-1 scheme is requested.
/// Otherwise the library's default stays.
fn set_security_level(context: &mut SslContextBuilder, settings: &ClientSettings) {
    if settings.allow_obsolete || settings.signature_schemes.iter().any(|scheme| scheme.is_sha1()) {
        context.set_security_level(NO_SECURITY_LEVEL);
    }
    if settings.allow_obsolete {
        ffi::accept_legacy_servers(context);
    }
}

/// Refuses names that this build of OpenSSL does not support. OpenSSL's list functions silently
/// skip unknown suites as long as one is known.
fn refuse_unknown_names(settings: &ClientSettings) -> Result<(), BackendError> {
    let mut probe = SslContext::builder(SslMethod::tls_client()).map_err(refused)?;
    probe.set_security_level(NO_SECURITY_LEVEL);
    insist("cipher suite", &settings.suites, CipherSuite::all(), |suite| {
        let name = suite.openssl_name();
        match suite.version() {
            _ if name.is_empty() => false,
            TlsVersion::Tls13 => probe.set_ciphersuites(name).is_ok(),
            _ => probe.set_cipher_list(name).is_ok(),
        }
    })?;
    let share = match settings.hello_retry {
        Some(HelloRetry::Share(group)) => Some(group),
        Some(HelloRetry::Decoy) | None => None,
    };
    let groups: Vec<Group> = share.into_iter().chain(settings.groups.iter().copied()).collect();
    insist("group", &groups, Group::all(), |group| {
        probe.set_groups_list(group.openssl_name()).is_ok()
    })?;
    insist("signature scheme", &settings.signature_schemes, SignatureScheme::all(), |scheme| {
        probe.set_sigalgs_list(&scheme.to_string()).is_ok()
    })
}

fn insist<T: Copy + Display>(
    kind: &str,
    asked: &[T],
    all: impl Iterator<Item = T>,
    mut has: impl FnMut(T) -> bool,
) -> Result<(), BackendError> {
    let Some(missing) = asked.iter().find(|&&name| !has(name)) else {
        return Ok(());
    };
    let names: Vec<String> = all.filter(|&name| has(name)).map(|name| name.to_string()).collect();
    Err(BackendError::Unsupported {
        backend: NAME,
        what: format!("{kind} {missing}"),
        has: names.join(", "),
    })
}

/// Enables the requested versions for which a suite is requested. A list of TLS 1.2 suites must not
/// leave TLS 1.3 enabled with its default suites.
fn set_versions(
    context: &mut SslContextBuilder,
    settings: &ClientSettings,
) -> Result<(), BackendError> {
    let asked = |version: &TlsVersion| {
        let has_suite = settings.suites.iter().any(|suite| suite.fits(*version));
        let is_asked = match &*settings.versions {
            [] => !version.is_obsolete(),
            versions => versions.contains(version),
        };
        is_asked && (settings.suites.is_empty() || has_suite)
    };
    let mut versions = TlsVersion::ALL.into_iter().filter(asked);
    let Some(oldest) = versions.next() else {
        let message = "no cipher suite of the offer belongs to a version of the offer".to_owned();
        return Err(BackendError::Refused { backend: NAME, message });
    };
    let newest = versions.next_back().unwrap_or(oldest);
    context.set_min_proto_version(Some(openssl_version(oldest))).map_err(refused)?;
    context.set_max_proto_version(Some(openssl_version(newest))).map_err(refused)
}

fn openssl_version(version: TlsVersion) -> SslVersion {
    match version {
        TlsVersion::Ssl3 => SslVersion::SSL3,
        TlsVersion::Tls10 => SslVersion::TLS1,
        TlsVersion::Tls11 => SslVersion::TLS1_1,
        TlsVersion::Tls12 => SslVersion::TLS1_2,
        TlsVersion::Tls13 => SslVersion::TLS1_3,
    }
}

/// Sets suites, groups, schemes and ALPN. OpenSSL sends a key share only for the first group of a
/// list; with its default list it sends two.
fn set_offered(
    context: &mut SslContextBuilder,
    settings: &ClientSettings,
) -> Result<(), ErrorStack> {
    let of_version = |version| {
        let suites = settings.suites.iter().filter(move |suite| suite.version() == version);
        joined(suites.map(|suite| suite.openssl_name()))
    };
    if let Some(list) = of_version(TlsVersion::Tls12) {
        context.set_cipher_list(&list)?;
    }
    if let Some(list) = of_version(TlsVersion::Tls13) {
        context.set_ciphersuites(&list)?;
    }
    if let Some(list) = joined(offered_groups(settings)) {
        context.set_groups_list(&list)?;
    }
    if let Some(list) = joined(settings.signature_schemes.iter().map(ToString::to_string)) {
        context.set_sigalgs_list(&list)?;
    }
    match &*settings.alpn {
        [] => Ok(()),
        protocols => context.set_alpn_protos(&wire_list(protocols)),
    }
}

/// The group whose key share provokes a HelloRetryRequest, if any, followed by the requested
/// groups.
fn offered_groups(settings: &ClientSettings) -> impl Iterator<Item = &'static str> {
    let first = settings.hello_retry.map(|retry| match retry {
        HelloRetry::Decoy => DECOY,
        HelloRetry::Share(group) => group.openssl_name(),
    });
    let asked = match (settings.groups.as_slice(), first) {
        ([], Some(_)) => USUAL_GROUPS.to_vec(),
        (groups, _) => groups.to_vec(),
    };
    first.into_iter().chain(asked.into_iter().map(Group::openssl_name))
}

/// The names joined for OpenSSL's list functions; `None` without names.
fn joined<T: AsRef<str>>(names: impl Iterator<Item = T>) -> Option<String> {
    let list = names.fold(String::new(), |list, name| match list.as_str() {
        "" => name.as_ref().to_owned(),
        _ => list + ":" + name.as_ref(),
    });
    (!list.is_empty()).then_some(list)
}

/// Sets options, modes and limits of all sessions. A write may accept only some of its bytes.
fn set_behaviour(context: &mut SslContextBuilder) -> Result<(), ErrorStack> {
    context.set_options(SslOptions::NO_RENEGOTIATION | SslOptions::NO_COMPRESSION);
    context.set_mode(
        SslMode::AUTO_RETRY
            | SslMode::ENABLE_PARTIAL_WRITE
            | SslMode::ACCEPT_MOVING_WRITE_BUFFER
            // An idle connection frees its two record buffers, 34 KiB in total.
            | SslMode::RELEASE_BUFFERS
            // Send the given chain with a client certificate, instead of one that OpenSSL builds
            // from the trust anchors for servers.
            | SslMode::NO_AUTO_CHAIN,
    );
    ffi::limit_certificates(context, CERTIFICATE_LIMIT);
    messages::watch(context)
}

/// Any of these certificates ends a chain, including an intermediate. Names count only in the
/// subject alternative name (RFC 9525, section 6). Both rules are those of the rustls back end.
/// Each session sets its own name.
fn verify_against(context: &mut SslContextBuilder, anchors: &[Vec<u8>]) -> Result<(), ErrorStack> {
    let mut store = X509StoreBuilder::new()?;
    for anchor in anchors {
        store.add_cert(X509::from_der(anchor)?)?;
    }
    context.set_cert_store(store.build());
    context.set_verify(SslVerifyMode::PEER);
    let parameters = context.verify_param_mut();
    parameters.set_flags(X509VerifyFlags::PARTIAL_CHAIN)?;
    parameters.set_hostflags(X509CheckFlags::NEVER_CHECK_SUBJECT);
    Ok(())
}

fn refused(errors: ErrorStack) -> BackendError {
    BackendError::Refused { backend: NAME, message: first_words(&errors) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_build_has_every_name_that_the_engine_knows() {
        load_rc4().unwrap();
        for suite in CipherSuite::all().chain(CipherSuite::obsolete()) {
            assert_eq!(insisted(&ClientSettings { suites: vec![suite], ..settings() }), Ok(()));
        }
        for group in Group::all() {
            assert_eq!(insisted(&ClientSettings { groups: vec![group], ..settings() }), Ok(()));
        }
        for scheme in SignatureScheme::all() {
            let signature_schemes = vec![scheme];
            assert_eq!(insisted(&ClientSettings { signature_schemes, ..settings() }), Ok(()));
        }
    }

    #[test]
    fn an_unknown_suite_is_named_with_what_there_is() {
        let suites = vec![CipherSuite::from_code_point(0x1302), CipherSuite::from_code_point(0xfe)];
        let error = insisted(&ClientSettings { suites, ..settings() }).unwrap_err().to_string();
        assert!(
            error.starts_with("openssl has no cipher suite 0x00fe; it has: TLS_AES"),
            "{error}"
        );
    }

    #[test]
    fn suites_of_one_version_leave_the_other_out() {
        let mut context = SslContext::builder(SslMethod::tls_client()).unwrap();
        let suites = vec!["AES128-SHA".parse().unwrap()];
        set_versions(&mut context, &ClientSettings { suites, ..settings() }).unwrap();
        assert_eq!(context.min_proto_version(), Some(SslVersion::TLS1_2));
        assert_eq!(context.max_proto_version(), Some(SslVersion::TLS1_2));
    }

    #[test]
    fn suites_outside_the_versions_are_refused() {
        let suites = vec!["AES128-SHA".parse().unwrap()];
        let settings = ClientSettings { suites, versions: vec![TlsVersion::Tls13], ..settings() };
        assert!(matches!(build(&settings, None), Err(BackendError::Refused { .. })));
    }

    fn insisted(settings: &ClientSettings) -> Result<(), BackendError> {
        refuse_unknown_names(settings)
    }

    fn settings() -> ClientSettings {
        ClientSettings {
            versions: vec![],
            suites: vec![],
            groups: vec![],
            signature_schemes: vec![],
            server_names: vec!["localhost".to_owned()],
            alpn: vec!["http/1.1".to_owned()],
            client_identity: None,
            trust: crate::TrustAnchors::Anyone,
            authenticate: tlslab_contract::spec::Authenticate::Every,
            key_share: tlslab_contract::spec::KeyShare::Fresh,
            client: tlslab_contract::spec::ClientChoice::Auto,
            key_log: None,
            allow_obsolete: false,
            resume: tlslab_contract::spec::Resume::None,
            early_data: false,
            hello_retry: None,
        }
    }
}

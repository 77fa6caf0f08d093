//! The specification of a measurement in memory.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::InMemoryError;
use crate::default_scheme::default_scheme;
use tlslab_contract::spec::{BackendChoice, Stop};
use tlslab_remote_keys::{KeyAway, KeySide};
use tlslab_wire::names::KeyKind;
use tlslab_wire::names::{
    CipherSuite, Group, KeyExchange, ServerAuthentication, SignatureKey, SignatureScheme,
    TlsVersion,
};

/// The highest number of threads: the number of processors in Linux's fixed-size affinity mask.
const THREADS_LIMIT: u32 = 1024;

/// The highest plaintext length of a TLS record in bytes (RFC 8446, section 5.1).
const RECORD_LIMIT: u32 = 16 * 1024;

/// The longest measurement, in milliseconds: one day.
const TIME_LIMIT_MS: u64 = 24 * 3600 * 1000;

/// A measurement in memory. Every parameter has one value, so that every handshake can be checked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InMemorySpec {
    /// The TLS library of client and server; `auto`: rustls if it supports the specification.
    pub backend: BackendChoice,
    /// The number of threads, each with a client and a server.
    pub threads: u32,
    /// Processors for the threads, in order and repeated as needed; empty: not pinned.
    pub cpus: Vec<usize>,
    /// When a measurement ends. A count refers to handshakes or, in bulk, to records of each line.
    pub stop: Stop,
    /// The protocol version.
    pub tls: TlsVersion,
    /// The cipher suite; in bulk, one or more.
    pub suites: Vec<CipherSuite>,
    /// The key-exchange group; suites without a named group (static RSA, DHE) ignore it.
    pub group: Group,
    /// The kind of the server's certificate key.
    pub certificate: KeyKind,
    /// The scheme of the server's handshake signature.
    pub signature_scheme: SignatureScheme,
    /// Full, resumed, or with mutual authentication.
    pub handshake: HandshakeForm,
    /// The kind of the client's certificate key, for mutual authentication.
    pub client_certificate: KeyKind,
    /// A private key outside the process, if any.
    #[serde(default)]
    pub key_away: Option<KeyAway>,
    /// Measure the transfer of records instead of handshakes.
    pub bulk: Option<BulkSpec>,
}

/// The form of the handshakes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HandshakeForm {
    /// With the server's certificate and a key exchange. The server issues no ticket.
    #[default]
    Full,
    /// By a single-use ticket: in TLS 1.3 with key exchange (`psk_dhe_ke`), in TLS 1.2 without.
    Resumed,
    /// Full, with certificates on both sides.
    Mutual,
}

/// A transfer of records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BulkSpec {
    /// Bytes of plaintext in a record; each size is measured separately.
    pub record_sizes: Vec<u32>,
    /// The side that encrypts.
    pub direction: Direction,
}

/// The side that encrypts records, from the client's point of view.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// The client encrypts, the server decrypts.
    Send,
    /// The server encrypts, the client decrypts.
    Receive,
    /// Both directions, measured one after the other.
    #[default]
    Both,
}

impl Direction {
    /// The single directions.
    pub fn each(self) -> &'static [Self] {
        match self {
            Self::Send => &[Self::Send],
            Self::Receive => &[Self::Receive],
            Self::Both => &[Self::Send, Self::Receive],
        }
    }
}

impl InMemorySpec {
    /// Full handshakes on one thread for two seconds, with the settings of `make bench`.
    pub fn new(tls: TlsVersion, certificate: KeyKind) -> Self {
        Self {
            backend: BackendChoice::Auto,
            threads: 1,
            cpus: Vec::new(),
            stop: Stop::DurationMs(2000),
            tls,
            suites: vec![default_suite(tls, certificate)],
            group: Group::X25519,
            certificate,
            signature_scheme: default_scheme(certificate),
            handshake: HandshakeForm::Full,
            client_certificate: certificate,
            key_away: None,
            bulk: None,
        }
    }

    /// The first suite; only bulk transfer can have others.
    pub(super) fn suite(&self) -> CipherSuite {
        self.suites[0]
    }

    /// The scheme of the client's handshake signature in mutual authentication: the server's, if
    /// the client's key supports it, so that neither side has a choice.
    pub(super) fn client_scheme(&self) -> SignatureScheme {
        let same = key_family(self.client_certificate) == key_family(self.certificate)
            && key_family(self.client_certificate) == Some(SignatureKey::Rsa);
        if same { self.signature_scheme } else { default_scheme(self.client_certificate) }
    }

    /// Checks that the parts are consistent.
    pub(super) fn check(&self) -> Result<(), InMemoryError> {
        let usage = |message: String| Err(InMemoryError::Usage(message));
        let (stop, is_time) = match self.stop {
            Stop::DurationMs(ms) => (ms, true),
            Stop::Count(count) => (count, false),
        };
        if self.threads == 0 || stop == 0 {
            return usage("threads, time and count must be at least 1".to_owned());
        }
        if self.threads > THREADS_LIMIT {
            return usage(format!("threads ({}) may be {THREADS_LIMIT} at most", self.threads));
        }
        if is_time && stop > TIME_LIMIT_MS {
            return usage("the time must not be longer than a day".to_owned());
        }
        if self.group.needs_tls13() && self.tls != TlsVersion::Tls13 {
            return usage(format!("group {} exists in TLS 1.3 only", self.group));
        }
        if self.signature_scheme.key() != key_family(self.certificate) {
            let (scheme, key) = (self.signature_scheme, self.certificate);
            return usage(format!("{key} keys do not make {scheme} signatures"));
        }
        self.check_obsolete()?;
        self.check_suites()?;
        self.check_key_away()?;
        self.check_bulk()
    }

    /// Obsolete parameters are not measured here.
    fn check_obsolete(&self) -> Result<(), InMemoryError> {
        let suite = self.suites.iter().find(|suite| suite.is_obsolete());
        let key = [self.certificate, self.client_certificate].into_iter().find(|k| k.is_obsolete());
        let what = (self.tls.is_obsolete().then(|| format!("TLS version {}", self.tls)))
            .or_else(|| suite.map(|suite| format!("suite {suite}")))
            .or_else(|| key.map(|key| format!("a certificate key of kind {key}")));
        match what {
            Some(what) => {
                Err(InMemoryError::Usage(format!("{what} is obsolete: not measured in memory")))
            }
            None => Ok(()),
        }
    }

    fn check_suites(&self) -> Result<(), InMemoryError> {
        if self.suites.is_empty() || (self.bulk.is_none() && self.suites.len() > 1) {
            let message = "handshakes are measured with one suite at a time".to_owned();
            return Err(InMemoryError::Usage(message));
        }
        for suite in &self.suites {
            let fits = match suite.authentication() {
                ServerAuthentication::Any => true,
                ServerAuthentication::Rsa => {
                    key_family(self.certificate) == Some(SignatureKey::Rsa)
                }
                ServerAuthentication::Ecdsa => {
                    key_family(self.certificate) != Some(SignatureKey::Rsa)
                }
            };
            let problem = match () {
                () if suite.version() != self.tls => format!("belongs to TLS {}", suite.version()),
                () if !fits => {
                    format!("does not go with a certificate of kind {}", self.certificate)
                }
                () => continue,
            };
            return Err(InMemoryError::Usage(format!("suite {suite} {problem}")));
        }
        Ok(())
    }

    /// A key outside the process must be used in every handshake, and must be of a supported kind.
    fn check_key_away(&self) -> Result<(), InMemoryError> {
        let Some(away) = &self.key_away else { return Ok(()) };
        let (kind, used) = match away.side {
            KeySide::Client => (self.client_certificate, self.handshake == HandshakeForm::Mutual),
            KeySide::Server => (self.certificate, self.handshake != HandshakeForm::Resumed),
        };
        let problem = if !used {
            "is not used in these handshakes: a client's goes with mutual ones, a server's with \
             full and mutual ones"
        } else if key_family(kind) != Some(SignatureKey::Rsa) {
            "must be RSA: ask for an RSA certificate on its side"
        } else if self.suites.iter().any(|suite| suite.key_exchange() == KeyExchange::Rsa) {
            "signs, and these suites have the server decrypt"
        } else if self.bulk.is_some() {
            "has nothing to do in a bulk transfer"
        } else {
            return Ok(());
        };
        Err(InMemoryError::Usage(format!("a key away from the process {problem}")))
    }

    fn check_bulk(&self) -> Result<(), InMemoryError> {
        let Some(bulk) = &self.bulk else { return Ok(()) };
        if self.handshake != HandshakeForm::Full {
            let message = "a bulk transfer follows a full handshake".to_owned();
            return Err(InMemoryError::Usage(message));
        }
        if bulk.record_sizes.is_empty() {
            return Err(InMemoryError::Usage("give at least one record size".to_owned()));
        }
        match bulk.record_sizes.iter().find(|size| !(1..=RECORD_LIMIT).contains(*size)) {
            None => Ok(()),
            Some(size) => Err(InMemoryError::Usage(format!(
                "a record holds 1 to {RECORD_LIMIT} bytes (RFC 8446, section 5.1), not {size}"
            ))),
        }
    }
}

/// True if the handshake of a suite uses a named group.
pub(super) fn has_group(suite: CipherSuite) -> bool {
    matches!(suite.key_exchange(), KeyExchange::Any | KeyExchange::Ecdhe)
}

/// AES-128-GCM with SHA-256, which is fast on every current processor.
fn default_suite(tls: TlsVersion, certificate: KeyKind) -> CipherSuite {
    CipherSuite::from_code_point(match (tls, key_family(certificate)) {
        (TlsVersion::Tls13, _) => 0x1301,
        (_, Some(SignatureKey::Rsa)) => 0xc02f,
        _ => 0xc02b,
    })
}

fn key_family(key: KeyKind) -> Option<SignatureKey> {
    default_scheme(key).key()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> InMemorySpec {
        InMemorySpec::new(TlsVersion::Tls13, KeyKind::EcdsaP256)
    }

    #[test]
    fn defaults_fit_each_other() {
        for tls in TlsVersion::CURRENT {
            for certificate in KeyKind::ALL {
                assert_eq!(
                    InMemorySpec::new(tls, certificate).check(),
                    Ok(()),
                    "{tls} {certificate}"
                );
            }
        }
    }

    #[test]
    fn a_key_away_has_to_sign_in_every_handshake() {
        let away = |side| {
            let (module, token, key) = ("m".to_owned(), "t".to_owned(), "k".to_owned());
            let pin = tlslab_remote_keys::Secret::default();
            let key = tlslab_remote_keys::Pkcs11Key { module, token, key, pin };
            Some(KeyAway { side, place: tlslab_remote_keys::KeyPlace::Pkcs11(key) })
        };
        let mut spec = InMemorySpec::new(TlsVersion::Tls13, KeyKind::Rsa2048);
        spec.key_away = away(KeySide::Server);
        assert_eq!(spec.check(), Ok(()));
        spec.key_away = away(KeySide::Client);
        let error = spec.check().unwrap_err().to_string();
        assert!(error.contains("is not used in these handshakes"), "{error}");
        spec.handshake = HandshakeForm::Mutual;
        assert_eq!(spec.check(), Ok(()));
        spec.client_certificate = KeyKind::EcdsaP256;
        assert!(spec.check().unwrap_err().to_string().contains("must be RSA"));
    }

    #[test]
    fn what_does_not_fit_is_named() {
        type Change = fn(&mut InMemorySpec);
        let cases: [(&str, Change); 11] = [
            ("must be at least 1", |s| s.stop = Stop::Count(0)),
            ("may be 1024 at most", |s| s.threads = 2000),
            ("exists in TLS 1.3 only", |s| {
                *s = InMemorySpec::new(TlsVersion::Tls12, KeyKind::EcdsaP256);
                s.group = Group::X25519MlKem768;
            }),
            ("do not make rsa_pss_rsae_sha256", |s| {
                s.signature_scheme = default_scheme(KeyKind::Rsa2048);
            }),
            ("belongs to TLS 1.2", |s| s.suites = vec!["AES128-SHA".parse().unwrap()]),
            ("TLS version 1.1 is obsolete", |s| s.tls = TlsVersion::Tls11),
            ("RC4_128_MD5 is obsolete", |s| s.suites = vec!["RC4-MD5".parse().unwrap()]),
            ("kind rsa-1024 is obsolete", |s| s.client_certificate = KeyKind::Rsa1024),
            ("one suite at a time", |s| s.suites.push(s.suites[0])),
            ("1 to 16384 bytes", |s| {
                s.bulk = Some(BulkSpec { record_sizes: vec![0], direction: Direction::Both });
            }),
            ("follows a full handshake", |s| {
                s.handshake = HandshakeForm::Resumed;
                s.bulk = Some(BulkSpec { record_sizes: vec![1], direction: Direction::Both });
            }),
        ];
        for (words, change) in cases {
            let mut wrong = spec();
            change(&mut wrong);
            let error = wrong.check().unwrap_err();
            assert!(error.is_usage() && error.to_string().contains(words), "{error}");
        }
    }

    #[test]
    fn a_suite_needs_its_certificate() {
        let mut wrong = InMemorySpec::new(TlsVersion::Tls12, KeyKind::EcdsaP256);
        wrong.suites = vec!["AES128-SHA".parse().unwrap()];
        let error = wrong.check().unwrap_err().to_string();
        assert!(error.contains("does not go with a certificate of kind ecdsa-p256"), "{error}");
    }
}

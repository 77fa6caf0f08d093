//! The record of a probe: plain data, as JSON (`schema/probe.json`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::spec::Topic;
use tlslab_contract::record::Certificate;
use tlslab_wire::starttls::Service;
use tlslab_wire::tls::answer::Refusal;
use tlslab_wire::tls::registry::Protocol;

/// The identifier of the record format.
pub const PROBE_SCHEMA: &str = "tlslab.probe/1";

/// The findings about a server. The field of a topic that was not requested is null or empty.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeRecord {
    /// The record format, `tlslab.probe/1`.
    pub schema: String,
    /// Host and port as given.
    pub target: String,
    /// The address that was connected to.
    pub address: String,
    /// The service whose connections began in plain text; null: TLS began at once.
    #[serde(default)]
    pub starttls: Option<Service>,
    /// The name sent by SNI; null for an address.
    pub server_name: Option<String>,
    /// The requested topics.
    pub topics: Vec<Topic>,
    /// All versions, newest first, with the refusal of those that the server does not accept, or its
    /// silence.
    pub versions: Vec<VersionFound>,
    /// Whether the server takes a ClientHello of more than one segment; null if that was not asked,
    /// or if the server does not take one of the same kind of one segment.
    #[serde(default)]
    pub large_hello: Option<LargeHello>,
    /// The accepted cipher suites of each version.
    pub suites: Vec<Accepted<Suite>>,
    /// With the suites: the weakness of the prime of the server's own Diffie-Hellman parameters, in
    /// words that complete "the prime". Null without such a prime, and without a weakness.
    #[serde(default)]
    pub dh_prime: Option<String>,
    /// The key-exchange groups of TLS 1.3 and 1.2.
    pub groups: Vec<Accepted<Named>>,
    /// The schemes with which the server signs handshakes of TLS 1.3 and 1.2.
    pub signature_schemes: Vec<Accepted<Named>>,
    /// The server's certificate chains.
    pub certificates: Vec<Chain>,
    /// The verdict on all chains: that of the first one that is not trusted, if there is one. Null
    /// without certificates, and if trust was not checked.
    #[serde(default)]
    pub trust: Option<TrustVerdict>,
    /// Whether the server asks for a client certificate, with the topic `certificates`; null if no
    /// handshake came that far.
    #[serde(default)]
    pub client_certificate: Option<bool>,
    /// The application protocols that the server selects, in its order of choice; null also if it
    /// accepts no version.
    pub alpn: Option<Protocols>,
    /// The supported kinds of resumption.
    pub resumption: Option<Resumption>,
    /// Compression, of records and of certificates.
    pub compression: Option<Compression>,
    /// Renegotiation up to TLS 1.2.
    pub renegotiation: Option<Renegotiation>,
    /// Protections of the handshake.
    pub protections: Option<Protections>,
    /// The server's answer to each offer of the specification, in its order.
    pub offers: Vec<OfferFound>,
    /// The questions that the server did not answer, or whose handshake broke off before an answer:
    /// what they ask for is not known.
    #[serde(default)]
    pub unanswered: Vec<Unanswered>,
    /// Remedies, if the findings hardly differ from those of a server that accepts nothing.
    #[serde(default)]
    pub hints: Vec<String>,
    /// The reason why the probe ended early; null if it is complete.
    pub incomplete: Option<String>,
    /// Number of connections made.
    pub connections: u32,
    /// Duration of the probe in seconds.
    pub seconds: f64,
}

/// The server's answer to one version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VersionFound {
    /// The version.
    pub version: Protocol,
    /// Whether the server continues with a handshake of that version; null if that is not known.
    pub accepted: Option<bool>,
    /// The refusal, if any. Of a version that is not known: the server's silence; null if the version
    /// was not asked for, because the server had been silent before.
    pub refusal: Option<Refusal>,
}

impl VersionFound {
    /// The answer to a request for a version; `None`: accepted.
    pub fn answered(version: Protocol, refusal: Option<Refusal>) -> Self {
        let accepted = accepted(refusal.as_ref());
        Self { version, accepted, refusal }
    }

    /// A version that was not asked for.
    pub fn not_asked(version: Protocol) -> Self {
        Self { version, accepted: None, refusal: None }
    }
}

/// The server's answer to a ClientHello with the key share of a hybrid group, which fills more than
/// one segment. The server takes the same one without it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LargeHello {
    /// The length of the ClientHello in bytes.
    pub bytes: usize,
    /// The length without that key share.
    pub small_bytes: usize,
    /// Whether the server continues with the handshake; null if it did not answer. It need not have
    /// the hybrid group.
    pub accepted: Option<bool>,
    /// The refusal, if any: the server, or a device in front of it, reads one segment.
    pub refusal: Option<Refusal>,
}

/// Whether an answer accepts: a silence says nothing.
pub fn accepted(refusal: Option<&Refusal>) -> Option<bool> {
    match refusal {
        None => Some(true),
        Some(refusal) if refusal.is_silence() => None,
        Some(_) => Some(false),
    }
}

/// A question without an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unanswered {
    /// The topic of the question.
    pub topic: Topic,
    /// What was asked for: `suites of TLS 1.2`.
    pub question: String,
    /// The server's silence, with the times in which it gave no answer, or the end of the handshake
    /// that was to answer.
    pub refusal: Refusal,
}

/// The accepted items of one kind in one version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Accepted<T> {
    /// The version.
    pub version: Protocol,
    /// Whose order decides; null with fewer than two items, or if it is not known.
    pub order: Option<Order>,
    /// The accepted items, in the server's order of preference if it has one, otherwise as offered.
    pub accepted: Vec<T>,
    /// The refusal of all other items. A silence: the server may accept more.
    pub refusal: Option<Refusal>,
}

/// Whose order of preference decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// The server's own.
    Server,
    /// The client's.
    Client,
    /// Neither order alone.
    Mixed,
}

/// An item of an IANA registry: name and number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Named {
    /// The name.
    pub name: String,
    /// The number on the wire.
    pub code_point: u16,
}

/// A cipher suite that the server accepts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Suite {
    /// IANA's name.
    pub name: String,
    /// The number on the wire.
    pub code_point: u16,
    /// The key size of the cipher in bits; null for an unknown suite.
    pub bits: Option<u16>,
    /// The group that the server chose with the suite; `DH-2048` for parameters of its own, null
    /// for none.
    pub group: Option<String>,
}

/// A certificate chain of the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Chain {
    /// The versions in which it was sent.
    pub versions: Vec<Protocol>,
    /// The server's own certificate.
    #[serde(flatten)]
    pub certificate: Certificate,
    /// The size of the server's own certificate, in bytes.
    pub bytes: usize,
    /// The algorithm that signs the certificate: `sha256WithRSAEncryption`.
    pub signature_algorithm: String,
    /// The number of names in the certificate.
    pub names_count: usize,
    /// The first of these names.
    pub names: Vec<String>,
    /// Whether the certificate covers the requested name.
    pub name_matches: bool,
    /// Whether each certificate of the chain was issued by the next one.
    pub in_order: bool,
    /// Whether the chain leads to a trusted authority and is valid now; null if this was not
    /// checked.
    pub trusted: Option<bool>,
    /// The reason why the chain is not trusted.
    pub problem: Option<String>,
    /// What a client such as curl says of chain and name; null if this was not checked.
    #[serde(default)]
    pub verdict: Option<TrustVerdict>,
    /// The stapled OCSP response; null for none.
    pub staple: Option<Staple>,
    /// Whether the certificate requires a stapled OCSP response (RFC 7633).
    #[serde(default)]
    pub must_staple: bool,
}

/// Whether a client that checks chain, validity and name, as curl does, accepts a certificate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrustVerdict {
    /// The verdict for programs.
    pub code: TrustCode,
    /// The reason in words, which continue `trusted:` or `not trusted:`.
    pub message: String,
}

/// A verdict on trust: `trusted`, or the first fault that a client finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrustCode {
    /// The chain leads to a trusted authority, is valid now, and is for the name.
    Trusted,
    /// The certificate has signed itself, and is not trusted itself.
    SelfSigned,
    /// The server sends no issuer of its certificate, which names a place to fetch the issuer from.
    MissingIntermediate,
    /// The chain ends at an authority that is not trusted, or no authority is trusted.
    UnknownAuthority,
    /// A certificate of the chain has expired.
    Expired,
    /// A certificate of the chain is not valid yet.
    NotYetValid,
    /// The certificate is for other names.
    WrongName,
    /// The certificate is not for servers.
    WrongPurpose,
    /// A key or a signature of the chain is too weak for most clients (OpenSSL's security level 2).
    TooWeak,
    /// Any other fault of the chain.
    Invalid,
}

/// A stapled OCSP response (RFC 6066, section 8; RFC 6960).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Staple {
    /// Its size in bytes.
    pub bytes: usize,
    /// Its status: `successful`, `try_later`, ..., `unreadable`.
    pub status: String,
}

/// Application-layer protocol negotiation (RFC 7301).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Protocols {
    /// The protocols that the server selects.
    pub accepted: Vec<String>,
    /// The refusal of an offer without any of them (the alert no_application_protocol); null if the
    /// server continues without a protocol, or if that is not known.
    pub refusal: Option<Refusal>,
    /// Whether the server answered an offer without any of them. False: every such offer ended the
    /// handshake in another way.
    #[serde(default = "yes")]
    pub others_known: bool,
    /// Protocols whose offer ended the handshake in another way: whether the server supports them
    /// is unknown.
    #[serde(default)]
    pub failed: Vec<FailedProtocol>,
}

fn yes() -> bool {
    true
}

/// A protocol whose offer ended the handshake.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailedProtocol {
    /// The protocol.
    pub name: String,
    /// How the handshake ended.
    pub refusal: Refusal,
}

/// Tries of a kind of resumption: each makes a session and offers it on a later connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tries {
    /// Tries in which the server resumed the session.
    pub resumed: u32,
    /// All tries.
    pub all: u32,
}

impl Tries {
    /// Whether the server resumed a session.
    pub fn any(self) -> bool {
        self.resumed > 0
    }

    /// Whether the server resumed each session.
    pub fn every(self) -> bool {
        self.resumed == self.all
    }
}

/// The supported kinds of resumption. A field is null if the server has no version to which it
/// applies, or did not answer. A kind is supported if one of its tries was resumed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Resumption {
    /// By session ID, up to TLS 1.2.
    pub session_id: Option<bool>,
    /// By ticket, up to TLS 1.2 (RFC 5077).
    pub ticket: Option<bool>,
    /// By pre-shared key, TLS 1.3.
    pub psk: Option<bool>,
    /// The tries of `session_id`.
    #[serde(default)]
    pub session_id_tries: Option<Tries>,
    /// The tries of `ticket`.
    #[serde(default)]
    pub ticket_tries: Option<Tries>,
    /// The tries of `psk`. Fewer resumed sessions than tries: processes or hosts behind the address
    /// that do not share their ticket keys, as a rule.
    #[serde(default)]
    pub psk_tries: Option<Tries>,
    /// By pre-shared key without a key exchange (psk_ke of RFC 8446, section 4.2.9), as tested;
    /// also null if no session could be offered.
    pub psk_ke: Option<bool>,
    /// Number of tickets after a full TLS 1.3 handshake.
    pub tickets: Option<u32>,
    /// Number of tickets after a resumed TLS 1.3 handshake. 0: the server renews no tickets, so a
    /// client runs out of them. Null if no session was resumed.
    #[serde(default)]
    pub tickets_resumed: Option<u32>,
    /// The lifetime of a TLS 1.3 ticket in seconds.
    pub ticket_lifetime_s: Option<u64>,
    /// The early data that the tickets allow, in bytes; 0: none.
    pub max_early_data_bytes: Option<u32>,
    /// Whether the server accepted early data sent with such a ticket; null if no ticket allows
    /// any, or if it could not be sent.
    pub early_data_accepted: Option<bool>,
}

/// Compression. A field is null if the server has no version to which it applies, or did not answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Compression {
    /// Record compression, up to TLS 1.2 (RFC 3749): the accepted methods.
    pub records: Option<Vec<String>>,
    /// Certificate compression, TLS 1.3 (RFC 8879): the algorithms that the server uses.
    pub certificates: Option<Vec<String>>,
}

impl Compression {
    /// The methods that a server uses; `None` if none is known, and a question is open.
    pub fn known(methods: Vec<String>, open: bool) -> Option<Vec<String>> {
        (!open || !methods.is_empty()).then_some(methods)
    }
}

/// Renegotiation up to TLS 1.2. A field is null if the server has no such version, or did not answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Renegotiation {
    /// Whether the server indicates secure renegotiation (RFC 5746).
    pub secure: Option<bool>,
    /// Whether the server allows a client to start a renegotiation.
    pub client_initiated: Option<bool>,
}

/// Protections of the handshake. A field is null if the server has no version to which it applies,
/// or did not answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Protections {
    /// Extended master secret, up to TLS 1.2 (RFC 7627).
    pub extended_master_secret: Option<bool>,
    /// Encrypt-then-MAC, for suites in CBC mode (RFC 7366).
    pub encrypt_then_mac: Option<bool>,
    /// Refusal of a client that signals a fallback (RFC 7507).
    pub fallback_scsv: Option<bool>,
    /// The refusal of such a client by other means than the alert inappropriate_fallback, if the
    /// server accepts the same client without the signal.
    #[serde(default)]
    pub fallback_refusal: Option<Refusal>,
    /// HelloRetryRequest for another key share if none fits, TLS 1.3.
    pub hello_retry_request: Option<bool>,
}

/// The server's answer to an offer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OfferFound {
    /// Whether the server continues with the handshake as offered; null if it did not answer.
    pub accepted: Option<bool>,
    /// The certificate's key, if the certificate is sent unencrypted: `ECDSA P-256`.
    pub key: Option<String>,
    /// The refusal, if any.
    pub refusal: Option<Refusal>,
}

//! What a probe found: plain data out, as JSON (`schema/probe.json`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::spec::Topic;
use tlslab_contract::record::Certificate;
use tlslab_wire::tls::answer::Refusal;
use tlslab_wire::tls::registry::Protocol;

/// The identifier of this wire format.
pub const PROBE_SCHEMA: &str = "tlslab.probe/1";

/// What a server accepts. A field of a topic that was not asked for is null or empty.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeRecord {
    /// The wire format, `tlslab.probe/1`.
    pub schema: String,
    /// Host and port as given.
    pub target: String,
    /// The address that was connected to.
    pub address: String,
    /// The name that was sent for SNI; null for an address.
    pub server_name: Option<String>,
    /// What was asked for.
    pub topics: Vec<Topic>,
    /// Each version, newest first, with the refusal of those that the server does not have.
    pub versions: Vec<VersionFound>,
    /// The cipher suites of each version that it has.
    pub suites: Vec<Accepted<Suite>>,
    /// The key-exchange groups of TLS 1.3 and 1.2.
    pub groups: Vec<Accepted<Named>>,
    /// The schemes that the server signs handshakes with, of TLS 1.3 and 1.2.
    pub signature_schemes: Vec<Accepted<Named>>,
    /// Each certificate chain that it has.
    pub certificates: Vec<Chain>,
    /// The application protocols that it agrees to, in the order in which it chose.
    pub alpn: Option<Protocols>,
    /// How sessions are resumed.
    pub resumption: Option<Resumption>,
    /// Compression, of records and of certificates.
    pub compression: Option<Compression>,
    /// Renegotiation up to TLS 1.2.
    pub renegotiation: Option<Renegotiation>,
    /// Protections of the handshake.
    pub protections: Option<Protections>,
    /// For each offer of the specification, in its order, what the server made of it.
    pub offers: Vec<OfferFound>,
    /// What may help where the server was hardly told apart from one that has nothing.
    #[serde(default)]
    pub hints: Vec<String>,
    /// Why the probe ended before it knew all; null when it did not.
    pub incomplete: Option<String>,
    /// Connections made.
    pub connections: u32,
    /// How long it took, in seconds.
    pub seconds: f64,
}

/// Whether the server has a version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VersionFound {
    /// The version.
    pub version: Protocol,
    /// Whether it goes on with a handshake of that version.
    pub accepted: bool,
    /// How it refuses, if it does.
    pub refusal: Option<Refusal>,
}

/// What the server has of one kind in one version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Accepted<T> {
    /// The version.
    pub version: Protocol,
    /// Whose order decides; null when there are fewer than two.
    pub order: Option<Order>,
    /// What it has: in its own order of preference, or else in the order in which it was offered.
    pub accepted: Vec<T>,
    /// How it refused everything else.
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
    /// Neither alone.
    Mixed,
}

/// Something with a name and a number in IANA's registries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Named {
    /// The name.
    pub name: String,
    /// The number on the wire.
    pub code_point: u16,
}

/// A cipher suite that the server has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Suite {
    /// IANA's name.
    pub name: String,
    /// The number on the wire.
    pub code_point: u16,
    /// The size of its cipher's key, in bits; null for a suite that is in no registry known here.
    pub bits: Option<u16>,
    /// The group that the server chose with it, `DH-2048` for parameters of its own, null for none.
    pub group: Option<String>,
}

/// A certificate chain that the server has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Chain {
    /// The versions in which it was sent.
    pub versions: Vec<Protocol>,
    /// The server's own certificate.
    #[serde(flatten)]
    pub certificate: Certificate,
    /// The size of the server's own certificate, in bytes.
    pub bytes: usize,
    /// The algorithm by which it is signed: `sha256WithRSAEncryption`.
    pub signature_algorithm: String,
    /// The names that it is for: how many,
    pub names_count: usize,
    /// and the first of them.
    pub names: Vec<String>,
    /// Whether it is for the name that was asked for.
    pub name_matches: bool,
    /// Whether each certificate of the chain was issued by the next one.
    pub in_order: bool,
    /// Whether it leads to a trusted authority and is valid now; null when that was not to be checked.
    pub trusted: Option<bool>,
    /// Why it does not.
    pub problem: Option<String>,
    /// The OCSP response that came with it; null for none.
    pub staple: Option<Staple>,
}

/// A stapled OCSP response (RFC 6066, section 8; RFC 6960).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Staple {
    /// Its size.
    pub bytes: usize,
    /// Its status: `successful`, `try_later`, ..., `unreadable`.
    pub status: String,
}

/// Application-layer protocol negotiation (RFC 7301).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Protocols {
    /// The protocols that it agrees to.
    pub accepted: Vec<String>,
    /// How it refuses an offer without any of them (the alert no_application_protocol); null when it
    /// goes on without a protocol.
    pub refusal: Option<Refusal>,
    /// Protocols whose offer ended the handshake in another way: whether the server has them is not
    /// known.
    #[serde(default)]
    pub failed: Vec<FailedProtocol>,
}

/// A protocol whose offer ended the handshake.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailedProtocol {
    /// The protocol.
    pub name: String,
    /// How the handshake ended.
    pub refusal: Refusal,
}

/// How sessions are resumed; null: not in a version that the server has.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Resumption {
    /// By session ID, up to TLS 1.2.
    pub session_id: Option<bool>,
    /// By ticket, up to TLS 1.2 (RFC 5077).
    pub ticket: Option<bool>,
    /// By pre-shared key, TLS 1.3.
    pub psk: Option<bool>,
    /// By pre-shared key without a key exchange (psk_ke of RFC 8446, section 4.2.9), by a try; null
    /// as well where no session could be offered.
    pub psk_ke: Option<bool>,
    /// The tickets that follow a full handshake of TLS 1.3.
    pub tickets: Option<u32>,
    /// The tickets that follow a handshake of TLS 1.3 that resumed a session; 0: the server renews
    /// none, and a client runs out of them; null where none was resumed.
    #[serde(default)]
    pub tickets_resumed: Option<u32>,
    /// The longest time that a ticket of TLS 1.3 may be used, in seconds.
    pub ticket_lifetime_s: Option<u64>,
    /// The early data that its tickets allow, in bytes; 0: none.
    pub max_early_data_bytes: Option<u32>,
    /// Whether early data that was sent with such a ticket was taken; null: no ticket allows any, or
    /// it could not be sent.
    pub early_data_accepted: Option<bool>,
}

/// Compression; null: not in a version that the server has.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Compression {
    /// Of records, up to TLS 1.2 (RFC 3749): the methods that it accepts.
    pub records: Option<Vec<String>>,
    /// Of certificates, TLS 1.3 (RFC 8879): the algorithms that it uses.
    pub certificates: Option<Vec<String>>,
}

/// Renegotiation up to TLS 1.2.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Renegotiation {
    /// Whether it indicates secure renegotiation (RFC 5746).
    pub secure: Option<bool>,
    /// Whether it lets a client begin one.
    pub client_initiated: Option<bool>,
}

/// Protections of the handshake; null: it has no version in which the question makes sense.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Protections {
    /// Extended master secret, up to TLS 1.2 (RFC 7627).
    pub extended_master_secret: Option<bool>,
    /// Encrypt-then-MAC, for suites in CBC mode (RFC 7366).
    pub encrypt_then_mac: Option<bool>,
    /// Refuses a client that says that it has fallen back (RFC 7507).
    pub fallback_scsv: Option<bool>,
    /// How it refuses such a client otherwise than by the alert inappropriate_fallback, where it lets
    /// the same client in that does not say so.
    #[serde(default)]
    pub fallback_refusal: Option<Refusal>,
    /// Asks for another key share when none fits, TLS 1.3.
    pub hello_retry_request: Option<bool>,
}

/// What the server made of an offer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OfferFound {
    /// Whether it goes on with a handshake as offered.
    pub accepted: bool,
    /// The certificate's key, where it is sent in the clear: `ECDSA P-256`.
    pub key: Option<String>,
    /// How it refuses, if it does.
    pub refusal: Option<Refusal>,
}

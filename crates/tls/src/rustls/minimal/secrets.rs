//! The key schedule of a TLS 1.3 handshake, from the shared secret to the record keys and the PSKs
//! of later handshakes (RFC 8446, section 7.1).

use aws_lc_rs::aead::{self, LessSafeKey, NONCE_LEN, UnboundKey};
use hmac::{Hmac, Mac};
use rustls::crypto::hash;
use rustls::crypto::tls13::OkmBlock;
use sha2::{Digest, Sha256, Sha384};

use super::protection::Protection;
use crate::rustls::key_schedule::{Expander, Keyed, Schedule, WITH_SHA256, WITH_SHA384};

/// The longest key of a suite, in bytes.
const LONGEST_KEY: usize = 32;

/// A TLS 1.3 cipher suite (RFC 8446, appendix B.4).
pub struct Suite {
    /// The IANA code point.
    pub code_point: u16,
    aead: &'static aead::Algorithm,
    hashing: &'static dyn Hashing,
}

/// The suites that the minimal client supports.
pub static SUITES: [Suite; 3] = [
    Suite {
        code_point: 0x1301,
        aead: &aead::AES_128_GCM,
        hashing: &With::<Sha256>(|| &WITH_SHA256),
    },
    Suite {
        code_point: 0x1302,
        aead: &aead::AES_256_GCM,
        hashing: &With::<Sha384>(|| &WITH_SHA384),
    },
    Suite {
        code_point: 0x1303,
        aead: &aead::CHACHA20_POLY1305,
        hashing: &With::<Sha256>(|| &WITH_SHA256),
    },
];

impl Suite {
    /// The secrets of a handshake, from its shared secret, ClientHello and ServerHello.
    pub fn begin(&self, shared: &[u8], hellos: [&[u8]; 2]) -> Box<dyn Secrets> {
        self.hashing.begin(None, shared, hellos)
    }

    /// The secrets of a handshake that resumes a session, whose PSK gives this salt.
    pub fn resume(&self, salt: &OkmBlock, shared: &[u8], hellos: [&[u8]; 2]) -> Box<dyn Secrets> {
        self.hashing.begin(Some(salt), shared, hellos)
    }

    /// The PSK of a ticket with this nonce, from the resumption master secret (section 4.6.1).
    pub fn psk(&self, resumption: &OkmBlock, nonce: &[u8]) -> OkmBlock {
        self.hashing.psk(resumption, nonce)
    }

    /// Binds a PSK to a ClientHello, whose binders are left out (section 4.2.11.2).
    pub fn bind(&self, psk: &OkmBlock, hello: &[u8]) -> Binding {
        self.hashing.bind(psk, hello)
    }

    /// The length of the hash in bytes, which is that of binders and PSKs.
    pub fn hash_length(&self) -> usize {
        self.hashing.length()
    }

    /// The record keys of one direction, from its traffic secret (section 7.3).
    pub fn protect(&self, traffic: &OkmBlock) -> Option<Protection> {
        let (mut key, mut iv) = ([0; LONGEST_KEY], [0; NONCE_LEN]);
        let key = &mut key[..self.aead.key_len()];
        self.hashing.expand(traffic, &mut [(&b"key"[..], &mut *key), (&b"iv"[..], &mut iv[..])]);
        let key = UnboundKey::new(self.aead, key).ok()?;
        Some(Protection::new(LessSafeKey::new(key), iv))
    }

    /// The next traffic secret (section 7.2).
    pub fn update(&self, traffic: &OkmBlock) -> OkmBlock {
        let mut next = [0; OkmBlock::MAX_LEN];
        let next = &mut next[..traffic.as_ref().len()];
        self.hashing.expand(traffic, &mut [(&b"traffic upd"[..], &mut *next)]);
        OkmBlock::new(next)
    }
}

/// An offered PSK, bound to its ClientHello.
pub struct Binding {
    pub binder: OkmBlock,
    /// The salt of the handshake secret, if the server selects the PSK.
    pub salt: OkmBlock,
}

/// The sending side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Client,
    Server,
}

/// The secrets of a handshake in progress, and its transcript.
pub trait Secrets: Send {
    /// Adds a message to the transcript.
    fn add(&mut self, message: &[u8]);

    /// The handshake traffic secret of a side.
    fn traffic(&self, side: Side) -> &OkmBlock;

    /// The hash of the transcript so far.
    fn so_far(&self) -> hash::Output;

    /// The content of a side's Finished over the transcript so far (section 4.4.4).
    fn finished(&self, side: Side) -> OkmBlock;

    /// True if these bytes are the content of a side's Finished.
    fn is_finished(&self, side: Side, content: &[u8]) -> bool;

    /// The application traffic secrets of client and server. The transcript must end with the
    /// server's Finished.
    fn application(&mut self) -> [OkmBlock; 2];

    /// The resumption master secret; `None` before the application traffic secrets. The transcript
    /// must end with the client's Finished.
    fn resumption(&self) -> Option<OkmBlock>;
}

/// The operations that depend on the suite's hash.
trait Hashing: Sync {
    fn begin(&self, salt: Option<&OkmBlock>, shared: &[u8], hellos: [&[u8]; 2])
    -> Box<dyn Secrets>;

    fn psk(&self, resumption: &OkmBlock, nonce: &[u8]) -> OkmBlock;

    fn bind(&self, psk: &OkmBlock, hello: &[u8]) -> Binding;

    fn length(&self) -> usize;

    /// HKDF-Expand-Label of a secret, without context, for several labels.
    fn expand(&self, secret: &OkmBlock, outputs: &mut [(&[u8], &mut [u8])]);
}

/// A hash and its HMAC.
trait Hash: Digest + Clone + Send + 'static {
    type Mac: Keyed;
}

impl Hash for Sha256 {
    type Mac = Hmac<Self>;
}

impl Hash for Sha384 {
    type Mac = Hmac<Self>;
}

/// A hash, and a function that returns its precomputed constants.
struct With<H: Hash>(fn() -> &'static Schedule<H::Mac>);

impl<H: Hash> Hashing for With<H> {
    fn begin(
        &self,
        salt: Option<&OkmBlock>,
        shared: &[u8],
        hellos: [&[u8]; 2],
    ) -> Box<dyn Secrets> {
        let mut transcript = H::new();
        hellos.iter().for_each(|message| transcript.update(message));
        let secret = match salt {
            None => (self.0)().handshake_secret(shared),
            Some(salt) => Schedule::handshake_secret_of(salt, shared),
        };
        let so_far = transcript.clone().finalize();
        let client = secret.expand_label(b"c hs traffic", &so_far);
        let server = secret.expand_label(b"s hs traffic", &so_far);
        Box::new(Running::<H> { transcript, secret, master: None, traffic: [client, server] })
    }

    fn psk(&self, resumption: &OkmBlock, nonce: &[u8]) -> OkmBlock {
        Expander::<H::Mac>::of(resumption).psk(nonce)
    }

    fn bind(&self, psk: &OkmBlock, hello: &[u8]) -> Binding {
        let nothing = H::digest([]);
        let early = Schedule::<H::Mac>::early_secret(psk);
        let key = Expander::<H::Mac>::of(&early.expand_label(b"res binder", &nothing));
        let mut mac = Expander::<H::Mac>::of(&key.expand_label(b"finished", &[])).into_mac();
        mac.update(&H::digest(hello));
        let binder = OkmBlock::new(&mac.finalize().into_bytes());
        Binding { binder, salt: early.derived(&nothing) }
    }

    fn length(&self) -> usize {
        <H as Digest>::output_size()
    }

    fn expand(&self, secret: &OkmBlock, outputs: &mut [(&[u8], &mut [u8])]) {
        let secret = Expander::<H::Mac>::of(secret);
        for (label, output) in outputs {
            secret.expand_label_into(label, &[], output);
        }
    }
}

struct Running<H: Hash> {
    transcript: H,
    /// The handshake secret.
    secret: Expander<H::Mac>,
    /// The master secret, once derived.
    master: Option<Expander<H::Mac>>,
    traffic: [OkmBlock; 2],
}

impl<H: Hash> Running<H> {
    fn finished_mac(&self, side: Side) -> H::Mac {
        let traffic = Expander::<H::Mac>::of(self.traffic(side));
        let mut mac = Expander::<H::Mac>::of(&traffic.expand_label(b"finished", &[])).into_mac();
        mac.update(&self.transcript.clone().finalize());
        mac
    }
}

impl<H: Hash> Secrets for Running<H> {
    fn add(&mut self, message: &[u8]) {
        self.transcript.update(message);
    }

    fn traffic(&self, side: Side) -> &OkmBlock {
        &self.traffic[usize::from(side == Side::Server)]
    }

    fn so_far(&self) -> hash::Output {
        hash::Output::new(&self.transcript.clone().finalize())
    }

    fn finished(&self, side: Side) -> OkmBlock {
        OkmBlock::new(&self.finished_mac(side).finalize().into_bytes())
    }

    fn is_finished(&self, side: Side, content: &[u8]) -> bool {
        self.finished_mac(side).verify_slice(content).is_ok()
    }

    fn application(&mut self) -> [OkmBlock; 2] {
        let master = self.secret.master_secret(&H::digest([]));
        let so_far = self.transcript.clone().finalize();
        let labels = [b"c ap traffic", b"s ap traffic"];
        let traffic = labels.map(|label| master.expand_label(label, &so_far));
        self.master = Some(master);
        traffic
    }

    fn resumption(&self) -> Option<OkmBlock> {
        let so_far = self.transcript.clone().finalize();
        self.master.as_ref().map(|master| master.expand_label(b"res master", &so_far))
    }
}

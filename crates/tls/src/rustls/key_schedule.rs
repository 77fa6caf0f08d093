//! The TLS 1.3 key schedule (RFC 8446, section 7.1) over HMACs that keep their state.
//!
//! A handshake derives some fifteen secrets, each with an HMAC. The provider of rustls sets up each
//! HMAC through aws-lc's general interface. Here the two hash blocks that depend only on the key
//! are computed once per key, values that are equal in every connection without a PSK are computed
//! once per process, and a tag needs no allocation (`docs/adr/0011`).

use std::sync::LazyLock;

use hmac::digest::KeyInit;
use hmac::{Hmac, Mac};
use rustls::crypto::hash::HashAlgorithm;
use rustls::crypto::hmac::Tag;
use rustls::crypto::tls13::{Hkdf, HkdfExpander, OkmBlock, OutputLengthError};
use sha2::{Digest, Sha256, Sha384};

pub(super) static WITH_SHA256: LazyLock<Schedule<Hmac<Sha256>>> =
    LazyLock::new(|| Schedule::new(&Sha256::digest([])));
pub(super) static WITH_SHA384: LazyLock<Schedule<Hmac<Sha384>>> =
    LazyLock::new(|| Schedule::new(&Sha384::digest([])));

/// HKDF (RFC 5869) with a hash; `None` for a hash that no supported TLS 1.3 suite uses.
pub fn implementation(hash: HashAlgorithm) -> Option<&'static dyn Hkdf> {
    match hash {
        HashAlgorithm::SHA256 => Some(&*WITH_SHA256),
        HashAlgorithm::SHA384 => Some(&*WITH_SHA384),
        _ => None,
    }
}

/// The HMAC operations that the key schedule needs.
pub(super) trait Keyed: Mac + KeyInit + Clone + Send + Sync + 'static {}

impl<M: Mac + KeyInit + Clone + Send + Sync + 'static> Keyed for M {}

/// HKDF over an HMAC.
pub(super) struct Schedule<M> {
    /// HKDF-Extract(0, 0): the early secret of a connection without a PSK.
    early: Expander<M>,
    /// Derive-Secret(., "derived", "") of the early secret, which is the salt of the handshake
    /// secret, and an HMAC with that salt as its key.
    salt: OkmBlock,
    salted: M,
}

/// HKDF-Expand with a secret, the key of the HMAC.
#[derive(Clone)]
pub(super) struct Expander<M>(M);

/// The longest required HkdfLabel (RFC 8446, section 7.1): its lengths, prefix, label, and a hash.
const LONGEST_INFO: usize = 2 + 1 + LABEL_PREFIX.len() + 12 + 1 + OkmBlock::MAX_LEN;

const LABEL_PREFIX: &[u8] = b"tls13 ";

impl<M: Keyed> Schedule<M> {
    fn new(hash_of_nothing: &[u8]) -> Self {
        let early = Expander(extract(keyed::<M>(zeros::<M>()), zeros::<M>()));
        let length = hash_of_nothing.len() as u8;
        let label = [&[0, length, 13], &b"tls13 derived"[..], &[length], hash_of_nothing];
        let salt = early.expand_block(&label);
        let salted = keyed(salt.as_ref());
        Self { early, salt, salted }
    }

    /// The handshake secret of a connection without a PSK.
    pub(super) fn handshake_secret(&self, shared: &[u8]) -> Expander<M> {
        Expander(extract(self.salted.clone(), shared))
    }

    /// The early secret of a connection with this PSK.
    pub(super) fn early_secret(psk: &OkmBlock) -> Expander<M> {
        Expander(extract(keyed::<M>(zeros::<M>()), psk.as_ref()))
    }

    /// The handshake secret of a connection with a PSK, whose early secret gives this salt
    /// ([`Expander::derived`]).
    pub(super) fn handshake_secret_of(salt: &OkmBlock, shared: &[u8]) -> Expander<M> {
        Expander(extract(keyed::<M>(salt.as_ref()), shared))
    }

    fn with_salt(&self, salt: Option<&[u8]>) -> M {
        match salt {
            Some(salt) if salt == self.salt.as_ref() => self.salted.clone(),
            Some(salt) => keyed(salt),
            None => keyed(zeros::<M>()),
        }
    }
}

impl<M: Keyed> Expander<M> {
    /// Expands this secret.
    pub(super) fn of(secret: &OkmBlock) -> Self {
        Self(keyed(secret.as_ref()))
    }

    /// The HMAC with this secret as its key.
    pub(super) fn into_mac(self) -> M {
        self.0
    }

    /// The master secret of this handshake secret. The argument is the hash of the empty string.
    pub(super) fn master_secret(&self, hash_of_nothing: &[u8]) -> Self {
        let salt = self.derived(hash_of_nothing);
        Self(extract(keyed(salt.as_ref()), zeros::<M>()))
    }

    /// The salt of the next secret after this one. The argument is the hash of the empty string.
    pub(super) fn derived(&self, hash_of_nothing: &[u8]) -> OkmBlock {
        self.expand_label(b"derived", hash_of_nothing)
    }

    /// The PSK of a ticket with this nonce, from the resumption master secret (RFC 8446, section
    /// 4.6.1). A nonce may be longer than the context of any other label.
    pub(super) fn psk(&self, nonce: &[u8]) -> OkmBlock {
        let label = b"tls13 resumption";
        let lengths = [0, M::output_size() as u8, label.len() as u8];
        self.expand_block(&[&lengths, label, &[nonce.len() as u8], nonce])
    }

    /// HKDF-Expand-Label (RFC 8446, section 7.1) with the length of the hash.
    pub(super) fn expand_label(&self, label: &[u8], context: &[u8]) -> OkmBlock {
        let mut output = [0; OkmBlock::MAX_LEN];
        let output = &mut output[..M::output_size()];
        self.expand_label_into(label, context, output);
        OkmBlock::new(output)
    }

    /// HKDF-Expand-Label with at most the length of the hash.
    pub(super) fn expand_label_into(&self, label: &[u8], context: &[u8], output: &mut [u8]) {
        debug_assert!(output.len() <= M::output_size());
        let (length, name) = (output.len() as u16, LABEL_PREFIX.len() + label.len());
        let mut info = [0; LONGEST_INFO + 1];
        let mut end = 0;
        let mut append = |bytes: &[u8]| {
            info[end..end + bytes.len()].copy_from_slice(bytes);
            end += bytes.len();
        };
        append(&length.to_be_bytes());
        append(&[name as u8]);
        append(LABEL_PREFIX);
        append(label);
        append(&[context.len() as u8]);
        append(context);
        // The counter of HKDF-Expand's only block (RFC 5869, section 2.3).
        append(&[1]);
        let mut mac = self.0.clone();
        mac.update(&info[..end]);
        output.copy_from_slice(&mac.finalize().into_bytes()[..output.len()]);
    }
}

/// Zeros with the length of the hash, in place of an absent salt or secret.
fn zeros<M: Keyed>() -> &'static [u8] {
    &[0; OkmBlock::MAX_LEN][..M::output_size()]
}

fn keyed<M: Keyed>(key: &[u8]) -> M {
    <M as KeyInit>::new_from_slice(key).expect("HMAC takes keys of any length")
}

/// HKDF-Extract: the HMAC with the extracted secret as its key.
fn extract<M: Keyed>(mut salted: M, secret: &[u8]) -> M {
    salted.update(secret);
    keyed(&salted.finalize().into_bytes())
}

impl<M: Keyed> Hkdf for Schedule<M> {
    fn extract_from_zero_ikm(&self, salt: Option<&[u8]>) -> Box<dyn HkdfExpander> {
        Box::new(match salt {
            None => self.early.clone(),
            Some(_) => Expander(extract(self.with_salt(salt), zeros::<M>())),
        })
    }

    fn extract_from_secret(&self, salt: Option<&[u8]>, secret: &[u8]) -> Box<dyn HkdfExpander> {
        Box::new(Expander(extract(self.with_salt(salt), secret)))
    }

    fn expander_for_okm(&self, okm: &OkmBlock) -> Box<dyn HkdfExpander> {
        Box::new(Expander(keyed::<M>(okm.as_ref())))
    }

    fn hmac_sign(&self, key: &OkmBlock, message: &[u8]) -> Tag {
        let mut mac = keyed::<M>(key.as_ref());
        mac.update(message);
        Tag::new(&mac.finalize().into_bytes())
    }
}

impl<M: Keyed> HkdfExpander for Expander<M> {
    fn expand_slice(&self, info: &[&[u8]], output: &mut [u8]) -> Result<(), OutputLengthError> {
        let length = M::output_size();
        if output.len() > 255 * length {
            return Err(OutputLengthError);
        }
        let mut last: Option<OkmBlock> = None;
        for (number, chunk) in (1..=255).zip(output.chunks_mut(length)) {
            let mut mac = self.0.clone();
            if let Some(last) = &last {
                mac.update(last.as_ref());
            }
            info.iter().for_each(|part| mac.update(part));
            mac.update(&[number]);
            let block = mac.finalize().into_bytes();
            chunk.copy_from_slice(&block[..chunk.len()]);
            last = (chunk.len() == length).then(|| OkmBlock::new(&block));
        }
        Ok(())
    }

    fn expand_block(&self, info: &[&[u8]]) -> OkmBlock {
        let mut mac = self.0.clone();
        info.iter().for_each(|part| mac.update(part));
        mac.update(&[1]);
        OkmBlock::new(&mac.finalize().into_bytes())
    }

    fn hash_len(&self) -> usize {
        M::output_size()
    }
}

#[cfg(test)]
mod tests {
    use ::aws_lc_rs::hkdf as reference;
    use ::aws_lc_rs::hmac;

    use super::*;

    const HASHES: [(HashAlgorithm, reference::Algorithm, hmac::Algorithm); 2] = [
        (HashAlgorithm::SHA256, reference::HKDF_SHA256, hmac::HMAC_SHA256),
        (HashAlgorithm::SHA384, reference::HKDF_SHA384, hmac::HMAC_SHA384),
    ];

    /// N bytes of output keying material.
    struct Length(usize);

    impl reference::KeyType for Length {
        fn len(&self) -> usize {
            self.0
        }
    }

    fn theirs(prk: &reference::Prk, length: usize) -> Vec<u8> {
        let mut output = vec![0; length];
        prk.expand(&[b"in", b"fo"], Length(length)).unwrap().fill(&mut output).unwrap();
        output
    }

    fn same(ours: &dyn HkdfExpander, prk: &reference::Prk) {
        let length = ours.hash_len();
        assert_eq!(ours.expand_block(&[b"in", b"", b"fo"]).as_ref(), theirs(prk, length));
        for length in [12, 16, length - 1, length, length + 1, 3 * length + 5] {
            let mut output = vec![0; length];
            ours.expand_slice(&[b"info"], &mut output).unwrap();
            assert_eq!(output, theirs(prk, length), "{length} bytes");
        }
        assert!(ours.expand_slice(&[], &mut vec![0; 255 * length + 1]).is_err());
    }

    #[test]
    fn secrets_are_those_of_aws_lc() {
        for (hash, algorithm, _) in HASHES {
            let ours = implementation(hash).unwrap();
            let length = ours.extract_from_zero_ikm(None).hash_len();
            let zeros = vec![0; length];
            // The salt is the key of an HMAC: lengths around those of a hash and of a block.
            for salt_length in [0, 1, 32, 48, 64, 65, 127, 128, 129, 300] {
                let salt = vec![7; salt_length];
                let extracted = reference::Salt::new(algorithm, &salt);
                same(&*ours.extract_from_secret(Some(&salt), b"abc"), &extracted.extract(b"abc"));
                same(&*ours.extract_from_zero_ikm(Some(&salt)), &extracted.extract(&zeros));
            }
            let unsalted = reference::Salt::new(algorithm, &zeros);
            same(&*ours.extract_from_zero_ikm(None), &unsalted.extract(&zeros));
            same(&*ours.extract_from_secret(None, b"abc"), &unsalted.extract(b"abc"));
            let okm = OkmBlock::new(&vec![9; length]);
            let prk = reference::Prk::new_less_safe(algorithm, okm.as_ref());
            same(&*ours.expander_for_okm(&okm), &prk);
        }
        assert!(implementation(HashAlgorithm::SHA1).is_none());
    }

    #[test]
    fn what_is_the_same_in_every_connection_is_what_the_standard_derives() {
        // RFC 8448, section 3: Derive-Secret of the early secret with label "derived", the salt of
        // the handshake secret.
        let salt = "6f2615a108c702c5678f54fc9dbab69716c076189c48250cebeac3576c3611ba";
        let hex: String = WITH_SHA256.salt.as_ref().iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(hex, salt);
        for (hash, algorithm, _) in HASHES {
            let ours = implementation(hash).unwrap();
            let salt = match hash {
                HashAlgorithm::SHA256 => WITH_SHA256.salt.as_ref(),
                _ => WITH_SHA384.salt.as_ref(),
            };
            let extracted = reference::Salt::new(algorithm, salt).extract(b"shared");
            same(&*ours.extract_from_secret(Some(salt), b"shared"), &extracted);
        }
    }

    #[test]
    fn tags_are_those_of_aws_lc() {
        for (hash, _, algorithm) in HASHES {
            let key = [7; 48];
            let tag = implementation(hash).unwrap().hmac_sign(&OkmBlock::new(&key), b"abcde");
            let expected = hmac::sign(&hmac::Key::new(algorithm, &key), b"abcde");
            assert_eq!(tag.as_ref(), expected.as_ref());
        }
    }
}

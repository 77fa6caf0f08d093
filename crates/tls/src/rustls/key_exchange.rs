//! Key-exchange groups that the provider of rustls lacks, and reused key shares.
//!
//! The provider has neither P-521 nor X448. With the implementations here, all groups of an
//! experiment run over the same library, and only the group differs. A reused key share is
//! generated once and offered by every connection: this saves the client the key generation and
//! changes nothing for the server.

#[cfg(feature = "openssl")]
mod x448;

use std::fmt;
use std::sync::{Arc, OnceLock};

use aws_lc_rs::{agreement, kem};
use rustls::crypto::{ActiveKeyExchange, SharedSecret, SupportedKxGroup, aws_lc_rs::kx_group};
use rustls::ffdhe_groups::FfdheGroup;
use rustls::{Error, NamedGroup, PeerMisbehaved, ProtocolVersion};

use super::ffi::{self, X25519_LENGTH};
use tlslab_contract::spec::KeyShare;
use tlslab_wire::names::Group;

/// The groups that this back end can offer. X448 is OpenSSL's.
pub const GROUPS: [Group; 7 + cfg!(feature = "openssl") as usize] = [
    Group::X25519,
    Group::P256,
    Group::P384,
    Group::P521,
    #[cfg(feature = "openssl")]
    Group::X448,
    Group::X25519MlKem768,
    Group::SecP256r1MlKem768,
    Group::MlKem768,
];

/// The implementation of a group; `None` if this back end has none.
///
/// The result lives as long as the program, because rustls requires static groups. A worker
/// requests a handful of groups, once.
pub fn implementation(group: Group, share: KeyShare) -> Option<&'static dyn SupportedKxGroup> {
    let stock = match (share, group) {
        (KeyShare::Fresh, Group::X25519) => Some(kx_group::X25519),
        (KeyShare::Fresh, Group::P256) => Some(kx_group::SECP256R1),
        (KeyShare::Fresh, Group::P384) => Some(kx_group::SECP384R1),
        (KeyShare::Fresh, Group::X25519MlKem768) => Some(kx_group::X25519MLKEM768),
        (KeyShare::Fresh, Group::SecP256r1MlKem768) => Some(kx_group::SECP256R1MLKEM768),
        (KeyShare::Fresh, Group::MlKem768) => Some(kx_group::MLKEM768),
        _ => None,
    };
    stock.or_else(|| own(group, share))
}

/// The implementation of a group in this module, including groups that rustls has: X25519 costs
/// less here (`X25519Key`).
pub fn own(group: Group, share: KeyShare) -> Option<&'static dyn SupportedKxGroup> {
    GROUPS.contains(&group).then(|| {
        let own: &'static OwnGroup =
            Box::leak(Box::new(OwnGroup { group, share, kept: OnceLock::new() }));
        own as &'static dyn SupportedKxGroup
    })
}

/// A group whose keys this module generates.
struct OwnGroup {
    group: Group,
    share: KeyShare,
    kept: OnceLock<Arc<dyn Key>>,
}

/// A private key that may be used more than once.
trait Key: Send + Sync {
    /// The public key share for the peer: a point, an encapsulation key, or both.
    fn share(&self) -> &[u8];

    /// The secret shared with the peer that sent this share; `None` if the share is invalid.
    fn agree(&self, peer: &[u8]) -> Option<Vec<u8>>;

    /// The classical key of a hybrid group, which can be offered by itself as well.
    fn component(&self) -> Option<(Group, &dyn Key)> {
        None
    }
}

impl OwnGroup {
    fn key(&self) -> Result<Arc<dyn Key>, Error> {
        let failed = || Error::General(format!("cannot generate a {} key", self.group));
        if self.share == KeyShare::Fresh {
            return generate(self.group).ok_or_else(failed);
        }
        if let Some(key) = self.kept.get() {
            return Ok(Arc::clone(key));
        }
        let key = generate(self.group).ok_or_else(failed)?;
        Ok(Arc::clone(self.kept.get_or_init(|| key)))
    }
}

fn generate(group: Group) -> Option<Arc<dyn Key>> {
    Some(match group {
        Group::X25519 => Arc::new(X25519Key::generate()),
        Group::P256 => Arc::new(EcdhKey::generate(&agreement::ECDH_P256)?),
        Group::P384 => Arc::new(EcdhKey::generate(&agreement::ECDH_P384)?),
        Group::P521 => Arc::new(EcdhKey::generate(&agreement::ECDH_P521)?),
        #[cfg(feature = "openssl")]
        Group::X448 => Arc::new(x448::X448Key::generate()?),
        Group::MlKem768 => Arc::new(MlKemKey::generate()?),
        Group::X25519MlKem768 => Arc::new(HybridKey::new(
            [generate(Group::MlKem768)?, generate(Group::X25519)?],
            (Group::X25519, 1),
            ML_KEM_768_CIPHERTEXT,
        )),
        Group::SecP256r1MlKem768 => Arc::new(HybridKey::new(
            [generate(Group::P256)?, generate(Group::MlKem768)?],
            (Group::P256, 0),
            P256_POINT,
        )),
        _ => return None,
    })
}

/// Length of an ML-KEM-768 ciphertext in bytes (FIPS 203, table 3).
const ML_KEM_768_CIPHERTEXT: usize = 1088;

/// Length of an uncompressed P-256 point in bytes (RFC 8446, section 4.2.8.2).
const P256_POINT: usize = 65;

/// A key on a curve of aws-lc-rs.
struct EcdhKey {
    key: agreement::PrivateKey,
    share: agreement::PublicKey,
}

impl EcdhKey {
    fn generate(algorithm: &'static agreement::Algorithm) -> Option<Self> {
        let key = agreement::PrivateKey::generate(algorithm).ok()?;
        let share = key.compute_public_key().ok()?;
        Some(Self { key, share })
    }
}

impl Key for EcdhKey {
    fn share(&self) -> &[u8] {
        self.share.as_ref()
    }

    fn agree(&self, peer: &[u8]) -> Option<Vec<u8>> {
        // TLS 1.3 has no compressed points (RFC 8446, section 4.2.8.2): same length, same first
        // byte.
        let own = self.share.as_ref();
        let is_point = own.len() % 2 == 1;
        if peer.len() != own.len() || (is_point && peer.first() != own.first()) {
            return None;
        }
        let peer = agreement::UnparsedPublicKey::new(self.key.algorithm(), peer);
        agreement::agree(&self.key, peer, (), |secret| Ok(secret.to_vec())).ok()
    }
}

/// An X25519 key (RFC 7748) by aws-lc's dedicated function. Its general interface first tries to
/// parse the peer's share as a certificate's key, and allocates three objects for that.
struct X25519Key {
    key: [u8; X25519_LENGTH],
    share: [u8; X25519_LENGTH],
}

impl X25519Key {
    fn generate() -> Self {
        let (key, share) = ffi::x25519_keypair();
        Self { key, share }
    }
}

impl Key for X25519Key {
    fn share(&self) -> &[u8] {
        &self.share
    }

    fn agree(&self, peer: &[u8]) -> Option<Vec<u8>> {
        let peer: &[u8; X25519_LENGTH] = peer.try_into().ok()?;
        ffi::x25519(&self.key, peer)
    }
}

/// An ML-KEM-768 decapsulation key (FIPS 203).
struct MlKemKey {
    key: kem::DecapsulationKey<kem::AlgorithmId>,
    share: Vec<u8>,
}

impl MlKemKey {
    fn generate() -> Option<Self> {
        let key = kem::DecapsulationKey::generate(&kem::ML_KEM_768).ok()?;
        let share = key.encapsulation_key().ok()?.key_bytes().ok()?.as_ref().to_vec();
        Some(Self { key, share })
    }
}

impl Key for MlKemKey {
    fn share(&self) -> &[u8] {
        &self.share
    }

    fn agree(&self, peer: &[u8]) -> Option<Vec<u8>> {
        self.key.decapsulate(peer.into()).ok().map(|secret| secret.as_ref().to_vec())
    }
}

/// Two keys of a hybrid group (draft-ietf-tls-ecdhe-mlkem): shares and secrets are concatenated.
struct HybridKey {
    parts: [Arc<dyn Key>; 2],
    /// The classical part: its group and its place.
    classical: (Group, usize),
    share: Vec<u8>,
    /// The length of the first part of the peer's share, in bytes.
    split: usize,
}

impl HybridKey {
    fn new(parts: [Arc<dyn Key>; 2], classical: (Group, usize), split: usize) -> Self {
        let share = [parts[0].share(), parts[1].share()].concat();
        Self { parts, classical, share, split }
    }
}

impl Key for HybridKey {
    fn share(&self) -> &[u8] {
        &self.share
    }

    fn agree(&self, peer: &[u8]) -> Option<Vec<u8>> {
        let (first, second) = peer.split_at_checked(self.split)?;
        let mut secret = self.parts[0].agree(first)?;
        secret.extend_from_slice(&self.parts[1].agree(second)?);
        Some(secret)
    }

    fn component(&self) -> Option<(Group, &dyn Key)> {
        let (group, place) = self.classical;
        Some((group, &*self.parts[place]))
    }
}

impl SupportedKxGroup for OwnGroup {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        Ok(Box::new(Exchange { name: self.name(), key: self.key()? }))
    }

    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        None
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::from(self.group.code_point())
    }

    fn usable_for_version(&self, version: ProtocolVersion) -> bool {
        version == ProtocolVersion::TLSv1_3 || !self.group.needs_tls13()
    }
}

impl fmt::Debug for OwnGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.group.name())
    }
}

/// A key exchange in progress.
struct Exchange {
    name: NamedGroup,
    key: Arc<dyn Key>,
}

impl ActiveKeyExchange for Exchange {
    fn complete(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        let secret = self.key.agree(peer).ok_or(PeerMisbehaved::InvalidKeyShare)?;
        Ok(SharedSecret::from(secret))
    }

    fn hybrid_component(&self) -> Option<(NamedGroup, &[u8])> {
        let (group, key) = self.key.component()?;
        Some((NamedGroup::from(group.code_point()), key.share()))
    }

    fn complete_hybrid_component(self: Box<Self>, peer: &[u8]) -> Result<SharedSecret, Error> {
        let secret = self.key.component().and_then(|(_, key)| key.agree(peer));
        Ok(SharedSecret::from(secret.ok_or(PeerMisbehaved::InvalidKeyShare)?))
    }

    fn pub_key(&self) -> &[u8] {
        self.key.share()
    }

    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        None
    }

    fn group(&self) -> NamedGroup {
        self.name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_keys_of_a_curve_agree_on_a_secret() {
        for group in [Group::X25519, Group::P256, Group::P384, Group::P521, Group::X448] {
            let (ours, theirs) = (generate(group).unwrap(), generate(group).unwrap());
            let secret = ours.agree(theirs.share()).unwrap();
            assert_eq!(Some(&secret), theirs.agree(ours.share()).as_ref(), "{group}");
            assert!(secret.iter().any(|byte| *byte != 0), "{group}");
        }
    }

    #[test]
    fn a_share_of_the_wrong_size_is_refused() {
        for group in GROUPS {
            let key = generate(group).unwrap();
            for length in [0, 1, 31, key.share().len() - 1, key.share().len() + 1] {
                assert_eq!(key.agree(&vec![4; length]), None, "{group} with {length} bytes");
            }
        }
    }

    #[test]
    fn x25519_is_that_of_aws_lc_rs_and_refuses_a_share_without_a_secret() {
        let (ours, theirs) =
            (X25519Key::generate(), agreement::PrivateKey::generate(&agreement::X25519).unwrap());
        let public = agreement::UnparsedPublicKey::new(&agreement::X25519, ours.share());
        let secret = agreement::agree(&theirs, public, (), |secret| Ok(secret.to_vec()));
        let share = theirs.compute_public_key().unwrap();
        assert_eq!(ours.agree(share.as_ref()), secret.ok());
        assert_eq!(ours.agree(&[0; X25519_LENGTH]), None);
    }

    #[test]
    fn the_classical_part_of_a_hybrid_share_serves_by_itself() {
        let start = |group| implementation(group, KeyShare::Reused).unwrap().start().unwrap();
        for (hybrid, part) in
            [(Group::X25519MlKem768, Group::X25519), (Group::SecP256r1MlKem768, Group::P256)]
        {
            let (ours, theirs) = (start(hybrid), start(part));
            let (name, share) = ours.hybrid_component().unwrap();
            assert_eq!(u16::from(name), part.code_point());
            let share = share.to_vec();
            let peer = theirs.pub_key().to_vec();
            let secret = ours.complete_hybrid_component(&peer).unwrap();
            let expected = theirs.complete(&share).unwrap();
            assert_eq!(secret.secret_bytes(), expected.secret_bytes());
            assert!(start(hybrid).complete_hybrid_component(&[0; 32]).is_err());
            assert!(start(part).hybrid_component().is_none());
        }
    }

    #[test]
    fn a_reused_share_stays_and_a_fresh_one_changes() {
        for (share, same) in [(KeyShare::Reused, true), (KeyShare::Fresh, false)] {
            let group = implementation(Group::P521, share).unwrap();
            let (first, second) = (group.start().unwrap(), group.start().unwrap());
            assert_eq!(first.pub_key() == second.pub_key(), same);
        }
    }

    #[test]
    fn every_listed_group_has_both_kinds_of_share() {
        for group in GROUPS {
            for share in [KeyShare::Fresh, KeyShare::Reused] {
                let found = implementation(group, share).unwrap();
                assert_eq!(u16::from(found.name()), group.code_point());
                found.start().unwrap();
            }
        }
        assert!(implementation(Group::Ffdhe2048, KeyShare::Fresh).is_none());
    }
}

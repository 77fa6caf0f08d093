//! The key share by which a HelloRetryRequest is forced.

use rustls::crypto::{ActiveKeyExchange, SharedSecret, SupportedKxGroup};
use rustls::ffdhe_groups::FfdheGroup;
use rustls::{Error, NamedGroup, PeerMisbehaved, ProtocolVersion};

/// A group that no server supports: its number is for private use (RFC 8446, section 4.2.7). Its key
/// share makes any server ask for another one, or refuse the handshake.
pub static DECOY: Decoy = Decoy;

/// See [`DECOY`].
#[derive(Debug)]
pub struct Decoy;

/// The first number for private use of those that elliptic curves have.
const PRIVATE_USE: u16 = 0xfe00;

/// The length of a share of X25519, so that the ClientHello is as long as a usual one.
const DECOY_SHARE: [u8; 32] = [0x42; 32];

impl SupportedKxGroup for Decoy {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        Ok(Box::new(Self))
    }

    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        None
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::from(PRIVATE_USE)
    }

    fn usable_for_version(&self, version: ProtocolVersion) -> bool {
        version == ProtocolVersion::TLSv1_3
    }
}

impl ActiveKeyExchange for Decoy {
    fn complete(self: Box<Self>, _: &[u8]) -> Result<SharedSecret, Error> {
        Err(PeerMisbehaved::InvalidKeyShare.into())
    }

    fn pub_key(&self) -> &[u8] {
        &DECOY_SHARE
    }

    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        None
    }

    fn group(&self) -> NamedGroup {
        SupportedKxGroup::name(self)
    }
}

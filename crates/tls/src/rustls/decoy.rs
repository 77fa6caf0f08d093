//! The key share that provokes a HelloRetryRequest.

use rustls::crypto::{ActiveKeyExchange, SharedSecret, SupportedKxGroup};
use rustls::ffdhe_groups::FfdheGroup;
use rustls::{Error, NamedGroup, PeerMisbehaved, ProtocolVersion};

/// A group that no server supports: its number is reserved for private use (RFC 8446, section
/// 4.2.7). The server must ask for another key share or refuse the handshake.
pub static DECOY: Decoy = Decoy;

/// See [`DECOY`].
#[derive(Debug)]
pub struct Decoy;

/// The first private-use number of elliptic-curve groups.
const PRIVATE_USE: u16 = 0xfe00;

/// As long as an X25519 share, so that the ClientHello has a usual length.
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

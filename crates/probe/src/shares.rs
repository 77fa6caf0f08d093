//! Fixed public keys for TLS 1.3 key shares, without known private keys: the connection ends with
//! the server's answer. They are the simplest values that every server must accept.

use openssl::bn::BigNumContext;
use openssl::ec::{EcGroup, PointConversionForm};
use openssl::nid::Nid;

use tlslab_wire::names::Group;

/// Length of an ML-KEM-768 encapsulation key in bytes (FIPS 203, table 3).
const MLKEM768: usize = 1184;
const MLKEM1024: usize = 1568;

/// A public key of this group; `None` for an unknown group.
pub fn public_key(group: u16) -> Option<Vec<u8>> {
    Some(match Group::from_code_point(group)? {
        Group::X25519 => x25519(),
        // The base point of RFC 7748, section 4.2.
        Group::X448 => little_endian(5, 56),
        Group::P256 => generator(Nid::X9_62_PRIME256V1)?,
        Group::P384 => generator(Nid::SECP384R1)?,
        Group::P521 => generator(Nid::SECP521R1)?,
        Group::X25519MlKem768 => [zeros(MLKEM768), x25519()].concat(),
        Group::SecP256r1MlKem768 => [generator(Nid::X9_62_PRIME256V1)?, zeros(MLKEM768)].concat(),
        Group::SecP384r1MlKem1024 => [generator(Nid::SECP384R1)?, zeros(MLKEM1024)].concat(),
        Group::MlKem768 => zeros(MLKEM768),
        Group::Ffdhe2048 => two(2048),
        Group::Ffdhe3072 => two(3072),
        Group::Ffdhe4096 => two(4096),
    })
}

/// The base point of RFC 7748, section 4.1.
fn x25519() -> Vec<u8> {
    little_endian(9, 32)
}

/// An encapsulation key whose coefficients are all zero, and so smaller than the modulus. Servers
/// check nothing else (FIPS 203, section 7.2).
fn zeros(length: usize) -> Vec<u8> {
    vec![0; length]
}

/// The generator of the RFC 7919 groups.
fn two(bits: usize) -> Vec<u8> {
    let mut key = vec![0; bits / 8];
    key[bits / 8 - 1] = 2;
    key
}

fn little_endian(number: u8, length: usize) -> Vec<u8> {
    let mut key = vec![0; length];
    key[0] = number;
    key
}

fn generator(curve: Nid) -> Option<Vec<u8>> {
    let group = EcGroup::from_curve_name(curve).ok()?;
    let mut context = BigNumContext::new().ok()?;
    let form = PointConversionForm::UNCOMPRESSED;
    group.generator_opt()?.to_bytes(&group, form, &mut context).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_group_that_can_be_measured_has_a_key_of_its_length() {
        let lengths = [32, 65, 97, 133, 56, 1216, 1249, 1665, 1184, 256, 384, 512];
        let groups = Group::all().map(Group::code_point);
        let keys: Vec<_> = groups.map(|group| public_key(group).unwrap().len()).collect();
        assert_eq!(keys, lengths);
        assert_eq!(public_key(1), None);
    }
}

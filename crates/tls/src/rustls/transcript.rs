//! The transcript hash (RFC 8446, section 4.4.1), over RustCrypto.
//!
//! A handshake needs the hash at four points of its transcript. Here a copy of the state is a copy
//! of some hundred bytes. With the provider it is a context of aws-lc's general interface, which is
//! created, copied and freed with several allocations.

use rustls::crypto::hash::{Context, Hash, HashAlgorithm, Output};
use sha2::{Digest, Sha256, Sha384};

/// A hash function; `None` for one that no TLS 1.3 suite uses here.
pub fn implementation(algorithm: HashAlgorithm) -> Option<&'static dyn Hash> {
    match algorithm {
        HashAlgorithm::SHA256 => Some(&OwnSha256),
        HashAlgorithm::SHA384 => Some(&OwnSha384),
        _ => None,
    }
}

/// Adapts a RustCrypto hash to rustls.
macro_rules! hash_of {
    ($name:ident, $hash:ty, $algorithm:ident) => {
        struct $name;

        impl Hash for $name {
            fn start(&self) -> Box<dyn Context> {
                Box::new(State(<$hash>::new()))
            }

            fn hash(&self, data: &[u8]) -> Output {
                Output::new(&<$hash>::digest(data))
            }

            fn output_len(&self) -> usize {
                <$hash as Digest>::output_size()
            }

            fn algorithm(&self) -> HashAlgorithm {
                HashAlgorithm::$algorithm
            }
        }
    };
}

hash_of!(OwnSha256, Sha256, SHA256);
hash_of!(OwnSha384, Sha384, SHA384);

/// A transcript in progress.
struct State<H>(H);

impl<H: Digest + Clone + Send + Sync + 'static> Context for State<H> {
    fn fork_finish(&self) -> Output {
        Output::new(&self.0.clone().finalize())
    }

    fn fork(&self) -> Box<dyn Context> {
        Box::new(Self(self.0.clone()))
    }

    fn finish(self: Box<Self>) -> Output {
        Output::new(&self.0.finalize())
    }

    fn update(&mut self, data: &[u8]) {
        self.0.update(data);
    }
}

#[cfg(test)]
mod tests {
    use ::aws_lc_rs::digest as reference;

    use super::*;

    #[test]
    fn hashes_are_those_of_aws_lc_whole_and_at_every_fork() {
        let message: Vec<u8> = (0..300).map(|number| number as u8).collect();
        for (algorithm, theirs) in [
            (HashAlgorithm::SHA256, &reference::SHA256),
            (HashAlgorithm::SHA384, &reference::SHA384),
        ] {
            let ours = implementation(algorithm).unwrap();
            assert_eq!((ours.algorithm(), ours.output_len()), (algorithm, theirs.output_len));
            let mut context = ours.start();
            for (taken, byte) in message.iter().enumerate() {
                let expected = reference::digest(theirs, &message[..taken]);
                assert_eq!(ours.hash(&message[..taken]).as_ref(), expected.as_ref());
                assert_eq!(context.fork_finish().as_ref(), expected.as_ref());
                assert_eq!(context.fork().finish().as_ref(), expected.as_ref());
                context.update(&[*byte]);
            }
        }
        assert!(implementation(HashAlgorithm::SHA1).is_none());
    }
}

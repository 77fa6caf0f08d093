//! One thread's session with a key, and its accounting.

use std::cell::Cell;
use std::collections::BTreeMap;

use hdrhistogram::Histogram;

use super::{RsaScheme, Signs};
use tlslab_contract::histogram::empty_histogram;
use tlslab_system::clock::{Clock, MonotonicClock};

thread_local! {
    /// The failure class of the last failed signature on this thread. TLS libraries pass on only
    /// the message of a signer's error, not a class.
    static CLASS: Cell<Option<&'static str>> = const { Cell::new(None) };
}

/// Returns and clears the failure class of the last failed signature on this thread.
pub fn take_class() -> Option<&'static str> {
    CLASS.take()
}

/// True if a failure class means that a node did not answer at all.
pub fn is_away(class: &str) -> bool {
    matches!(class, "signing_timeout" | "signing_unreachable")
}

/// The result of a request for a signature.
#[derive(Debug)]
pub struct Signed {
    /// The index of the node that was asked.
    pub node: usize,
    /// The signature.
    pub result: Result<Vec<u8>, NotSigned>,
}

/// A failed signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotSigned {
    /// `signing_timeout`, `signing_unreachable`, `signing_refused` or `signing_answer`.
    pub class: &'static str,
    /// The error message.
    pub message: String,
}

/// The accounting of signatures.
#[derive(Debug, Clone)]
pub struct SignatureAccounting {
    /// Duration of each successful signature, in nanoseconds.
    pub service: Histogram<u64>,
    /// The accounting of each node.
    pub nodes: Vec<NodeAccounting>,
}

/// The accounting of a node.
#[derive(Debug, Clone, Default)]
pub struct NodeAccounting {
    /// The node's name.
    pub name: String,
    /// Signatures that it made.
    pub signatures: u64,
    /// Failed signatures by class.
    pub failed: BTreeMap<String, u64>,
}

impl SignatureAccounting {
    fn new(names: &[String]) -> Self {
        let accounting =
            |name: &String| NodeAccounting { name: name.clone(), ..NodeAccounting::default() };
        Self { service: empty_histogram(), nodes: names.iter().map(accounting).collect() }
    }

    /// Adds the accounting of another thread.
    pub fn merge(&mut self, other: &Self) {
        self.service.add(&other.service).expect("all histograms have the same bounds");
        for (mine, others) in self.nodes.iter_mut().zip(&other.nodes) {
            mine.signatures += others.signatures;
            for (class, count) in &others.failed {
                *mine.failed.entry(class.clone()).or_default() += count;
            }
        }
    }
}

/// Signs and keeps the accounting.
#[derive(Debug)]
pub struct SignerSession {
    signs: Box<dyn Signs>,
    names: Vec<String>,
    accounting: SignatureAccounting,
}

impl SignerSession {
    pub(super) fn new(signs: Box<dyn Signs>, names: Vec<String>) -> Self {
        let accounting = SignatureAccounting::new(&names);
        Self { signs, names, accounting }
    }

    /// Signs a message; the error is a message for the TLS library.
    pub fn sign(&mut self, message: &[u8], scheme: RsaScheme) -> Result<Vec<u8>, String> {
        let begun = MonotonicClock.now();
        let Signed { node, result } = self.signs.sign(message, scheme);
        let time = MonotonicClock.now() - begun;
        let accounting = &mut self.accounting.nodes[node];
        match result {
            Ok(signature) => {
                accounting.signatures += 1;
                self.accounting.service.saturating_record(time);
                Ok(signature)
            }
            Err(NotSigned { class, message }) => {
                *accounting.failed.entry(class.to_owned()).or_default() += 1;
                CLASS.set(Some(class));
                Err(format!("{}: {message}", accounting.name))
            }
        }
    }

    /// Returns the accounting since the last call, and starts a new one.
    pub fn take_accounting(&mut self) -> SignatureAccounting {
        std::mem::replace(&mut self.accounting, SignatureAccounting::new(&self.names))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Hash;

    /// Signs on two nodes in turn, the second of which is unreachable.
    #[derive(Debug)]
    struct Turns(usize);

    impl Signs for Turns {
        fn sign(&mut self, message: &[u8], _: RsaScheme) -> Signed {
            let node = self.0 % 2;
            self.0 += 1;
            let away = NotSigned { class: "signing_timeout", message: "too late".to_owned() };
            Signed { node, result: if node == 0 { Ok(message.to_vec()) } else { Err(away) } }
        }
    }

    #[test]
    fn accounting_says_who_signed_and_why_not() {
        let mut session =
            SignerSession::new(Box::new(Turns(0)), vec!["a".to_owned(), "b".to_owned()]);
        let scheme = RsaScheme { pss: true, hash: Hash::Sha256 };
        assert_eq!((session.sign(b"x", scheme), take_class()), (Ok(b"x".to_vec()), None));
        assert_eq!(session.sign(b"x", scheme), Err("b: too late".to_owned()));
        assert_eq!((take_class(), take_class()), (Some("signing_timeout"), None));
        let mut accounting = session.take_accounting();
        accounting.merge(&accounting.clone());
        let counts: Vec<_> =
            accounting.nodes.iter().map(|n| (n.signatures, n.failed.len())).collect();
        assert_eq!((counts, accounting.service.len()), (vec![(2, 0), (0, 1)], 2));
        assert_eq!(accounting.nodes[1].failed["signing_timeout"], 2);
        assert_eq!(session.take_accounting().nodes[0].signatures, 0);
    }
}

//! A key that several signing nodes hold: the transit engine of OpenBao or Vault, over HTTPS.
//!
//! Who is asked is settled beforehand, by the weights. There is no second attempt and nobody is left
//! out for having failed: a node that is slow or away costs the handshakes that fall to it, as it
//! does a client that knows no better.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use openssl::rsa::Rsa;
use rustls::crypto::aws_lc_rs;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256, Sha384, Sha512};
use ureq::Agent;
use ureq::tls::{Certificate, RootCerts, TlsConfig, TlsProvider, parse_pem};

use super::desk::{NotSigned, Signed};
use super::wheel::Wheel;
use super::{ClusterKey, Hash, Keeper, RsaScheme, SigningNode, Signs};
use crate::guard::permit_host;
use crate::hostile::harmless;
use crate::in_memory::InMemoryError;
use crate::target::Target;

/// The most of an answer that is read: a signature of RSA-4096 in base64 is 684 bytes.
const ANSWER_LIMIT: u64 = 64 * 1024;

/// The most of a node's words that are passed on.
const WORDS_LIMIT: usize = 200;

/// The header that carries what lets one sign.
const TOKEN_HEADER: &str = "X-Vault-Token";

/// The nodes, and what it takes to ask them.
#[derive(Debug)]
pub struct Cluster {
    asked: ClusterKey,
    public_key: Vec<u8>,
    authorities: Arc<Vec<Certificate<'static>>>,
}

impl Cluster {
    /// Checks the description; nobody is asked yet.
    pub fn new(asked: &ClusterKey) -> Result<Self, InMemoryError> {
        let usage = |message: &str| InMemoryError::Usage(format!("signing nodes: {message}"));
        if asked.nodes.iter().map(|node| u64::from(node.weight)).sum::<u64>() == 0 {
            return Err(usage("at least one needs a weight above 0"));
        }
        if asked.timeout_ms == 0 {
            return Err(usage("the time-out must be 1 ms at least"));
        }
        asked.nodes.iter().try_for_each(|node| check(node, &asked.allow))?;
        let key = Rsa::public_key_from_pem(asked.public_key.as_bytes());
        let public_key = key
            .and_then(|key| key.public_key_to_der_pkcs1())
            .map_err(|_| usage("the public key is no RSA key in PEM form"))?;
        let authorities: Vec<_> = parse_pem(asked.authority.as_bytes())
            .filter_map(|item| match item {
                Ok(ureq::tls::PemItem::Certificate(certificate)) => Some(certificate),
                _ => None,
            })
            .collect();
        if authorities.is_empty() {
            return Err(usage("the authority has no certificate in PEM form"));
        }
        Ok(Self { asked: asked.clone(), public_key, authorities: Arc::new(authorities) })
    }
}

/// Only loopback, and addresses that the user lists; an address and no name, so that it is the one
/// that was checked.
fn check(node: &SigningNode, allow: &[String]) -> Result<(), InMemoryError> {
    let refuse = |why: String| {
        InMemoryError::Usage(format!("signing node {}: {why}", harmless(&node.name, WORDS_LIMIT)))
    };
    let target = Target::parse(&node.url).map_err(|e| refuse(e.to_string()))?;
    if target.host.parse::<IpAddr>().is_err() {
        return Err(refuse("give its address, and no name".to_owned()));
    }
    permit_host(&target, allow, Duration::ZERO).map_err(|e| refuse(e.to_string()))?;
    Ok(())
}

impl Keeper for Cluster {
    fn public_key(&self) -> &[u8] {
        &self.public_key
    }

    fn nodes(&self) -> Vec<String> {
        self.asked.nodes.iter().map(|node| node.name.clone()).collect()
    }

    fn open(&self) -> Result<Box<dyn Signs>, InMemoryError> {
        let tls = TlsConfig::builder()
            .provider(TlsProvider::Rustls)
            .unversioned_rustls_crypto_provider(Arc::new(aws_lc_rs::default_provider()))
            .root_certs(RootCerts::Specific(Arc::clone(&self.authorities)))
            .build();
        let agent = Agent::config_builder()
            .tls_config(tls)
            .proxy(None)
            .max_redirects(0)
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_millis(self.asked.timeout_ms.into())))
            .build()
            .new_agent();
        let url = |node: &SigningNode| {
            format!("{}/v1/transit/sign/{}", node.url.trim_end_matches('/'), self.asked.key)
        };
        // Opens a connection to each, so that no handshake has to; one that is away stays so.
        for node in &self.asked.nodes {
            let health = format!("{}/v1/sys/health", node.url.trim_end_matches('/'));
            let _ = agent.get(&health).call().map(|mut answer| {
                answer.body_mut().with_config().limit(ANSWER_LIMIT).read_to_string()
            });
        }
        Ok(Box::new(Line {
            agent,
            urls: self.asked.nodes.iter().map(url).collect(),
            wheel: Wheel::new(self.asked.nodes.iter().map(|node| node.weight)),
            token: self.asked.token.reveal().to_owned(),
        }))
    }
}

/// One thread's connections to the nodes.
struct Line {
    agent: Agent,
    urls: Vec<String>,
    wheel: Wheel,
    token: String,
}

impl std::fmt::Debug for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Line").field("urls", &self.urls).finish_non_exhaustive()
    }
}

impl Signs for Line {
    fn sign(&mut self, message: &[u8], scheme: RsaScheme) -> Signed {
        let node = self.wheel.turn();
        Signed { node, result: self.ask(node, message, scheme) }
    }
}

impl Line {
    fn ask(&self, node: usize, message: &[u8], scheme: RsaScheme) -> Result<Vec<u8>, NotSigned> {
        let (hash, digest) = match scheme.hash {
            Hash::Sha256 => ("sha2-256", Sha256::digest(message).to_vec()),
            Hash::Sha384 => ("sha2-384", Sha384::digest(message).to_vec()),
            Hash::Sha512 => ("sha2-512", Sha512::digest(message).to_vec()),
        };
        let request = json!({
            "input": BASE64_STANDARD.encode(digest),
            "prehashed": true,
            "signature_algorithm": if scheme.pss { "pss" } else { "pkcs1v15" },
            "salt_length": "hash",
        });
        let url = format!("{}/{hash}", self.urls[node]);
        let sent =
            self.agent.post(&url).header(TOKEN_HEADER, &self.token).send(request.to_string());
        let mut answer = sent.map_err(|error| no_answer(&error))?;
        let status = answer.status().as_u16();
        let body = answer.body_mut().with_config().limit(ANSWER_LIMIT).read_to_string();
        read(status, &body.map_err(|error| no_answer(&error))?)
    }
}

/// The signature in a node's answer.
fn read(status: u16, body: &str) -> Result<Vec<u8>, NotSigned> {
    let answer: Value = serde_json::from_str(body).unwrap_or(Value::Null);
    if status != 200 {
        let said = answer["errors"][0].as_str().unwrap_or("no reason");
        let message = format!("status {status}: {}", harmless(said.trim(), WORDS_LIMIT));
        return Err(NotSigned { class: "signing_refused", message });
    }
    let signature = answer["data"]["signature"].as_str().and_then(|text| text.rsplit(':').next());
    signature.and_then(|text| BASE64_STANDARD.decode(text).ok()).ok_or_else(|| NotSigned {
        class: "signing_answer",
        message: "the answer has no signature".to_owned(),
    })
}

fn no_answer(error: &ureq::Error) -> NotSigned {
    let timed_out = match error {
        ureq::Error::Timeout(_) => true,
        ureq::Error::Io(error) => error.kind() == std::io::ErrorKind::TimedOut,
        _ => false,
    };
    let class = match error {
        _ if timed_out => "signing_timeout",
        ureq::Error::BodyExceedsLimit(_) | ureq::Error::Protocol(_) => "signing_answer",
        _ => "signing_unreachable",
    };
    NotSigned { class, message: harmless(&error.to_string(), WORDS_LIMIT) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(status: u16, body: &str) -> &'static str {
        read(status, body).unwrap_err().class
    }

    #[test]
    fn answers_are_read_whatever_they_are() {
        let good = r#"{"data":{"signature":"vault:v1:AAEC"}}"#;
        assert_eq!(read(200, good), Ok(vec![0, 1, 2]));
        for wrong in ["", "{", "[]", r#"{"data":{"signature":7}}"#, r#"{"data":{"signature":"%"}}"#]
        {
            assert_eq!(class(200, wrong), "signing_answer", "{wrong}");
        }
        let refused = read(403, r#"{"errors":["permission\ndenied"]}"#).unwrap_err();
        assert_eq!(
            (refused.class, refused.message.as_str()),
            ("signing_refused", "status 403: permission\u{fffd}denied",)
        );
        assert_eq!(class(503, "<html>"), "signing_refused");
    }

    #[test]
    fn only_addresses_that_may_be_loaded_are_asked() {
        let check = |url: &str, allow: &[String]| {
            let node = SigningNode { name: "a".to_owned(), url: url.to_owned(), weight: 1 };
            check(&node, allow)
        };
        assert_eq!(check("https://127.0.0.1:8200", &[]), Ok(()));
        assert!(check("https://192.0.2.7:8200", &[]).is_err());
        assert_eq!(check("https://192.0.2.7:8200", &["192.0.2.7".to_owned()]), Ok(()));
        assert!(check("https://localhost:8200", &[]).unwrap_err().to_string().contains("no name"));
        assert!(check("http://127.0.0.1:8200", &[]).is_err());
    }
}

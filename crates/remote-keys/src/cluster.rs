//! A key on several signing nodes: the transit engine of OpenBao or Vault, over HTTPS.
//!
//! Only the weights decide which node is asked next. There is no retry, and a failed node is asked
//! again: a slow or dead node delays or fails its share of the handshakes, as with a client without
//! health checks.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use openssl::rsa::Rsa;
use openssl::x509::X509;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256, Sha384, Sha512};

use super::node_connection::{Answer, NodeConnection, WORDS_LIMIT};
use super::session::{NotSigned, Signed};
use super::weighted_round_robin::WeightedRoundRobin;
use super::{ClusterKey, Hash, KeyError, KeySource, RsaScheme, SigningNode, Signs};
use tlslab_system::guard::permit_host;
use tlslab_wire::sanitize::sanitize;
use tlslab_wire::target::Target;

/// The header with the token that permits signing.
const TOKEN_HEADER: &str = "X-Vault-Token";

/// The nodes, and the parameters of requests to them.
#[derive(Debug)]
pub struct Cluster {
    asked: ClusterKey,
    public_key: Vec<u8>,
    addresses: Vec<SocketAddr>,
    tls: Arc<ClientConfig>,
}

impl Cluster {
    /// Checks the description. No node is contacted yet.
    pub fn new(asked: &ClusterKey) -> Result<Self, KeyError> {
        let usage = |message: &str| KeyError::Usage(format!("signing nodes: {message}"));
        if asked.nodes.iter().map(|node| u64::from(node.weight)).sum::<u64>() == 0 {
            return Err(usage("at least one needs a weight above 0"));
        }
        if asked.timeout_ms == 0 {
            return Err(usage("the time-out must be 1 ms at least"));
        }
        // Names become part of a request.
        let plain = |text: &str| text.bytes().all(|b| b.is_ascii_graphic() && b != b'/');
        if !plain(&asked.key) || !plain(asked.token.reveal()) {
            return Err(usage("key and token must be of printable ASCII, without spaces"));
        }
        let addresses = asked.nodes.iter().map(|node| check(node, &asked.allow));
        let addresses = addresses.collect::<Result<_, _>>()?;
        let key = Rsa::public_key_from_pem(asked.public_key.as_bytes());
        let public_key = key
            .and_then(|key| key.public_key_to_der_pkcs1())
            .map_err(|_| usage("the public key is no RSA key in PEM form"))?;
        let tls = trusting(&asked.authority)
            .ok_or_else(|| usage("the authority is no certificate in PEM form"))?;
        Ok(Self { asked: asked.clone(), public_key, addresses, tls: Arc::new(tls) })
    }
}

/// A TLS configuration that trusts only these authorities.
fn trusting(pem: &str) -> Option<ClientConfig> {
    let mut roots = RootCertStore::empty();
    for certificate in X509::stack_from_pem(pem.as_bytes()).ok()? {
        roots.add(CertificateDer::from(certificate.to_der().ok()?)).ok()?;
    }
    if roots.is_empty() {
        return None;
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().ok()?;
    Some(builder.with_root_certificates(roots).with_no_client_auth())
}

/// Allows loopback and listed addresses only. The host must be an address, so that the checked
/// address is the one that is used.
fn check(node: &SigningNode, allow: &[String]) -> Result<SocketAddr, KeyError> {
    let refuse = |why: String| {
        KeyError::Usage(format!("signing node {}: {why}", sanitize(&node.name, WORDS_LIMIT)))
    };
    let target = Target::parse_tls(&node.url).map_err(|e| refuse(e.to_string()))?;
    if target.host.parse::<IpAddr>().is_err() {
        return Err(refuse("give its address, and no name".to_owned()));
    }
    let permit = permit_host(&target, allow, Duration::ZERO);
    permit.map(|permit| permit.address).map_err(|e| refuse(e.to_string()))
}

impl KeySource for Cluster {
    fn public_key(&self) -> &[u8] {
        &self.public_key
    }

    fn nodes(&self) -> Vec<String> {
        self.asked.nodes.iter().map(|node| node.name.clone()).collect()
    }

    fn open(&self) -> Result<Box<dyn Signs>, KeyError> {
        let connections =
            self.addresses.iter().map(|at| NodeConnection::new(*at, Arc::clone(&self.tls)));
        let authority = |node: &SigningNode| {
            node.url.trim_start_matches("https://").trim_end_matches('/').to_owned()
        };
        let mut signer = NodeConnections {
            connections: connections.collect(),
            hosts: self.asked.nodes.iter().map(authority).collect(),
            turns: WeightedRoundRobin::new(self.asked.nodes.iter().map(|node| node.weight)),
            key: self.asked.key.clone(),
            token: self.asked.token.reveal().to_owned(),
            patience: Duration::from_millis(self.asked.timeout_ms.into()),
        };
        signer.connect();
        Ok(Box::new(signer))
    }
}

/// The connections of one thread to the nodes.
struct NodeConnections {
    connections: Vec<NodeConnection>,
    hosts: Vec<String>,
    turns: WeightedRoundRobin,
    key: String,
    token: String,
    patience: Duration,
}

impl std::fmt::Debug for NodeConnections {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NodeConnections").field("hosts", &self.hosts).finish_non_exhaustive()
    }
}

impl Signs for NodeConnections {
    fn sign(&mut self, message: &[u8], scheme: RsaScheme) -> Signed {
        let node = self.turns.turn();
        Signed { node, result: self.ask(node, message, scheme) }
    }
}

impl NodeConnections {
    /// Opens a connection to each node before the first handshake. Errors are ignored: the requests
    /// for signatures will report them.
    fn connect(&mut self) {
        for (connection, host) in self.connections.iter_mut().zip(&self.hosts) {
            let health = format!("GET /v1/sys/health HTTP/1.1\r\nHost: {host}\r\n\r\n");
            let _ = connection.ask(health.as_bytes(), self.patience);
        }
    }

    fn ask(
        &mut self,
        node: usize,
        message: &[u8],
        scheme: RsaScheme,
    ) -> Result<Vec<u8>, NotSigned> {
        let (hash, digest) = match scheme.hash {
            Hash::Sha256 => ("sha2-256", Sha256::digest(message).to_vec()),
            Hash::Sha384 => ("sha2-384", Sha384::digest(message).to_vec()),
            Hash::Sha512 => ("sha2-512", Sha512::digest(message).to_vec()),
        };
        let body = json!({
            "input": BASE64_STANDARD.encode(digest),
            "prehashed": true,
            "signature_algorithm": if scheme.pss { "pss" } else { "pkcs1v15" },
            "salt_length": "hash",
        });
        let body = body.to_string();
        let (host, key, token, length) = (&self.hosts[node], &self.key, &self.token, body.len());
        let request = format!(
            "POST /v1/transit/sign/{key}/{hash} HTTP/1.1\r\nHost: {host}\r\n\
             {TOKEN_HEADER}: {token}\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        );
        let answer = self.connections[node].ask(request.as_bytes(), self.patience)?;
        read(&answer)
    }
}

/// The signature in a node's answer.
fn read(answer: &Answer) -> Result<Vec<u8>, NotSigned> {
    let status = answer.status;
    let answer: Value = serde_json::from_slice(&answer.body).unwrap_or(Value::Null);
    if status != 200 {
        let said = answer["errors"][0].as_str().unwrap_or("no reason");
        let message = format!("status {status}: {}", sanitize(said.trim(), WORDS_LIMIT));
        return Err(NotSigned { class: "signing_refused", message });
    }
    let signature = answer["data"]["signature"].as_str().and_then(|text| text.rsplit(':').next());
    signature.and_then(|text| BASE64_STANDARD.decode(text).ok()).ok_or_else(|| NotSigned {
        class: "signing_answer",
        message: "the answer has no signature".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(status: u16, body: &str) -> Result<Vec<u8>, NotSigned> {
        super::read(&Answer { status, body: body.as_bytes().to_vec() })
    }

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
        assert_eq!(check("https://127.0.0.1:8200", &[]), Ok(([127, 0, 0, 1], 8200).into()));
        assert!(check("https://192.0.2.7:8200", &[]).is_err());
        assert!(check("https://192.0.2.7:8200", &["192.0.2.7".to_owned()]).is_ok());
        assert!(check("https://localhost:8200", &[]).unwrap_err().to_string().contains("no name"));
        assert!(check("http://127.0.0.1:8200", &[]).is_err());
    }
}

//! The flags for the ClientHello and for certificates.

use clap::{Args, ValueEnum};
use tlslab_contract::spec::{
    Authenticate, BackendChoice, ClientChoice, ClientIdentity, KeyShare, Secret, TlsSpec, Trust,
};
use tlslab_wire::names::{CipherSuite, Group, SignatureScheme, TlsVersion};

use super::read_file;
use super::resumption::ResumptionArguments;
use crate::load::problem::Problem;
use crate::load::trust;

/// What the ClientHello offers, and how the server is authenticated.
#[derive(Debug, Args)]
#[command(next_help_heading = "TLS")]
pub struct TlsArguments {
    /// Protocol version to offer (repeatable): 1.2, 1.3; with --allow-obsolete ssl3, 1.0, 1.1
    #[arg(long, value_name = "VERSION")]
    tls: Vec<TlsVersion>,

    /// Cipher suite to offer (repeatable), by its IANA or OpenSSL name
    #[arg(long, value_name = "SUITE")]
    suite: Vec<CipherSuite>,

    /// Key-exchange group to offer (repeatable): X25519, P-256, X25519MLKEM768, ...
    #[arg(long, value_name = "GROUP")]
    group: Vec<Group>,

    /// Signature scheme to accept (repeatable): ecdsa_secp256r1_sha256, ...
    #[arg(long, value_name = "SCHEME")]
    sigalg: Vec<SignatureScheme>,

    /// With DHE suites: required size of the server's Diffie-Hellman prime, in bits
    #[arg(long, value_name = "BITS")]
    dh_bits: Option<u32>,

    /// Whether the server must staple an OCSP response to its certificate. A connection that
    /// differs counts as unexpected. Every connection asks for a response, also without this option
    #[arg(long, value_enum, value_name = "WHETHER")]
    ocsp_stapling: Option<StaplingName>,

    /// Name for SNI and the certificate check, instead of the URL's host (repeatable: connections
    /// use the names in turn, and the record counts each)
    #[arg(long, value_name = "NAME")]
    sni: Vec<String>,

    /// Application protocol to offer (repeatable); the server must select one. 'none' sends no
    /// ALPN. Protocols other than that of --http need --handshake-only
    #[arg(long, value_name = "NAME")]
    alpn: Vec<String>,

    /// Client certificate: a PEM file with its chain; unexpected if the server does not request it
    #[arg(long, value_name = "FILE", requires = "client_key")]
    client_cert: Option<String>,

    /// Private key of --client-cert: PEM without a password; kept out of records
    #[arg(long, value_name = "FILE", requires = "client_cert")]
    client_key: Option<String>,

    /// Allow SSL 3.0 to TLS 1.1, RC4, 3DES, and keys and primes of less than 2,048 bits. All are
    /// unsafe; each is offered only if another option names it
    #[arg(long)]
    allow_obsolete: bool,

    /// Trust the certificates in this PEM file, and no others
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    ca: Option<String>,

    /// Do not check the server's chain and name; the handshake signature is still verified
    #[arg(long)]
    insecure: bool,

    /// TLS library: auto, rustls, openssl
    #[arg(long, value_enum, default_value = "auto", value_name = "NAME")]
    backend: BackendName,

    /// Authenticate the server on every connection, or (sampled) on the first of each worker and
    /// server name and on 1 in 128 after that
    #[arg(long, value_enum, default_value = "every", value_name = "HOW")]
    authenticate: AuthenticateName,

    /// Generate a fresh key share for each connection, or reuse one
    #[arg(long, value_enum, default_value = "fresh", value_name = "HOW")]
    key_share: KeyShareName,

    /// Client for TLS 1.3 handshakes, full ones and resumptions: the minimal client, which costs
    /// least (auto), or the TLS library, as in all other handshakes
    #[arg(long, value_enum, default_value = "auto", value_name = "NAME")]
    client: ClientName,

    /// Same as --authenticate sampled --key-share reused: saves a third of the client's cost, none
    /// of the server's. Not with OpenSSL, which cannot reuse a key share
    #[arg(long, conflicts_with_all = ["authenticate", "key_share"])]
    lean: bool,

    #[command(flatten)]
    resumption: ResumptionArguments,
}

#[derive(Debug, Clone, Copy, PartialEq, ValueEnum)]
enum StaplingName {
    On,
    Off,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum BackendName {
    Auto,
    Rustls,
    Openssl,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum AuthenticateName {
    Every,
    Sampled,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum KeyShareName {
    Fresh,
    Reused,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ClientName {
    Auto,
    Library,
}

/// The certificate authorities that `--ca` and `--insecure` trust.
pub fn trust(ca: Option<&str>, insecure: bool) -> Result<Trust, Problem> {
    Ok(match ca {
        Some(file) => Trust::Pem(trust::from_file(file)?),
        None if insecure => Trust::Anyone,
        None => Trust::System,
    })
}

impl TlsArguments {
    /// The TLS part of the specification.
    pub fn spec(&self) -> Result<TlsSpec, Problem> {
        let (authenticate, key_share) = match (self.lean, self.authenticate, self.key_share) {
            (true, _, _) => (Authenticate::Sampled, KeyShare::Reused),
            (false, authenticate, key_share) => (authenticate.into(), key_share.into()),
        };
        Ok(self.resumption.added_to(TlsSpec {
            versions: self.tls.clone(),
            suites: self.suite.clone(),
            groups: self.group.clone(),
            signature_schemes: self.sigalg.clone(),
            backend: match self.backend {
                BackendName::Auto => BackendChoice::Auto,
                BackendName::Rustls => BackendChoice::Rustls,
                BackendName::Openssl => BackendChoice::Openssl,
            },
            authenticate,
            key_share,
            client: match self.client {
                ClientName::Auto => ClientChoice::Auto,
                ClientName::Library => ClientChoice::Library,
            },
            server_name: if let [name] = &*self.sni { Some(name.clone()) } else { None },
            server_names: if self.sni.len() > 1 { self.sni.clone() } else { Vec::new() },
            alpn: self.alpn()?,
            client_identity: self.client_identity()?,
            dh_bits: self.dh_bits,
            ocsp_stapling: self.ocsp_stapling.map(|name| name == StaplingName::On),
            allow_obsolete: self.allow_obsolete,
            trust: self.trust()?,
            ..TlsSpec::default()
        }))
    }

    /// The name for SNI, if one is given.
    #[cfg(feature = "openssl")]
    pub fn name(&self) -> Option<String> {
        self.sni.first().cloned()
    }

    /// The certificate authorities to trust.
    pub fn trust(&self) -> Result<Trust, Problem> {
        trust(self.ca.as_deref(), self.insecure)
    }

    fn alpn(&self) -> Result<Option<Vec<String>>, Problem> {
        match &*self.alpn {
            [] => Ok(None),
            [none] if none == "none" => Ok(Some(Vec::new())),
            names if names.iter().any(|name| name == "none") => {
                Err(Problem::usage("--alpn none excludes every other --alpn".to_owned()))
            }
            names => Ok(Some(names.to_vec())),
        }
    }

    fn client_identity(&self) -> Result<Option<ClientIdentity>, Problem> {
        let (Some(certificate), Some(key)) = (&self.client_cert, &self.client_key) else {
            return Ok(None);
        };
        let (certificate, key) = (read_file(certificate)?, Secret::new(read_file(key)?));
        Ok(Some(ClientIdentity { certificate, key }))
    }
}

impl From<AuthenticateName> for Authenticate {
    fn from(name: AuthenticateName) -> Self {
        match name {
            AuthenticateName::Every => Self::Every,
            AuthenticateName::Sampled => Self::Sampled,
        }
    }
}

impl From<KeyShareName> for KeyShare {
    fn from(name: KeyShareName) -> Self {
        match name {
            KeyShareName::Fresh => Self::Fresh,
            KeyShareName::Reused => Self::Reused,
        }
    }
}

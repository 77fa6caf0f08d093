//! The complete back end: OpenSSL 3.6, built in. Slower than rustls, and it has what aws-lc-rs has
//! not: X448, finite-field Diffie-Hellman, static RSA, CCM and CBC.
//!
//! `context` turns an offer into a context, `session` drives a connection, `wire` lies between the
//! library and the socket, `facts` and `failure` say what came of it, and `ffi` holds the calls
//! that the `openssl` crate does not wrap.

mod context;
mod facts;
mod failure;
pub(crate) mod ffi;
mod session;
mod wire;

use std::net::IpAddr;

use ::openssl::ssl::{Ssl, SslContext};

use crate::outcome::Failure;
use crate::spec::{Authenticate, KeyShare};

use super::{Backend, BackendError, Offer, SAMPLING_PERIOD, TrustAnchors};

pub use session::OpensslSession;

/// The back end's name, as records have it.
pub const NAME: &str = "openssl";

/// OpenSSL could not make a session: it fails at that for want of memory only.
const OUT_OF_MEMORY: Failure = Failure::System(libc::ENOMEM);

/// The most bytes of a server's name that SNI takes (`TLSEXT_MAXLEN_host_name`).
const NAME_LIMIT: usize = 255;

/// Makes OpenSSL sessions for one worker.
#[derive(Debug)]
pub struct OpensslBackend {
    /// For connections on which the server is authenticated; `None` if it never is.
    authenticating: Option<SslContext>,
    /// For the others.
    trusting: SslContext,
    /// One connection in so many is authenticated.
    period: u32,
    /// Connections opened, modulo the period.
    opened: u32,
    /// The name to send; none for an address (RFC 6066, section 3).
    sni: Option<String>,
}

impl OpensslBackend {
    /// A back end for an offer.
    ///
    /// # Errors
    /// [`BackendError::Unsupported`] for a suite, group or scheme that OpenSSL lacks, and for
    /// [`KeyShare::Reused`], since OpenSSL draws a key share anew for every connection;
    /// [`BackendError::Refused`], in the library's words, when no ClientHello can be made of the
    /// offer.
    pub fn new(offer: &Offer) -> Result<Self, BackendError> {
        if offer.key_share == KeyShare::Reused {
            return Err(BackendError::Unsupported {
                backend: NAME,
                what: "re-used key share".to_owned(),
                has: "a fresh key share for every connection".to_owned(),
            });
        }
        let name = &offer.server_name;
        if name.is_empty() || name.len() > NAME_LIMIT || name.contains('\0') {
            let message = format!("a server's name has 1 to {NAME_LIMIT} bytes, none of them zero");
            return Err(BackendError::Refused { backend: NAME, message });
        }
        let mut backend = Self {
            authenticating: match &offer.trust {
                TrustAnchors::Certificates(anchors) => Some(context::build(offer, Some(anchors))?),
                TrustAnchors::Anyone => None,
            },
            trusting: context::build(offer, None)?,
            period: match offer.authenticate {
                Authenticate::Every => 1,
                Authenticate::Sampled => SAMPLING_PERIOD,
            },
            opened: 0,
            sni: name.parse::<IpAddr>().is_err().then(|| name.clone()),
        };
        backend.rehearse()?;
        Ok(backend)
    }

    /// Finds out before the first connection whether a ClientHello can be made at all.
    fn rehearse(&mut self) -> Result<(), BackendError> {
        let refused = |message| BackendError::Refused { backend: NAME, message };
        let mut session = self.open().map_err(|e| refused(e.to_string()))?;
        self.opened = 0;
        session.rehearse().map_err(refused)
    }
}

impl Backend for OpensslBackend {
    type Session = OpensslSession;

    fn open(&mut self) -> Result<OpensslSession, Failure> {
        let due = self.opened == 0;
        self.opened = (self.opened + 1) % self.period;
        let authenticating = self.authenticating.as_ref().filter(|_| due);
        let context = authenticating.unwrap_or(&self.trusting);
        let mut ssl = Ssl::new(context).map_err(|_| OUT_OF_MEMORY)?;
        if let Some(name) = &self.sni {
            ssl.set_hostname(name).map_err(|_| OUT_OF_MEMORY)?;
        }
        OpensslSession::new(ssl, authenticating.is_some())
    }
}

//! The complete back end: the built-in OpenSSL 3.6. Slower than rustls, but supports the features
//! that aws-lc-rs lacks: X448, finite-field Diffie-Hellman, static RSA, CCM and CBC.
//!
//! `context` builds a context from the settings, `session` drives a connection, `bio_buffer`
//! connects the library to the socket, `facts`, `dh_prime` and `failure` read the outcome, `ffi` holds the
//! calls that the `openssl` crate does not wrap, and `legacy` enables obsolete parameters.

mod bio_buffer;
mod context;
pub mod dh_prime;
mod facts;
mod failure;
pub mod ffi;
pub mod legacy;
mod session;
mod tickets;

use std::net::IpAddr;

use ::openssl::error::ErrorStack;
use ::openssl::ssl::{Ssl, SslContext, StatusType};

use tlslab_contract::spec::{Authenticate, KeyShare, Resume};
use tlslab_wire::outcome::Failure;

use super::pool::Pool;
use super::turns::{Turn, Turns};
use super::{Backend, BackendError, ClientSettings, SAMPLING_PERIOD, TrustAnchors};

use tickets::Ticket;

pub use session::OpensslSession;

pub use super::OPENSSL_NAME as NAME;

/// OpenSSL could not create a session. The only cause is a lack of memory.
const OUT_OF_MEMORY: Failure = Failure::System(libc::ENOMEM);

/// The highest length of a server name in SNI, in bytes (`TLSEXT_MAXLEN_host_name`).
const NAME_LIMIT: usize = 255;

/// Creates the OpenSSL sessions of one worker.
#[derive(Debug)]
pub struct OpensslBackend {
    /// The context of connections that authenticate the server; `None` if none does.
    authenticating: Option<SslContext>,
    /// The context of the other connections.
    trusting: SslContext,
    /// Of each name, 1 in N connections is authenticated.
    period: u32,
    /// The server names to ask for.
    names: Vec<ServerName>,
    /// The order of names and the selection of authenticated connections.
    turns: Turns,
    resume: Resume,
    pool: Pool<Ticket>,
}

/// A server's name. An address is not sent by SNI (RFC 6066, section 3), but is checked against the
/// certificate.
#[derive(Debug)]
enum ServerName {
    Dns(String),
    Address(IpAddr),
}

impl ServerName {
    fn new(name: &str) -> Result<Self, String> {
        if name.is_empty() || name.len() > NAME_LIMIT || name.contains('\0') {
            return Err(format!("a server's name has 1 to {NAME_LIMIT} bytes, none of them zero"));
        }
        Ok(name.parse().map_or_else(|_| Self::Dns(name.to_owned()), Self::Address))
    }

    /// Sends the name by SNI, and verifies the certificate against it.
    fn set(&self, ssl: &mut Ssl) -> Result<(), ErrorStack> {
        match self {
            Self::Dns(name) => {
                ssl.set_hostname(name)?;
                ssl.param_mut().set_host(name)
            }
            Self::Address(address) => ssl.param_mut().set_ip(*address),
        }
    }
}

impl OpensslBackend {
    /// A back end for these settings.
    ///
    /// # Errors
    /// [`BackendError::Unsupported`] for a suite, group or scheme that OpenSSL lacks, and for
    /// [`KeyShare::Reused`], because OpenSSL generates a key share for every connection.
    /// [`BackendError::Refused`], with the library's message, if the settings allow no ClientHello.
    pub fn new(settings: &ClientSettings) -> Result<Self, BackendError> {
        if settings.key_share == KeyShare::Reused {
            return Err(BackendError::Unsupported {
                backend: NAME,
                what: "re-used key share".to_owned(),
                has: "a fresh key share for every connection (--key-share fresh)".to_owned(),
            });
        }
        let names = settings.names(NAME, ServerName::new)?;
        let period = match settings.authenticate {
            Authenticate::Every => 1,
            Authenticate::Sampled => SAMPLING_PERIOD,
        };
        let mut backend = Self {
            authenticating: match &settings.trust {
                TrustAnchors::Certificates(anchors) => {
                    Some(context::build(settings, Some(anchors))?)
                }
                TrustAnchors::Anyone => None,
            },
            trusting: context::build(settings, None)?,
            period,
            turns: Turns::new(names.len(), period),
            names,
            resume: settings.resume,
            pool: Pool::new(),
        };
        backend.rehearse()?;
        Ok(backend)
    }

    /// A session that adds its tickets or session IDs to the pool, if the run resumes sessions.
    fn session(
        &mut self,
        name: usize,
        verify: bool,
        ticket: Option<&Ticket>,
    ) -> Result<OpensslSession, Failure> {
        let authenticating = self.authenticating.as_ref().filter(|_| verify);
        let mut ssl =
            Ssl::new(authenticating.unwrap_or(&self.trusting)).map_err(|_| OUT_OF_MEMORY)?;
        self.names[name].set(&mut ssl).map_err(|_| OUT_OF_MEMORY)?;
        // Requests an OCSP response, as rustls always does: a server that staples (RFC 6066,
        // section 8) then sends the same to both back ends.
        ssl.set_status_type(StatusType::OCSP).map_err(|_| OUT_OF_MEMORY)?;
        if let Some(ticket) = ticket {
            ffi::session::resume(&mut ssl, &ticket.session).map_err(|_| OUT_OF_MEMORY)?;
        }
        let mut session = OpensslSession::new(ssl, authenticating.is_some(), name)?;
        if self.resume != Resume::None {
            session.keep_tickets(self.pool.clone());
        }
        Ok(session)
    }

    /// Checks before the first connection that the settings allow a ClientHello.
    fn rehearse(&mut self) -> Result<(), BackendError> {
        let refused = |message| BackendError::Refused { backend: NAME, message };
        let mut session = self.open().map_err(|e| refused(e.to_string()))?;
        self.turns = Turns::new(self.names.len(), self.period);
        session.rehearse().map_err(refused)
    }
}

impl Backend for OpensslBackend {
    type Session = OpensslSession;

    fn open(&mut self) -> Result<OpensslSession, Failure> {
        let Turn { name, is_sampled } = self.turns.next();
        self.session(name, is_sampled, None)
    }

    /// A run that resumes sessions has a single name.
    fn resume(&mut self) -> Result<Option<OpensslSession>, Failure> {
        let Some(ticket) = self.pool.take() else { return Ok(None) };
        self.session(0, ticket.authenticated, Some(&ticket)).map(Some)
    }

    fn resumable(&self) -> usize {
        self.pool.len()
    }

    fn keep(&mut self, sessions: usize) {
        self.pool.keep(sessions);
    }
}

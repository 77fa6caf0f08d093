//! The reference server: TLS and HTTP (1.1 and 2) with as little else as possible.
//!
//! One worker is one thread with one poller and its own listening socket. While they serve, workers
//! share no data that is written. The server answers `GET` and `HEAD` for `/bytes/N` (N
//! deterministic bytes with their digest) and `/stats` (its own counts). By default it resumes no
//! sessions.

mod burn;
mod connection;
mod context;
mod edge_socket;
mod http;
mod limits;
mod listener;
mod spec;
mod stats;
mod tls;
mod worker;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread::JoinHandle;

pub use http::{BODY_LIMIT, BODY_PERIOD};
pub use spec::{ClientAuth, DH_SIZES, IDLE, Resumption, ServeError, ServeSpec, ServerBackend};
pub use stats::{HandshakeCounts, Stats};

pub use tlslab_tls::identity::{Identity, IdentityError};

use context::Timing;
use limits::WorkerLimits;
use stats::Shared;
use tls::{Acceptor, plain::PlainAcceptor, rustls::RustlsAcceptor};
use tlslab_system::usage::process_cpu;
use worker::Worker;

/// A server that runs until it is stopped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    wakers: Vec<mio::Waker>,
    workers: Vec<JoinHandle<std::io::Result<()>>>,
}

impl Server {
    /// Starts the workers. The server accepts connections when this function returns.
    ///
    /// # Errors
    /// The back end lacks a requested feature, parts of the specification contradict each other, or
    /// the operating system refuses a resource. No thread is left running then.
    pub fn start(spec: &ServeSpec) -> Result<Self, ServeError> {
        spec.check()?;
        match spec.backend {
            #[cfg(feature = "openssl")]
            ServerBackend::Openssl => {
                Self::start_with(spec, &tls::openssl::OpensslAcceptor::new(spec)?)
            }
            #[cfg(not(feature = "openssl"))]
            ServerBackend::Openssl => {
                Err(tlslab_tls::BackendError::NotBuilt { lacking: None }.into())
            }
            ServerBackend::Rustls => Self::start_with(spec, &RustlsAcceptor::new(spec)?),
            ServerBackend::None => Self::start_with(spec, &PlainAcceptor),
        }
    }

    fn start_with<A: Acceptor>(spec: &ServeSpec, acceptor: &A) -> Result<Self, ServeError> {
        let limits = WorkerLimits::of_process(spec.threads)?;
        let timing = Timing { pause: spec.pause, idle: spec.idle };
        let listeners = listener::bind(spec.listen, spec.threads)
            .map_err(|source| ServeError::Listen { address: spec.listen, source })?;
        let address = listeners[0].local_addr()?;
        let shared = Arc::new(Shared::new(spec.threads, process_cpu()));
        let mut server =
            Self { address, shared: Arc::clone(&shared), wakers: Vec::new(), workers: Vec::new() };
        for (index, listener) in listeners.into_iter().enumerate() {
            let worker = Worker::new(
                acceptor.clone(),
                listener,
                Arc::clone(&shared),
                index,
                limits,
                timing,
                spec.burn,
            )?;
            server.wakers.push(worker.waker()?);
            server.spawn(worker, spec.processor(index))?;
        }
        Ok(server)
    }

    /// Starts one worker and waits until it is pinned.
    fn spawn<A: Acceptor>(
        &mut self,
        mut worker: Worker<A>,
        processor: Option<usize>,
    ) -> Result<(), ServeError> {
        let (report, reported) = mpsc::sync_channel(1);
        let body = move || {
            let pinned = processor.map_or(Ok(()), tlslab_system::processor::pin);
            let go = pinned.is_ok();
            // The receiver waits for exactly this message and still exists.
            let _ = report.send(pinned);
            if go { worker.run() } else { Ok(()) }
        };
        let name = format!("serve-{}", self.workers.len());
        self.workers.push(std::thread::Builder::new().name(name).spawn(body)?);
        let pinned = reported.recv().unwrap_or(Ok(()));
        pinned.map_err(|source| ServeError::Pin { processor: processor.unwrap_or(0), source })
    }

    /// The address that the server listens on, with the actual port for port 0.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The counts so far.
    pub fn stats(&self) -> Stats {
        self.shared.stats()
    }

    /// Stops listening, waits at most one second for current exchanges, and returns the final
    /// counts.
    ///
    /// # Errors
    /// A worker had already ended because its poller failed.
    pub fn stop(mut self) -> Result<Stats, ServeError> {
        self.join()?;
        Ok(self.shared.stats())
    }

    fn join(&mut self) -> Result<(), ServeError> {
        self.shared.stop();
        // A waker must outlive its worker: closing the waker cancels its wake-up.
        for waker in &self.wakers {
            waker.wake()?;
        }
        for worker in self.workers.drain(..) {
            worker.join().map_err(|_| ServeError::WorkerPanicked)??;
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A stopped server has no threads left; otherwise there is no caller to report an error to.
        let _ = self.join();
    }
}

//! The other end of the bare TCP connection: answers one request per connection with N bytes.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};
use slab::Slab;

use tlslab_system::clock::{Clock, ThreadClock};
use tlslab_system::processor;

/// The token of the listening socket; connections use their slots.
const LISTENER: Token = Token(usize::MAX);

/// The interval at which the thread checks whether it must end.
const TICK: Duration = Duration::from_millis(50);

/// A listener on a separate thread, which ends when this value is dropped.
#[derive(Debug)]
pub struct Listener {
    address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    /// The thread's processor time so far, in nanoseconds.
    cpu_ns: AtomicU64,
    served: AtomicU64,
}

impl Listener {
    /// Listens on a free port of 127.0.0.1, on another processor than the client.
    pub fn start(response_bytes: u32, client: Option<usize>) -> io::Result<Self> {
        let mut listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0)))?;
        let address = listener.local_addr()?;
        let mut poll = Poll::new()?;
        poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
        let shared = Arc::new(Shared::default());
        let reported = Arc::clone(&shared);
        let response = vec![b'x'; response_bytes as usize];
        let body = move || {
            keep_away(client);
            serve(&mut poll, &listener, &response, &reported);
        };
        let thread = std::thread::Builder::new().name("plain".to_owned()).spawn(body)?;
        Ok(Self { address, shared, thread: Some(thread) })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The processor time that the listener has used so far, in nanoseconds.
    pub fn cpu_ns(&self) -> u64 {
        self.shared.cpu_ns.load(Ordering::Relaxed)
    }

    /// The number of answered requests.
    #[cfg(test)]
    pub fn served(&self) -> u64 {
        self.shared.served.load(Ordering::Relaxed)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // The thread returns nothing; a panic was already reported when it occurred.
            let _ = thread.join();
        }
    }
}

/// Excludes the client's processor, if there is another one: the thread inherits its parent's
/// affinity.
fn keep_away(client: Option<usize>) {
    let Some(client) = client else { return };
    let others = (0..1024).filter(|processor| *processor != client);
    for other in others.take_while(|processor| *processor <= client + 1) {
        if processor::pin(other).is_ok() {
            return;
        }
    }
}

fn serve(poll: &mut Poll, listener: &TcpListener, response: &[u8], shared: &Shared) {
    let mut events = Events::with_capacity(256);
    let mut connections: Slab<TcpStream> = Slab::new();
    let mut room = [0; 2048];
    while !shared.stop.load(Ordering::Relaxed) {
        // An interrupted wait has merely ended early.
        let _ = poll.poll(&mut events, Some(TICK));
        for event in &events {
            match event.token() {
                LISTENER => accept(poll, listener, &mut connections),
                Token(slot) if connections.contains(slot) => {
                    let over = match connections[slot].read(&mut room) {
                        Ok(0) => true,
                        Ok(_) => {
                            // The buffer of a new socket accepts the whole response, unless the
                            // peer is gone.
                            let _ = connections[slot].write_all(response);
                            shared.served.fetch_add(1, Ordering::Relaxed);
                            true
                        }
                        Err(error) => error.kind() != ErrorKind::WouldBlock,
                    };
                    if over {
                        connections.remove(slot);
                    }
                }
                Token(_) => {}
            }
        }
        shared.cpu_ns.store(ThreadClock.now(), Ordering::Relaxed);
    }
}

fn accept(poll: &Poll, listener: &TcpListener, connections: &mut Slab<TcpStream>) {
    while let Ok((mut connection, _)) = listener.accept() {
        let slot = connections.vacant_entry();
        let token = Token(slot.key());
        if poll.registry().register(&mut connection, token, Interest::READABLE).is_ok() {
            slot.insert(connection);
        }
    }
}

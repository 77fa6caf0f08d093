//! Faulty peers: servers that serve some connections correctly and misbehave on the others.
//!
//! A [`Fault`] is the treatment of one connection. Faults are sequences of [`script::Act`]s on the
//! bare TCP connection ([`bare`]), during the handshake ([`first_flight`]) or over TLS
//! ([`secured`]). [`forge`] builds records, [`h2`](crate::h2) frames, and [`hello_retry`] and
//! [`compressed`] handshakes that no library would send.

pub mod compressed;
pub mod forge;
pub mod hello_retry;
pub mod script;

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use openssl::ssl::{Ssl, SslContext, SslStream};

use crate::tls_server::{self, PATIENCE, Settings};
use forge::Forgery;
use script::{Act, play};

/// The treatment of one connection.
pub type Fault = Arc<dyn Fn(TcpStream) + Send + Sync>;

/// The counts of correctly served connections.
#[derive(Debug, Default)]
struct Counts {
    full: AtomicU64,
    resumed: AtomicU64,
}

/// A running peer, which stops when dropped.
pub struct Peer {
    address: SocketAddr,
    accepted: Arc<AtomicU64>,
    counts: Arc<Counts>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Peer {
    /// A peer that serves every connection correctly. Sessions can be resumed.
    pub fn honest(settings: &Settings) -> Self {
        Self::start(settings, u64::MAX, Arc::new(|_| {}))
    }

    /// A peer that serves its first connections correctly, and applies the fault to all others.
    /// Each connection has its own thread.
    pub fn start(settings: &Settings, well_served: u64, fault: Fault) -> Self {
        let context = tls_server::context(settings).build();
        let (body, last) = (vec![b'x'; settings.body_length], settings.last);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (accepted, counts) = (Arc::new(AtomicU64::new(0)), Arc::new(Counts::default()));
        let stop = Arc::new(AtomicBool::new(false));
        let (number, seen, stopped) =
            (Arc::clone(&accepted), Arc::clone(&counts), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            while let Ok((socket, _)) = listener.accept() {
                if stopped.load(Ordering::Relaxed) {
                    return;
                }
                if number.fetch_add(1, Ordering::Relaxed) >= well_served {
                    let fault = Arc::clone(&fault);
                    std::thread::spawn(move || fault(socket));
                    continue;
                }
                let (context, body, seen) = (context.clone(), body.clone(), Arc::clone(&seen));
                std::thread::spawn(move || {
                    if let Some(stream) = tls_server::accept(&context, socket) {
                        seen.note(&stream);
                        tls_server::serve_http(stream, &body, last);
                    }
                });
            }
        });
        Self { address, accepted, counts, stop, thread: Some(thread) }
    }

    /// The address that the peer listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// TCP connections accepted so far.
    pub fn accepted(&self) -> u64 {
        self.accepted.load(Ordering::Relaxed)
    }

    /// Handshakes of correctly served connections so far: full, and resumed.
    pub fn handshakes(&self) -> (u64, u64) {
        (self.counts.full.load(Ordering::Relaxed), self.counts.resumed.load(Ordering::Relaxed))
    }
}

impl Counts {
    fn note(&self, stream: &SslStream<TcpStream>) {
        let count = if stream.ssl().session_reused() { &self.resumed } else { &self.full };
        count.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Peer {
    /// Stops listening. The threads of connections end when the client closes, or after
    /// [`PATIENCE`].
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Wakes the thread that waits for a connection.
        drop(TcpStream::connect(self.address));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// An address of 127.0.0.1 on which nothing listens.
pub fn nowhere() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// Performs acts on the bare TCP connection.
pub fn bare(acts: Vec<Act>) -> Fault {
    Arc::new(move |mut socket| {
        set_patience(&socket);
        let handle = socket.try_clone().unwrap();
        play(&mut socket, &handle, &acts);
    })
}

/// Speaks on the bare TCP connection, then treats it by another fault. Each turn has what the peer
/// sends, and what the client must answer: after anything else the connection ends.
pub fn after_dialogue(turns: Vec<(Vec<u8>, Vec<u8>)>, then: Fault) -> Fault {
    Arc::new(move |mut socket| {
        set_patience(&socket);
        for (sent, wanted) in &turns {
            let mut answer = vec![0; wanted.len()];
            let is_answered = socket.write_all(sent).and_then(|()| socket.read_exact(&mut answer));
            if is_answered.is_err() || answer != *wanted {
                return;
            }
        }
        then(socket);
    })
}

/// Serves correctly, but starts the handshake only after a pause.
pub fn late(settings: &Settings, pause: Duration) -> Fault {
    let context = tls_server::context(settings).build();
    let (body, last) = (vec![b'x'; settings.body_length], settings.last);
    Arc::new(move |socket| {
        std::thread::sleep(pause);
        if let Some(stream) = tls_server::accept(&context, socket) {
            tls_server::serve_http(stream, &body, last);
        }
    })
}

/// Sends the server's first flight, then performs acts on the bare TCP connection.
pub fn first_flight(settings: &Settings, acts: Vec<Act>) -> Fault {
    let context = tls_server::context(settings).build();
    Arc::new(move |socket| {
        set_patience(&socket);
        let mut handle = socket.try_clone().unwrap();
        let half = UntilAnswered { socket, answered: false };
        let _ = SslStream::new(Ssl::new(&context).unwrap(), half).unwrap().accept();
        let socket = handle.try_clone().unwrap();
        play(&mut handle, &socket, &acts);
    })
}

/// Makes the handshake, then performs acts over TLS.
pub fn secured(settings: &Settings, acts: Vec<Act>) -> Fault {
    let context = tls_server::context(settings).build();
    Arc::new(move |socket| after_handshake(&context, socket, &acts))
}

/// Answers a request in early data with the server's first flight, and closes the session with it,
/// as nginx does. A request after the handshake is answered once.
pub fn answers_early(settings: &Settings) -> Fault {
    const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx";
    let context = tls_server::context(settings).build();
    Arc::new(move |socket| {
        set_patience(&socket);
        let held = HeldBack { socket, unsent: Vec::new() };
        let mut ssl = Ssl::new(&context).unwrap();
        ssl.set_accept_state();
        let mut stream = SslStream::new(ssl, held).unwrap();
        let mut request = [0; 4096];
        let answered = match stream.read_early_data(&mut request) {
            Ok(0) => {
                stream.accept().is_ok()
                    && stream.read(&mut request).is_ok()
                    && stream.write_all(RESPONSE).is_ok()
            }
            Ok(_) => stream.write_early_data(RESPONSE).is_ok(),
            Err(_) => false,
        };
        if answered && stream.shutdown().is_ok() {
            // Sends what was held back, and waits for the client's end.
            let _ = stream.get_mut().read_to_end(&mut Vec::new());
        }
    })
}

/// Makes the handshake, and sends these bytes together with the end of the handshake.
pub fn unasked(settings: &Settings, bytes: impl Into<Vec<u8>>) -> Fault {
    let context = tls_server::context(settings).build();
    let bytes = bytes.into();
    Arc::new(move |socket| {
        set_patience(&socket);
        let held = HeldBack { socket, unsent: Vec::new() };
        let mut stream = SslStream::new(Ssl::new(&context).unwrap(), held).unwrap();
        if stream.accept().is_ok() && stream.write_all(&bytes).is_ok() {
            // Sends what was held back, and waits for the client's end.
            let _ = stream.read_to_end(&mut Vec::new());
        }
    })
}

/// Makes the handshake, waits for the request, answers with these bytes, then stays silent.
pub fn answering(settings: &Settings, bytes: impl Into<Vec<u8>>) -> Fault {
    secured(settings, vec![Act::Receive, Act::Send(bytes.into()), Act::Wait])
}

/// Bytes or alerts that clients have sent to a peer, in order.
pub type Notes<T> = Arc<Mutex<Vec<T>>>;

/// Makes the handshake, performs acts, and stores all bytes of the client until its end.
pub fn heard(settings: &Settings, acts: Vec<Act>, notes: Notes<Vec<u8>>) -> Fault {
    let context = tls_server::context(settings).build();
    Arc::new(move |socket| {
        let handle = socket.try_clone().unwrap();
        let Some(mut stream) = tls_server::accept(&context, socket) else { return };
        let mut said = vec![0; 16 * 1024];
        let begun = stream.read(&mut said).unwrap_or_default();
        said.truncate(begun);
        play(&mut stream, &handle, &acts);
        // A client may reset the connection after its last message.
        let _ = stream.read_to_end(&mut said);
        notes.lock().unwrap().push(said);
    })
}

/// Makes the handshake, waits for the request, sends such a record, and stores OpenSSL's
/// description of the client's alert; nothing if the client sends none.
pub fn alerted(settings: &Settings, forgery: Forgery, notes: Notes<String>) -> Fault {
    let settings = settings.clone();
    Arc::new(move |mut socket| {
        set_patience(&socket);
        let Some((mut stream, mut sealer)) = forge::handshake(&settings, &socket) else { return };
        let mut room = [0; 4096];
        if stream.read(&mut room).is_err() || socket.write_all(&sealer.one(forgery)).is_err() {
            return;
        }
        let ended = loop {
            match stream.ssl_read(&mut room) {
                Ok(1..) => {}
                Ok(0) => return,
                Err(error) => break error,
            }
        };
        let reasons = ended.ssl_error().into_iter().flat_map(|stack| stack.errors());
        notes.lock().unwrap().extend(reasons.filter_map(|e| e.reason()).map(str::to_owned).take(1));
    })
}

/// Serves correctly, but knows no earlier session: each connection has a new ticket key.
pub fn forgetting(settings: &Settings) -> Fault {
    let settings = settings.clone();
    Arc::new(move |socket| {
        let context = tls_server::context(&settings).build();
        if let Some(stream) = tls_server::accept(&context, socket) {
            tls_server::serve_http(stream, &vec![b'x'; settings.body_length], settings.last);
        }
    })
}

/// Serves correctly, each connection in turn by one of two servers, which know only their own
/// sessions and ticket keys.
pub fn in_turn(settings: &Settings) -> Fault {
    let contexts = [(); 2].map(|()| tls_server::context(settings).build());
    let (body, last) = (vec![b'x'; settings.body_length], settings.last);
    let seen = AtomicUsize::new(0);
    Arc::new(move |socket| {
        let context = &contexts[seen.fetch_add(1, Ordering::Relaxed) % contexts.len()];
        if let Some(stream) = tls_server::accept(context, socket) {
            tls_server::serve_http(stream, &body, last);
        }
    })
}

/// Serves correctly, except for clients whose ClientHello is longer than what arrives with its first
/// segment of Ethernet: performs acts on the bare TCP connection.
pub fn one_segment(settings: &Settings, acts: Vec<Act>) -> Fault {
    const SEGMENT: usize = 1_448;
    except(settings, |hello| hello.len() > SEGMENT, u64::MAX, acts)
}

/// Serves correctly, except for clients whose ClientHello contains these bytes. Those get a fatal
/// alert with this number, or their connection is closed without an alert.
pub fn refusing(settings: &Settings, mark: Vec<u8>, alert: Option<u8>) -> Fault {
    let alert = alert.map(|number| Act::Send(vec![21, 3, 3, 0, 2, 2, number]));
    let has_mark = move |hello: &[u8]| hello.windows(mark.len()).any(|window| window == mark);
    except(settings, has_mark, u64::MAX, alert.into_iter().collect())
}

/// Serves correctly, except for the first N clients with such a ClientHello: reads it, and performs
/// acts on the bare TCP connection.
pub fn except(
    settings: &Settings,
    wanted: impl Fn(&[u8]) -> bool + Send + Sync + 'static,
    clients: u64,
    acts: Vec<Act>,
) -> Fault {
    let context = tls_server::context(settings).build();
    let (body, last) = (vec![b'x'; settings.body_length], settings.last);
    let seen = AtomicU64::new(0);
    Arc::new(move |mut socket| {
        let hello = first_record(&socket);
        if !wanted(&hello) || seen.fetch_add(1, Ordering::Relaxed) >= clients {
            if let Some(stream) = tls_server::accept(&context, socket) {
                tls_server::serve_http(stream, &body, last);
            }
            return;
        }
        set_patience(&socket);
        // Unread bytes would turn a close into a reset.
        let _ = socket.read_exact(&mut vec![0; hello.len()]);
        let handle = socket.try_clone().unwrap();
        play(&mut socket, &handle, &acts);
    })
}

/// The first record, which remains to be read.
fn first_record(socket: &TcpStream) -> Vec<u8> {
    const HEADER: usize = 5;
    const TURNS: u32 = 2_000;
    let mut seen = vec![0; 20_000];
    for _ in 0..TURNS {
        let length = socket.peek(&mut seen).unwrap_or(0);
        let whole = HEADER + usize::from(u16::from_be_bytes([seen[3], seen[4]]));
        if length == 0 || length >= HEADER && length >= whole {
            seen.truncate(length);
            return seen;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Vec::new()
}

fn after_handshake(context: &SslContext, socket: TcpStream, acts: &[Act]) {
    let handle = socket.try_clone().unwrap();
    if let Some(mut stream) = tls_server::accept(context, socket) {
        play(&mut stream, &handle, acts);
    }
}

fn set_patience(socket: &TcpStream) {
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.set_write_timeout(Some(PATIENCE)).unwrap();
    socket.set_nodelay(true).unwrap();
}

/// A stream that sends what was written only when it is read.
struct HeldBack {
    socket: TcpStream,
    unsent: Vec<u8>,
}

impl Read for HeldBack {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket.write_all(&std::mem::take(&mut self.unsent))?;
        self.socket.read(buffer)
    }
}

impl Write for HeldBack {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.unsent.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A stream that returns nothing more to read after a write.
struct UntilAnswered {
    socket: TcpStream,
    answered: bool,
}

impl Read for UntilAnswered {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.answered { Err(io::ErrorKind::Other.into()) } else { self.socket.read(buffer) }
    }
}

impl Write for UntilAnswered {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.answered = true;
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

//! In what segments the clients speak, by the server's own count (tcp(7), `TCP_INFO`), and how they
//! end the connection: `docs/clients-on-the-wire.md` says so to readers.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::thread::JoinHandle;
use std::time::Duration;

use crate::harness::{measured, spec, trust, with_minimal_client};
use tlslab_contract::spec::{BackendChoice, ClientChoice, Close, Finished, RunSpec, Stop};
use tlslab_testkit::certificates::Authority;
use tlslab_testkit::lockstep::LockstepServer;
use tlslab_testkit::tls_server::{Settings, Version};

/// A certificate of this size does not fit into one segment of a real path, nor into OpenSSL's
/// buffer.
const CHAIN: usize = 8 * 1024;

/// What the server sends at once, and the time until it goes on: the client sees each piece alone.
const PIECE: usize = 3000;
const PAUSE: Duration = Duration::from_millis(15);

const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// How many connections a run makes beside that of the preflight.
const CONNECTIONS: usize = 6;

/// What the server saw of one connection.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    /// Segments with payload that the client sent.
    segments: u32,
    /// The client's stream ended by a FIN; else by a reset.
    ended_by_fin: bool,
}

/// The number of segments with payload that arrived: `tcpi_data_segs_in` of `struct tcp_info`, in
/// linux/tcp.h at offset 152 since Linux 4.6; the libc crate ends before it.
fn segments_in(socket: &TcpStream) -> u32 {
    let mut info = [0u8; 160];
    let mut length = info.len() as libc::socklen_t;
    // SAFETY: the descriptor is open, and `info` is valid for writes of `length` bytes.
    let result = unsafe {
        let info = info.as_mut_ptr().cast();
        libc::getsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, info, &mut length)
    };
    assert_eq!((result, length), (0, 160));
    u32::from_ne_bytes(info[152..156].try_into().unwrap())
}

/// A delayed acknowledgement would have the client's kernel probe for a lost segment (RFC 8985,
/// section 7), which would count as one more.
fn acknowledge_at_once(socket: &TcpStream) {
    let (on, length) = (1 as libc::c_int, size_of::<libc::c_int>() as libc::socklen_t);
    // SAFETY: the descriptor is open, and `on` is valid for reads of `length` bytes.
    let result = unsafe {
        let on = std::ptr::from_ref(&on).cast();
        libc::setsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_QUICKACK, on, length)
    };
    assert_eq!(result, 0);
}

/// Serves connections until one comes that sends nothing; each flight leaves in pieces.
fn serve(listener: &TcpListener, server: &LockstepServer) -> Vec<Seen> {
    let next = || Some(one(listener.accept().unwrap().0, server));
    std::iter::from_fn(next).take_while(|seen| seen.segments > 0).collect()
}

fn one(mut socket: TcpStream, server: &LockstepServer) -> Seen {
    let mut session = server.session(RESPONSE);
    socket.set_nodelay(true).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let mut buffer = [0; 16 * 1024];
    loop {
        let read = socket.read(&mut buffer);
        let Ok(length @ 1..) = read else {
            return Seen { segments: segments_in(&socket), ended_by_fin: read.is_ok() };
        };
        acknowledge_at_once(&socket);
        for (place, piece) in session.take(&buffer[..length]).chunks(PIECE).enumerate() {
            if place > 0 {
                std::thread::sleep(PAUSE);
            }
            // A client that has what it wants may be gone.
            if socket.write_all(piece).is_err() {
                break;
            }
        }
    }
}

/// A server with a long certificate that counts, and how to reach it.
fn counting() -> (SocketAddr, Authority, JoinHandle<Vec<Seen>>) {
    let authority = Authority::new("segments");
    let settings = Settings {
        identities: vec![authority.issue_bloated(CHAIN)],
        version: Some(Version::Tls13),
        ..Settings::default()
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = LockstepServer::new(&settings);
    (address, authority, std::thread::spawn(move || serve(&listener, &server)))
}

/// What the server sees of the connections of a run after the first ones.
fn seen(change: impl FnOnce(RunSpec) -> RunSpec, backend: BackendChoice) -> Seen {
    let stop = Stop::Count(CONNECTIONS as u64);
    let (address, authority, server) = counting();
    let spec = change(with_minimal_client(RunSpec { stop, ..spec(address, backend) }));
    let client = spec.tls.client;
    let record = measured(spec, trust(&authority));
    assert_eq!(record.outcomes.completed, CONNECTIONS as u64, "{:?}", record.outcomes);
    let minimal = backend == BackendChoice::Rustls && client == ClientChoice::Auto;
    assert_eq!(record.minimal_client > 0, minimal);
    drop(TcpStream::connect(address));
    let mut all = server.join().unwrap();
    // The preflight's come first; of the run's the first one is the library's. A segment that is
    // sent again, since the machine is busy, only adds: the fewest are what the client had to send.
    let alike = all.split_off(all.len() - (CONNECTIONS - 1));
    assert!(alike.iter().all(|seen| seen.ended_by_fin == alike[0].ended_by_fin), "{alike:?}");
    alike.into_iter().min_by_key(|seen| seen.segments).unwrap()
}

fn by_library(mut spec: RunSpec) -> RunSpec {
    spec.tls.client = ClientChoice::Library;
    spec
}

fn separate(spec: RunSpec) -> RunSpec {
    RunSpec { finished: Finished::Separate, ..spec }
}

fn by_fin(spec: RunSpec) -> RunSpec {
    RunSpec { close: Close::Fin, ..spec }
}

#[test]
fn the_finished_leaves_with_the_request_unless_it_is_to_be_separate() {
    use BackendChoice::{Openssl, Rustls};
    // ClientHello; ChangeCipherSpec, Finished and request.
    assert_eq!(seen(|spec| spec, Rustls), Seen { segments: 2, ended_by_fin: false });
    assert_eq!(seen(|spec| spec, Openssl), Seen { segments: 2, ended_by_fin: false });
    // rustls sends its ChangeCipherSpec when it has the ServerHello, in a segment of its own where
    // the rest of the server's flight comes later.
    assert_eq!(seen(by_library, Rustls), Seen { segments: 3, ended_by_fin: false });
    assert_eq!(seen(separate, Rustls), Seen { segments: 3, ended_by_fin: false });
    assert_eq!(seen(separate, Openssl), Seen { segments: 3, ended_by_fin: false });
    let both = |spec| separate(by_library(spec));
    assert_eq!(seen(both, Rustls), Seen { segments: 4, ended_by_fin: false });
}

#[test]
fn a_connection_ends_by_a_reset_or_by_a_close_notify_and_a_fin() {
    use BackendChoice::{Openssl, Rustls};
    assert_eq!(seen(by_fin, Rustls), Seen { segments: 3, ended_by_fin: true });
    assert_eq!(seen(by_fin, Openssl), Seen { segments: 3, ended_by_fin: true });
    let both = |spec| by_fin(by_library(spec));
    assert_eq!(seen(both, Rustls), Seen { segments: 4, ended_by_fin: true });
}

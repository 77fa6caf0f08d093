//! A persistent TLS connection to one node, with one request at a time.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};

use super::session::NotSigned;
use tlslab_system::clock::{Clock, MonotonicClock, Nanos};
use tlslab_wire::http::h1::ResponseReader;
use tlslab_wire::sanitize::sanitize;

/// The highest length of an answer in bytes: an RSA-4096 signature in base64 has 684.
const ANSWER_LIMIT: usize = 64 * 1024;

/// The highest number of characters of a node's message that are passed on.
pub const WORDS_LIMIT: usize = 200;

/// A node's answer.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// The body.
    pub body: Vec<u8>,
}

/// A connection to one node.
pub struct NodeConnection {
    address: SocketAddr,
    config: Arc<ClientConfig>,
    stream: Option<StreamOwned<ClientConnection, Timed>>,
}

impl NodeConnection {
    /// A connection that is not open yet.
    pub fn new(address: SocketAddr, config: Arc<ClientConfig>) -> Self {
        Self { address, config, stream: None }
    }

    /// Sends a request and reads its answer, over a new connection if there is none. A failed
    /// connection is not used again.
    pub fn ask(&mut self, request: &[u8], patience: Duration) -> Result<Answer, NotSigned> {
        let deadline = MonotonicClock.now() + patience.as_nanos() as Nanos;
        let mut stream = match self.stream.take() {
            Some(mut open) => {
                open.sock.deadline = deadline;
                open
            }
            None => self.connect(deadline).map_err(|error| no_answer(&error))?,
        };
        stream.write_all(request).map_err(|error| no_answer(&error))?;
        let (answer, stays) = read(&mut stream)?;
        self.stream = stays.then_some(stream);
        Ok(answer)
    }

    fn connect(&self, deadline: Nanos) -> io::Result<StreamOwned<ClientConnection, Timed>> {
        let socket = TcpStream::connect_timeout(&self.address, left(deadline)?)?;
        socket.set_nodelay(true)?;
        let name = ServerName::from(self.address.ip());
        let session =
            ClientConnection::new(Arc::clone(&self.config), name).map_err(io::Error::other)?;
        Ok(StreamOwned::new(session, Timed { socket, deadline }))
    }
}

/// Reads one answer with a stated length. Returns the answer, and whether the connection stays
/// open.
fn read(stream: &mut impl Read) -> Result<(Answer, bool), NotSigned> {
    let wrong = |message: &str| NotSigned { class: "signing_answer", message: message.to_owned() };
    let mut reader = ResponseReader::default();
    let (mut bytes, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        let length = stream.read(&mut piece).map_err(|error| no_answer(&error))?;
        if length == 0 {
            return Err(no_answer(&io::ErrorKind::UnexpectedEof.into()));
        }
        bytes.extend_from_slice(&piece[..length]);
        if bytes.len() > ANSWER_LIMIT {
            return Err(wrong("the answer is too long"));
        }
        if reader.take(&piece[..length]).map_err(|error| wrong(&error.to_string()))? {
            break;
        }
    }
    let head = reader.head_bytes as usize;
    if reader.body.bytes != (bytes.len() - head) as u64 {
        return Err(wrong("the answer comes in chunks"));
    }
    Ok((Answer { status: reader.status(), body: bytes.split_off(head) }, reader.keeps_alive()))
}

fn no_answer(error: &io::Error) -> NotSigned {
    let class = match error.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => "signing_timeout",
        _ => "signing_unreachable",
    };
    NotSigned { class, message: sanitize(&error.to_string(), WORDS_LIMIT) }
}

/// A socket whose waits all end at the deadline.
struct Timed {
    socket: TcpStream,
    deadline: Nanos,
}

impl Read for Timed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket.set_read_timeout(Some(left(self.deadline)?))?;
        self.socket.read(buffer)
    }
}

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.set_write_timeout(Some(left(self.deadline)?))?;
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

/// The time until the deadline; an error if it has passed.
fn left(deadline: Nanos) -> io::Result<Duration> {
    match deadline.saturating_sub(MonotonicClock.now()) {
        0 => Err(io::Error::new(io::ErrorKind::TimedOut, "no answer in time")),
        left => Ok(Duration::from_nanos(left)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(mut bytes: &[u8]) -> &'static str {
        read(&mut bytes).unwrap_err().class
    }

    #[test]
    fn an_answer_has_a_status_a_length_and_a_body() {
        let mut whole: &[u8] = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\n{}";
        let answer = Answer { status: 403, body: b"{}".to_vec() };
        assert_eq!(read(&mut whole).unwrap(), (answer, true));
    }

    #[test]
    fn answers_that_are_none_have_their_class() {
        assert_eq!(class(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}"), "signing_unreachable");
        assert_eq!(class(b"SSH-2.0-OpenSSH_9.2\r\n\r\n"), "signing_answer");
        let chunks = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n";
        assert_eq!(class(chunks), "signing_answer");
        let long =
            format!("HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n{}", " ".repeat(99_999));
        assert_eq!(class(long.as_bytes()), "signing_answer");
    }
}
